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
import { codePoints, spread } from "../editor/runs.js";
import { paintedBy } from "./leaves.js";

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {import("../editor/open.js").BufferEditor} BufferEditor */
/** @typedef {import("../editor/open.js").Stretch} Stretch */
/** @typedef {import("../elements/loom-buffer.js").LoomBuffer} LoomBuffer */

/**
 * `why`: what is said; `other`: the newer text; `isOvertaken`: somebody saved a version first; `mayPass`: it may go well later.
 * @typedef {{id: string, text: string, why: {message: string, hint: string}, other?: string, isOvertaken: boolean, mayPass: boolean}} Held an edit that was refused
 * `span`: the texts from the first to the last passage, by slot; `texts`: those of them that were typed; `refs`: the nodes they became.
 * @typedef {{span: Map<string, string>, texts: Map<string, string>, refs: string[]}} Branch
 */

const LATER_MS = 200;
const REMEMBERED = "heddle.edit-as.buffer";

/** An edit; a passage that was cut out is an empty wording, which `call` would leave out.
 * @param {string} ref @param {string} content @param {string} way @returns {import("../live/calls.js").Call} */
const edited = (ref, content, way) => ({ command: "edit", args: { ref, content, way } });

/** A draft whose text a line carries. @param {string} slot @param {string} text @returns {import("../live/draft-storage.js").Carried} */
const carried = (slot, text) => ({ slot, kind: "edit", text });

export class Saving {
  /** @param {LoomBuffer} host @param {TreePage} page @param {BufferEditor} editor */
  constructor(host, page, editor) {
    this.host = host;
    this.page = page;
    this.editor = editor;
    this.sent = 0;
    this.forks = 0;
    this.isBusy = false;
    /** where an edit that was saved here led to */
    this.led = "";
    /** @type {Map<string, Held>} slot → the edit that was refused there: it is not sent again by itself */
    this.no = new Map();
    /** @type {Map<string, string>} slot → the text of an edit that is on its way */
    this.sending = new Map();
    /** @type {Branch[]} edits that are stored as branches, whose texts are not drawn yet */
    this.branches = [];
    /** @type {Map<string, string>} slot → what another tab or device has typed there: that saves it */
    this.elsewhere = new Map();
    this.last = /** @type {Promise<unknown>} */ (Promise.resolve());
  }

  /** What an edit means, as it was said before; "" where nobody has. */
  get way() {
    const { edits } = this.page.settings;
    return edits !== "ask" ? edits : (localStorage.getItem(REMEMBERED) ?? "");
  }

  /** Edits that are typed and not saved. */
  pending() {
    return this.editor.touched().filter(({ id, slot, text }) => id && !this.isStored(slot, text) && this.host.leaves?.known.get(id)?.text !== text);
  }

  /** Whether an edit is stored as a branch already, which is not drawn yet. @param {string} slot @param {string} text */
  isStored(slot, text) {
    return this.branches.some(({ texts }) => texts.get(slot) === text);
  }

  /** Whether the draft of an edit is not to be written: its text is on its way, or stored. @param {string} slot @param {string} text */
  isSent(slot, text) {
    return this.sending.get(slot) === text || this.isStored(slot, text);
  }

  /** Whether an edit was refused as it is: one upon an older version is, whatever is typed. @param {Stretch} draft */
  isHeld({ id, slot, text }) {
    const held = this.no.get(slot);
    return held !== undefined && (held.isOvertaken ? held.id === id : held.text === text);
  }

