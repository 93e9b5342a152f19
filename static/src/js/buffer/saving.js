// @ts-check
// How typed text becomes nodes: edits as versions or branches, the working buffer as a new
// node, and continuations asked for at the caret.

import { call } from "../live/calls.js";
import { Refused, told } from "../live/api.js";
import { newKey } from "../live/outbox.js";
import { t, tn } from "../t.js";
import { composer } from "../tree/actions.js";
import { placeAt } from "../tree/page-drafts.js";
import { continueCalls } from "../tree/asking.js";
import { codePoints } from "../editor/runs.js";
import { paintedBy } from "./leaves.js";

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {import("../editor/open.js").BufferEditor} BufferEditor */
/** @typedef {import("../editor/open.js").Stretch} Stretch */
/** @typedef {import("../elements/loom-buffer.js").LoomBuffer} LoomBuffer */

const LATER_MS = 200;
const REMEMBERED = "heddle.edit-as.buffer";

export class Saving {
  /** @param {LoomBuffer} host @param {TreePage} page @param {BufferEditor} editor */
  constructor(host, page, editor) {
    this.host = host;
    this.page = page;
    this.editor = editor;
    this.sent = 0;
    this.isBusy = false;
    /** where an edit that was saved here led to */
    this.led = "";
    /** @type {Map<string, string>} slot → the text that was refused there: it is not sent again by itself */
    this.no = new Map();
    this.last = /** @type {Promise<unknown>} */ (Promise.resolve());
  }

  /** What an edit means, as it was said before; "" where nobody has. */
  get way() {
    const { edits } = this.page.settings;
    return edits !== "ask" ? edits : (localStorage.getItem(REMEMBERED) ?? "");
  }

  /** Edits that are typed and not saved. */
  pending() {
    return this.editor.touched().filter(({ id, text }) => id && this.host.leaves?.known.get(id)?.text !== text);
  }

  /** Edits that the caret has left, to be saved by themselves. @param {string} slot where it is now */
  left(slot) {
    if (!this.way) return [];
    // What was replaced everywhere is one act, and is saved as one.
    if (this.editor.replaced) return this.pending().filter((draft) => this.no.get(draft.slot) !== draft.text);
    return this.pending().filter((draft) => draft.slot !== slot && this.no.get(draft.slot) !== draft.text);
  }

  /** Where the text that is shown ends, and the place of what is typed behind it. While another text is
   * on its way, or did not come, that is not the position of the page: what is sent hangs below the
   * text that its writer saw. */
  end() {
    const { host, page } = this;
    const isShown = !host.shown || !host.place || [host.shown, this.led].includes(page.position);
    if (isShown) return { at: page.position, place: placeAt(page, "buffer"), isShown };
    return { at: /** @type {string} */ (host.shown), place: /** @type {import("../live/draft-storage.js").Place} */ (host.place), isShown };
  }

  /** One after another: what is sent next builds on what came of the last.
   * @param {() => Promise<unknown>} work @returns {Promise<boolean>} whether it went well */
  queue(work) {
    const run = this.last.then(async () => {
      this.isBusy = true;
      try {
        await work();
        return true;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return false;
      } finally {
        this.isBusy = false;
        this.host.soon(0);
      }
    });
    this.last = run.catch(() => undefined);
    return run;
  }

  /** Saves edits; asks first what they mean, the first time. @param {Stretch[]} [which] */
  edits(which = this.pending()) {
    return this.queue(() => this.saveEdits(which));
  }

  /** Saves all that is no node yet. @param {import("../live/calls.js").Said[]} [then] commands that follow the text that was written last
   * @param {string} [key] of that text's request */
  all(then, key) {
    return this.queue(async () => {
      await this.saveEdits(this.pending());
      await this.sendTail(then, key);
    });
  }

  /** @param {Stretch[]} which */
  async saveEdits(which) {
    if (!which.length) return;
    const way = this.way || (await this.host.bar?.ask(which[0]));
    if (!way) throw new Refused({ message: t("Not saved.") }, 0);
    localStorage.setItem(REMEMBERED, way);
    const passages = way === "fork" ? which.slice(0, 1) : which;
    const act = passages.length > 1 || this.editor.replaced ? { act: newKey(), doing: this.doing(passages.length) } : undefined;
    this.editor.replaced = null;
    for (const stretch of passages) await this.saveEdit(stretch, way, act);
  }

  /** What edits of so many passages are, in words. @param {number} n */
  doing(n) {
    const { replaced } = this.editor;
    if (!replaced) return tn("edited {n} passage", "edited {n} passages", n);
    const [old, now] = [replaced.query, replaced.text].map((text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text));
    return now ? tn("replaced {old} by {now} in {n} passage", "replaced {old} by {now} in {n} passages", n, { old, now }) : tn("removed {old} from {n} passage", "removed {old} from {n} passages", n, { old });
  }

  /** @param {Stretch} stretch @param {string} way @param {import("../live/outbox.js").ActOf} [act] */
  async saveEdit({ id, slot, text, place }, way, act) {
    try {
      const answer = await this.page.say(call("edit", { ref: id, content: text, way }), { quiet: true, draft: { slot, kind: "edit" }, act });
      this.led = answer.position;
      if (way === "fork") return;
      const added = { id: answer.refs[0], slot, text, by: paintedBy(this.editor, place, text, this.page.settings.me) };
      this.host.leaves?.add(added);
      this.editor.settle(slot, added);
    } catch (error) {
      if (error instanceof Refused) this.refused(error, { id, slot, text, place, from: 0 });
      throw error;
    }
  }

  /** @param {Refused} error @param {Stretch} stretch @param {string} [other] the newer text there, where it is known */
  refused(error, stretch, other = error.code === "CONFLICT" ? this.newestAt(stretch.slot) : undefined) {
    this.no.set(stretch.slot, stretch.text);
    this.host.bar?.refuse(stretch, error, {
      other,
      branch: error.code === "CONFLICT" ? () => void this.queue(() => this.saveEdit(stretch, "fork")) : undefined,
      back: () => this.putBack(stretch.slot),
    });
  }

  /** The text of the newest version of a slot, where this page has read it. @param {string} slot */
  newestAt(slot) {
    const { store } = this.page;
    const at = store?.slotOf(slot);
    return store && at !== null && at !== undefined ? this.host.leaves?.known.get(store.selected(at))?.text : undefined;
  }

  /** Says at once that somebody else has saved another version of a passage that is being changed
   * here. @param {{id: string, slot: string, text: string}} node @param {string} actor @param {boolean} [isLate] */
  newer(node, actor, isLate) {
    const { cast, settings } = this.page;
    if (node.slot === node.id || actor === settings.me || !this.host.isConnected) return;
    // A letter that an input method is still making would be lost, and so would a question that waits.
    if (this.editor.view.composing || this.isBusy) return void setTimeout(() => this.newer(node, actor, true), LATER_MS);
    const stretch = this.pending().find(({ slot }) => slot === node.slot);
    if (isLate && this.host.bar?.isRefused) return; // saving it was refused for that
    const name = cast.get(actor)?.name;
    const message = name ? t("{name} saved another version while you were writing.", { name }) : t("Somebody saved another version while you were writing.");
    if (stretch) this.refused(new Refused({ code: "CONFLICT", message }, 409), stretch, node.text);
  }

  /** Says so where a version came after a kept edit was typed. @param {number} place */
  warn(place) {
    const stretch = this.editor.stretch(place);
    // Where the draft never reached the server, only this browser knows what it was typed over.
    const { over, at } = this.page.drafts.entry(`edit.${stretch.slot}`);
    const isKnown = over !== undefined || at !== "";
    if (!isKnown || (this.host.leaves?.known.get(stretch.id)?.at ?? "") <= (over ?? at)) return;
    this.refused(new Refused({ code: "CONFLICT", message: t("Somebody saved another version while you were writing.") }, 409), stretch);
  }