  /** Edits that the caret has left, to be saved by themselves. @param {string} slot where it is now */
  left(slot) {
    if (!this.way) return [];
    const free = this.pending().filter((draft) => !this.isHeld(draft) && this.elsewhere.get(draft.slot) !== draft.text);
    // What was replaced everywhere is one act, and is saved as one.
    return this.editor.replaced ? free : free.filter((draft) => draft.slot !== slot);
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

  /** Saves what was edited: asked for by a key or a button. One that an older version keeps from being saved says so
   * again, with the ways that are left. */
  edits() {
    return this.queue(async () => {
      const pending = this.pending();
      const free = pending.filter((draft) => !(this.isHeld(draft) && this.no.get(draft.slot)?.isOvertaken));
      if (pending.length && !free.length) return this.sayAgain(pending[0]);
      await this.saveEdits(free);
    });
  }

  /** Saves edits that were left, unless that is done by the time it is their turn.
   * @param {{slot: string}[]} which @param {boolean} [follow] whether the page goes to a branch of them: not when it is on its way elsewhere */
  leave(which, follow = true) {
    const slots = new Set(which.map(({ slot }) => slot));
    // What was typed on in a passage that became a branch meanwhile goes on there.
    const isBranched = (/** @type {Stretch} */ { slot }) => this.branches.some((branch) => branch.span.has(slot));
    return this.queue(() => this.saveEdits(this.pending().filter((draft) => slots.has(draft.slot) && !this.isHeld(draft) && !isBranched(draft)), follow));
  }

  /** Saves all that is no node yet. An edit that is refused waits at its passage, and holds nothing else up.
   * @param {import("../live/calls.js").Said[]} [then] commands that follow the text that was written last
   * @param {string} [key] of that text's request */
  all(then, key) {
    return this.queue(async () => {
      await this.saveEdits(this.pending().filter((draft) => !this.isHeld(draft) || this.no.get(draft.slot)?.mayPass));
      await this.sendTail(then, key);
      this.tellHeld();
    });
  }

  /** Says at the composer that an edit waits elsewhere in the text, with a way there. */
  tellHeld() {
    const waiting = this.pending().filter((draft) => this.isHeld(draft));
    if (waiting.length) composer()?.answerWith(tn("{n} edit above is not saved.", "{n} edits above are not saved.", waiting.length), t("Go to it"), () => this.editor.reveal(waiting[0].slot));
  }

  /** What edits are saved as. The question is asked at the first of them; where that is out of view, the composer
   * leads there. @param {Stretch} stretch */
  async askWay(stretch) {
    if (this.way) return this.way;
    const { bar } = this.host;
    const answer = bar?.ask(stretch);
    const isFar = bar && !bar.isInView;
    if (isFar) composer()?.answerWith(t("How should the edit above be saved?"), t("Go to it"), () => (this.editor.reveal(stretch.slot), bar.focus()));
    const way = (await answer) ?? "";
    if (isFar) composer()?.answer("");
    return way;
  }

  /** @param {Stretch[]} which @param {boolean} [follow] */
  async saveEdits(which, follow = true) {
    if (!which.length) return;
    const way = await this.askWay(which[0]);
    if (!way) throw new Refused({ message: t("Not saved.") }, 0);
    localStorage.setItem(REMEMBERED, way);
    const slots = new Set(which.map(({ slot }) => slot));
    const passages = this.pending().filter(({ slot }) => slots.has(slot)); // typed on while that was asked
    if (!passages.length) return;
    const { replaced } = this.editor;
    const act = passages.length > 1 || replaced ? { act: newKey(), doing: this.doing(passages.length) } : undefined;
    this.editor.replaced = null;
    for (const { slot, text } of passages) this.sending.set(slot, text);
    try {
      let saved = 0;
      if (way === "fork") saved = Number(await this.saveBranch(passages, act, follow));
      else for (const stretch of passages) saved += Number(await this.saveVersion(stretch, act));
      // Where nothing was saved, the last act is another one.
      if (saved && replaced && replaced.tail !== replaced.tailNow) this.page.acts.amend({ swap: [replaced.tail, replaced.tailNow] });
    } finally {
      this.sending.clear();
      this.host.keep();
    }
  }

  /** What edits of so many passages are, in words. @param {number} n */
  doing(n) {
    const { replaced } = this.editor;
    if (!replaced) return tn("edited {n} passage", "edited {n} passages", n);
    const [old, now] = [replaced.query, replaced.text].map((text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text));
    return now ? tn("replaced {old} by {now} in {n} passage", "replaced {old} by {now} in {n} passages", n, { old, now }) : tn("removed {old} from {n} passage", "removed {old} from {n} passages", n, { old });
  }

  /** @param {Stretch} stretch @param {import("../live/outbox.js").ActOf} [act] @returns {Promise<boolean>} whether it was saved */
  async saveVersion(stretch, act) {
    const { id, slot, text, place } = stretch;
    try {
      const answer = await this.page.say(edited(id, text, "version"), { quiet: true, draft: carried(slot, text), act });
      this.led = answer.position;
      const added = { id: answer.refs[0], slot, text, by: paintedBy(this.editor, place, text, this.page.settings.me) };
      this.host.leaves?.add(added);
      this.editor.settle(slot, added);
      this.no.delete(slot);
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refused(error, stretch);
      return false;
    } finally {
      this.sending.delete(slot);
    }
  }

  /** Saves edits as one branch. Of several passages it has all from the first to the last that was edited, put together
   * from them. The text of the branch is drawn later: until then, what was saved stays as it is.
   * @param {Stretch[]} passages @param {import("../live/outbox.js").ActOf} [act] @param {boolean} [follow]
   * @returns {Promise<boolean>} whether it was saved */
  async saveBranch(passages, act, follow = true) {
    const { page, editor } = this;
    const [first, last] = [passages[0], passages[passages.length - 1]];
    const drafts = passages.map(({ slot, text }) => carried(slot, text));
    const span = editor.ids.slice(first.place, last.place + 1).map((_, at) => editor.stretch(first.place + at));
    const content = span.map(({ text }) => text).join("");
    const above = editor.ids[first.place - 1] ?? page.store?.ids[0];
    const one = edited(first.id, content, "fork");
    const command = passages.length > 1 && content && above ? call("respond", { ref: above, content, sources: span.map(({ id }) => id), role: "parts" }) : one;
    try {
      const answer = await page.say(command, { quiet: true, draft: drafts, act, follow });
      this.forks += 1;
      this.branches.push({ span: new Map(span.map(({ slot, text }) => [slot, text])), texts: new Map(passages.map(({ slot, text }) => [slot, text])), refs: answer.refs });
      for (const { slot } of passages) this.no.delete(slot);
      if (follow) this.led = answer.position;
      else page.arrivals.again(); // the reader is elsewhere than the branch
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refused(error, first);
      return false;
    }
  }

  /** What of the branches that were saved is drawn now: the slots whose typed text is let go, and what was typed since in them.
   * @param {import("../editor/document-state.js").Leaf[]} leaves of the path that is drawn */
  drawn(leaves) {
    const { editor } = this;
    /** @type {Set<string>} */
    const stored = new Set();
    /** @type {{id: string, text: string}[]} */
    const typed = [];
    for (const { span, texts, refs } of this.branches) {
      const nodes = editor.book.nodes.map((node, place) => ({ ...node, place }));
      const now = nodes.filter(({ slot }) => span.has(slot)).map(({ place }) => editor.stretch(place));
      const isSame = now.every(({ slot, text }) => span.get(slot) === text);
      // What a text was only added to stays above what was added.
      const into = leaves.filter(({ id, slot }) => refs.includes(id) || span.has(slot));
      const isHere = refs.every((ref) => leaves.some(({ id }) => id === ref));
      if (!isSame && !isHere) continue;
      for (const { slot, text } of now) if (texts.has(slot) || span.get(slot) !== text) stored.add(slot);
      if (isSame) continue;
      const texted = spread(into.map(({ text }) => text), now.map(({ text }) => text).join(""));
      into.forEach(({ id, text }, place) => texted[place] !== text && typed.push({ id, text: texted[place] }));
    }
    this.branches = [];
    return { stored, typed };
  }

  /** Of edits the one conflict is that of two versions: no id helps who wrote one of them.
   * @param {Refused} error @param {Stretch} stretch */
  refused(error, stretch) {
    if (error.code === "CONFLICT") return this.overtaken(stretch, this.fasterAt(stretch.slot));
    const { message, hint, mayPass } = error;
    this.no.set(stretch.slot, { id: stretch.id, text: stretch.text, why: { message, hint }, isOvertaken: false, mayPass });
    this.sayAgain(stretch);
  }

  /** Says at its passage why an edit is not saved, and what can be done. @param {Stretch} stretch */
  sayAgain({ slot }) {
    const held = this.no.get(slot);
    if (!held) return;
    this.host.bar?.refuse({ slot }, held.why, {
      other: held.other,
      branch: held.isOvertaken ? () => void this.queue(() => this.branchOff(slot)) : undefined,
      back: () => this.putBack(slot),
    });
  }

  /** Saves an edit as a branch that cannot be a version. @param {string} slot */
  async branchOff(slot) {
    const stretch = this.pending().find((draft) => draft.slot === slot);
    if (!stretch) return;
    this.sending.set(slot, stretch.text);
    try {
      await this.saveBranch([stretch]);
    } finally {
      this.sending.delete(slot);
      this.host.keep();
    }
  }

  /** Who saved the newest version of a slot, as far as it is known. @param {string} slot */
  fasterAt(slot) {
    const { store, cast, settings } = this.page;
    const at = store?.slotOf(slot) ?? null;
    const author = store && at !== null ? store.authors[store.versionsOf(at).at(-1) ?? at] : undefined;
    return author && author !== settings.me ? cast.get(author)?.name : undefined;
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
    const stretch = this.pending().find(({ slot, id }) => slot === node.slot && id !== node.id);
    if (isLate && this.host.bar?.isRefused) return; // saving it was refused for that
    if (stretch) this.overtaken(stretch, cast.get(actor)?.name, node.text);
  }

  /** Says so where a version came after a kept edit was typed. @param {number} place */
  warn(place) {
    const stretch = this.editor.stretch(place);
    // Where the draft never reached the server, only this browser knows what it was typed over.
    const { over, at } = this.page.drafts.entry(`edit.${stretch.slot}`);
    const isKnown = over !== undefined || at !== "";
    if (!isKnown || (this.host.leaves?.known.get(stretch.id)?.at ?? "") <= (over ?? at)) return;
    this.overtaken(stretch);
  }

  /** An edit is upon a version that is not the newest any more. @param {Stretch} stretch @param {string} [name] of who was
   * faster @param {string} [other] their text */
  overtaken(stretch, name, other = this.newestAt(stretch.slot)) {
    const message = name ? t("{name} saved another version while you were writing.", { name }) : t("Somebody saved another version while you were writing.");
    this.no.set(stretch.slot, { id: stretch.id, text: stretch.text, why: { message, hint: "" }, other, isOvertaken: true, mayPass: false });
    this.sayAgain(stretch);
  }

  /** What was typed in a node is given up: its stored text is shown again. @param {string} slot */
  putBack(slot) {
    const at = this.editor.book.nodes.findIndex((node) => node.slot === slot);
    const leaf = this.host.leaves?.known.get(this.editor.ids[at]);
    if (at < 0 || !leaf) return;
    this.no.delete(slot);
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
    const before = this.forks;
    const fields = composer();
    const calls = fields && !fields.act ? continueCalls(fields.asks?.read() ?? {}) : undefined;
    const key = newKey();
    const wentWell = await this.all(calls, key);
    if (!wentWell) return;
    const isEnd = this.forks !== before || (spot.isTail && spot.offset === codePoints(spot.text));
    // A split counts in the stored text: in one that is not saved it would be at another place. `all` has said so.
    if (!isEnd && this.pending().some((draft) => draft.slot === spot.slot && this.isHeld(draft))) return;
    await this.queue(async () => {
      if (isEnd) await this.ask(this.end().at, { calls, key });
      else {
        await this.goTo(spot);
        await this.ask(this.page.position);
      }
      this.tellHeld();
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
    page.acts.amend({ to: answer.refs[0] });
    page.go(answer.refs[0]);
    editor.focus();
  }
}