  /** What was typed in a node is given up: its stored text is shown again. @param {string} slot */
  putBack(slot) {
    const at = this.editor.book.nodes.findIndex((node) => node.slot === slot);
    const leaf = this.host.leaves?.known.get(this.editor.ids[at]);
    if (at < 0 || !leaf) return;
    this.editor.put(at, leaf.text);
    this.host.keep();
    this.host.soon(0);
  }

  /** The working buffer becomes a node; the words of a candidate that were taken stay its own.
   * @param {import("../live/calls.js").Said[]} [then] commands that follow it @param {string} [key] of its request */
  async sendTail(then, key) {
    const text = this.editor.tail;
    if (!text) return;
    const { page, editor } = this;
    const { at, place, isShown } = this.end();
    const name = `~${(this.sent += 1)}`;
    const taken = isShown ? this.host.wheel?.partOf(text) : null;
    composer()?.answer("");
    editor.sendTail(name);
    try {
      const command = taken ? call("split", { ref: taken.id, at: codePoints(text) }) : call("respond", { content: text });
      const answer = await page.say(command, { at, quiet: true, draft: place, then, key });
      const id = answer.refs[0];
      const by = /** @type {[string, number][]} */ ([[taken?.who ?? page.settings.me, text.length]]);
      const node = { id, slot: id, text, by };
      this.host.leaves?.take([node]);
      editor.settle(name, node);
      if (taken) page.go(id);
      this.rehome(place, { slot: id, kind: "buffer" });
      this.host.shown = id;
    } catch (error) {
      editor.takeBack(name);
      if (error instanceof Refused) this.explain(error);
      throw error;
    }
  }

  /** Says at the composer why the text was not added or no continuation came: its answer is in view
   * wherever the text is scrolled to. A page without a composer says it as a toast. @param {Refused} error */
  explain(error) {
    const fields = composer();
    if (fields) fields.answer(told(error), true);
    else this.page.emit("refused", error);
  }

  /** What was typed while a node was made belongs below that node.
   * @param {import("../live/draft-storage.js").Place} from @param {import("../live/draft-storage.js").Place} to */
  rehome(from, to) {
    this.host.place = to;
    this.page.drafts.write(to, this.editor.tail);
    this.page.drafts.write(from, "");
    this.page.whereabouts.share(this.editor.tail);
  }

  /** All becomes nodes, and continuations are asked for at the caret: in the middle of a text by
   * a split there. */
  async continueHere() {
    const spot = this.editor.spot();
    const isForked = this.pending().length > 0 && this.way === "fork";
    const fields = composer();
    const isEnd = isForked || (spot.isTail && spot.offset === codePoints(spot.text));
    const calls = fields && !fields.act ? continueCalls(fields.asks?.read() ?? {}) : undefined;
    const key = newKey();
    const wentWell = await this.all(calls, key);
    if (!wentWell) return;
    await this.queue(async () => {
      if (isEnd) return this.ask(this.end().at, { calls, key });
      await this.goTo(spot);
      await this.ask(this.page.position);
    });
  }

  /** Asks for continuations as the composer's fields say; it tells why where that is refused.
   * @param {string} at @param {{calls?: import("../live/calls.js").Call[], key?: string}} [after] what the text before carried, and its key */
  async ask(at, after) {
    await composer()?.askFor(at, after).catch((error) => {
      if (error instanceof Refused) this.explain(error);
      throw error;
    });
  }

  /** Moves to the node that ends at the caret, made by a split where none does.
   * @param {{place: number, offset: number}} spot */
  async goTo({ place, offset }) {
    const { page, editor } = this;
    const ids = editor.ids;
    if (!offset) return page.go(ids[place - 1] ?? page.store?.ids[0] ?? "");
    const answer = await page.say(call("split", { ref: ids[place], at: offset }), { follow: false, quiet: true }).catch((error) => {
      if (error instanceof Refused) this.explain(error);
      throw error;
    });
    page.go(answer.refs[0]);
    editor.focus();
  }
}
