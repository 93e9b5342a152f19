// @ts-check
// What this person has done in the tree, in order: changes that are steps on the server, and
// candidates that were accepted, which only moved the page. Undo takes back the last of them, redo
// repeats it. The list is kept in the browser, so that it survives a reload; where it is empty, the
// server's own list goes on. What is typed and not saved is undone by the editor: a mark at each act
// says how much had been typed by then.

import { part, Refused } from "../live/api.js";
import { call, verbOf } from "../live/calls.js";
import { toast } from "../elements/loom-toast.js";
import { t } from "../t.js";
import { placeAt } from "./page-drafts.js";
import { rightsOf } from "./status-text.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {{history: string, typed: number, undone: number, joined: number}} Mark of an editor's own history: which one, how
 * many steps could be undone, and how many redone; joined: how many could be undone when it was taken up again */
/** @typedef {{step?: number, act?: string, verb: string, from: string, to: string, made?: string, tail?: string, swap?: [string, string], mark?: Mark}} Act
 * `from`, `to`: where the page was before and after it; `made`: a text that was added; `tail`: words of a candidate
 * that were taken before it was accepted whole; `swap`: what was typed behind the text, before and after words were replaced everywhere */

const MOST = 200;
const TRIES = 25; // looks at whether the events of an answer are here
const TRY_MS = 20;

/** Whether it puts a text together from others: nobody typed that. @param {import("../live/calls.js").Said} [said] */
const isOfParts = (said) => typeof said === "object" && said.args.role === "parts";

/** The last event of an answer in its tree; 0 where its events are of another stream. @param {import("./page.js").Answer} answer */
const lastOf = ({ stream, events }) => (stream?.startsWith("tree:") ? Math.max(0, ...events) : 0);

export class Acts {
  /** @type {() => Mark | undefined} how much is typed, where there is an editor */
  mark = () => undefined;
  /** What is being saved comes first. @type {() => Promise<unknown>} */
  before = () => Promise.resolve();
  /** Waits until the text of the position is drawn. @type {() => Promise<unknown>} */
  drawn = () => Promise.resolve();
  /** Told of an act that is about to be undone or redone. @type {(way: "undo" | "redo", act: Act, until?: number) => void} until: its last event */
  turns = () => {};
  /** @type {WeakMap<object, {from: string, mark: Mark | undefined}>} how it was when a line was given */
  given = new WeakMap();
  /** @type {Promise<unknown>} */
  last = Promise.resolve();
  busy = 0;
  isOwn = false;

  /** @param {TreePage} page @param {Storage | null} store */
  constructor(page, store) {
    this.page = page;
    this.store = store;
    this.name = `heddle.acts.${page.settings.me}.${page.settings.tree}`;
    page.addEventListener("saying", (event) => this.given.set(/** @type {CustomEvent} */ (event).detail, { from: page.position, mark: this.mark() }));
    page.addEventListener("said", (event) => this.said(/** @type {CustomEvent} */ (event).detail));
    page.addEventListener("taken", (event) => {
      const { from, to } = /** @type {CustomEvent} */ (event).detail;
      this.add({ verb: "take", from, to, mark: this.mark() });
    });
  }

  /** @returns {{done: Act[], undone: Act[]}} */
  read() {
    try {
      return { done: [], undone: [], ...JSON.parse(this.store?.getItem(this.name) ?? "{}") };
    } catch {
      return { done: [], undone: [] };
    }
  }

  /** @param {{done: Act[], undone: Act[]}} acts */
  keep({ done, undone }) {
    try {
      this.store?.setItem(this.name, JSON.stringify({ done: done.slice(-MOST), undone: undone.slice(-MOST) }));
    } catch {
      // A full store costs only the order across a reload.
    }
  }

  /** @param {Act} act */
  add(act) {
    const { done } = this.read();
    // The passages of one replacement are one act.
    const isSame = act.act && done.at(-1)?.act === act.act;
    this.keep({ done: isSame ? [...done.slice(0, -1), { ...act, from: done[done.length - 1].from }] : [...done, act], undone: [] });
  }

  /** Adds to what is known of the last act. @param {Partial<Act>} more */
  amend(more) {
    const { done, undone } = this.read();
    const last = done.at(-1);
    if (last) this.keep({ done: [...done.slice(0, -1), { ...last, ...more }], undone });
  }

  /** Something was typed: what was undone cannot be done again. */
  forget() {
    const { done, undone } = this.read();
    if (undone.length) this.keep({ done, undone: [] });
  }

  /** A command was answered. @param {{said?: import("../live/calls.js").Said, act?: {act: string}, answer: import("./page.js").Answer}} said */
  said(said) {
    const { answer } = said;
    const verb = verbOf(answer.canonical);
    if (verb === "undo" || verb === "redo") return void (this.isOwn || this.other(verb, answer.canonical));
    if (!answer.events.length) return;
    const { from, mark } = this.given.get(said) ?? { from: this.page.position, mark: undefined };
    const to = answer.position.startsWith("tree:") ? from : answer.position;
    this.add({ verb, step: answer.step, from, to, mark, act: said.act?.act, made: verb === "respond" && !isOfParts(said.said) ? answer.refs[0] : undefined });
  }

  /** Undo or redo came by another way: by a line, or a button in a list. @param {string} verb @param {string} line */
  other(verb, line) {
    const { done, undone } = this.read();
    const step = Number(/step:(\d+)/.exec(line)?.[1] ?? 0);
    const [from, to] = verb === "undo" ? [done, undone] : [undone, done];
    const at = from.map((act) => (step ? act.step === step : act.step !== undefined)).lastIndexOf(true);
    if (at >= 0) to.push(...from.splice(at, 1));
    this.keep({ done, undone });
  }

  /** Whether what was typed last comes after the last act, so that the editor undoes it.
   * @param {Mark} now */
  isTypedLast(now) {
    const last = this.read().done.at(-1);
    if (!last) return now.typed > 0;
    return now.typed > (last.mark?.history === now.history ? last.mark.typed : now.joined);
  }

  /** Whether the editor's own redo comes before that of acts. @param {Mark} now */
  isTypingNext(now) {
    const last = this.read().undone.at(-1);
    return now.undone > (last?.mark?.history === now.history ? last.mark.undone : 0);
  }

  /** One after another. @param {() => Promise<unknown>} work */
  queue(work) {
    this.busy += 1;
    const run = this.last.then(() => this.before()).then(work).finally(() => (this.busy -= 1));
    this.last = run.catch(() => undefined);
    return run;
  }

  /** Takes back the last act. @param {string} [none] what is said where none is known here; else the server's last is undone */
  undo(none = "") {
    return this.queue(async () => {
      for (;;) {
        const { done, undone } = this.read();
        const act = done.at(-1);
        if (!act && none) return toast().show(none);
        if (!act) return this.undoUnknown();
        this.keep({ done: done.slice(0, -1), undone });
        const putBack = () => this.putBack("done", act, done.length - 1);
        if (act.step === undefined ? await this.untake(act) : await this.undoStep(act, putBack)) return undefined;
      }
    });
  }

  /** Takes back the server's last change, which was made elsewhere. One of rights is not in sight
   * here, and somebody may lose the tree by it: it is asked for first. */
  async undoUnknown() {
    const ahead = await this.undoAhead();
    const rights = rightsOf(ahead.find((part) => part.verb === "allow"));
    if (!rights) return this.say(call("undo"));
    return toast().show(t("Undo your last change: {what}?", { what: rights }), { act: t("Undo"), onAct: () => void this.queue(() => this.say(call("undo"))) });
  }

  /** What undoing the last change would take back; nothing where it would be refused, which is said then.
   * @returns {Promise<import("../live/outbox.js").Undone[]>} */
  async undoAhead() {
    try {
      return (await this.page.preview(call("undo"))).did?.undone ?? [];
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return [];
    }
  }

  /** Takes back one act, by its step, whichever it is. @param {number} step */
  undoNumber(step) {
    return this.queue(async () => {
      const { done, undone } = this.read();
      const act = done.find((other) => other.step === step);
      if (!act) return this.say(call("undo", { ref: `step:${step}` }));
      this.keep({ done: done.filter((other) => other !== act), undone });
      return this.undoStep(act, () => this.putBack("done", act, done.indexOf(act)));
    });
  }

  /** Repeats what was undone last. @param {string} [none] */
  redo(none = "") {
    return this.queue(async () => {
      const { done, undone } = this.read();
      const act = undone.at(-1);
      if (!act && none) return toast().show(none);
      if (!act) return this.say(call("redo"));
      this.keep({ done, undone: undone.slice(0, -1) });
      return act.step === undefined ? this.takeAgain(act) : this.redoStep(act, () => this.putBack("undone", act, undone.length - 1));
    });
  }

  /** @param {import("../live/calls.js").Call} what @param {boolean} [follow] @param {() => void} [putBack] runs where it
   * was refused and may go well later @returns {Promise<import("./page.js").Answer | null>} */
  async say(what, follow = true, putBack = () => {}) {
    this.isOwn = true;
    try {
      return await this.page.say(what, { follow });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.mayPass) putBack();
      return null;
    } finally {
      this.isOwn = false;
    }
  }

  /** Puts an act back that could not be undone or redone just now. @param {"done" | "undone"} list @param {Act} act
   * @param {number} place where it was in the list */
  putBack(list, act, place) {
    const acts = this.read();
    acts[list].splice(place, 0, act);
    this.keep(acts);
  }

  /** Waits until the tree's shape has what was undone or redone, but not for ever: the answer may come before its
   * events, and which version is current would be read from before them. @param {import("./page.js").Answer} answer */
  async caughtUp(answer) {
    const { events } = this.page;
    for (let tries = 0; tries < TRIES && events.seq < lastOf(answer); tries += 1) await new Promise((done) => setTimeout(done, TRY_MS));
  }

  /** Keeps an act that was undone. @param {Act} act */
  async took(act) {
    await this.drawn();
    const { done, undone } = this.read();
    this.keep({ done, undone: [...undone, { ...act, mark: this.mark() }] });
  }

  /** @param {Act} act */
  async again(act) {
    await this.drawn();
    const { done, undone } = this.read();
    this.keep({ done: [...done, { ...act, mark: this.mark() }], undone });
  }

  /** Whether it was taken back, or was refused and told. @param {Act} act @param {() => void} putBack */
  async undoStep(act, putBack) {
    const { page } = this;
    const at = page.position;
    const text = act.made ? await this.textOf(act.made) : "";
    const answer = await this.say(call("undo", { ref: `step:${act.step}` }), false, putBack);
    if (!answer) return true;
    await this.caughtUp(answer);
    if (text) this.giveBack(act, text);
    this.turns("undo", act, lastOf(answer));
    if (answer.position !== at || this.isAt(act.to)) this.leave(this.isAt(act.from, answer.position) ? answer.position : this.selected(act.from), true);
    await this.took(act);
    return true;
  }

  /** Takes back all that a turn of an agent did, and leads to where the reader's own text ends. @param {string} turn */
  undoTurn(turn) {
    return this.queue(async () => {
      const answer = await this.say(call("undo", { ref: `turn:${turn}` }), false);
      if (answer) this.leave(answer.position);
    });
  }

  /** Repeats a turn, and leads to its answer. @param {string} turn @param {string} to */
  redoTurn(turn, to) {
    return this.queue(async () => {
      const answer = await this.say(call("redo", { ref: `turn:${turn}` }), false);
      if (answer && to) this.page.go(to);
    });
  }

  /** Moves on from a text that is hidden now; what was written below it comes along. @param {string} to @param {boolean} [isHeld] by undo */
  leave(to, isHeld = false) {
    const { page } = this;
    const [from, place] = [placeAt(page, "buffer"), placeAt(page, "buffer", to)];
    const draft = page.drafts.of(from);
    if (draft && to !== page.position && from.slot !== place.slot) {
      page.drafts.write(place, page.drafts.of(place) + draft);
      page.drafts.write(from, "");
    }
    page.go(to, { isHeld });
  }

  /** @param {Act} act @param {() => void} putBack */
  async redoStep(act, putBack) {
    const text = act.made ? await this.textOf(act.made) : "";
    const wasThere = this.isAt(act.from);
    const answer = await this.say(call("redo"), false, putBack);
    if (!answer) return;
    await this.caughtUp(answer);
    const place = placeAt(this.page, "buffer", act.from);
    const draft = this.page.drafts.of(place);
    if (text && draft.startsWith(text)) this.page.drafts.write(place, draft.slice(text.length));
    this.turns("redo", act, lastOf(answer));
    // What was undone may have been elsewhere: redo leads to where it is.
    if (wasThere || !this.page.store?.hasOnPath(this.page.position, [act.to])) this.page.go(this.selected(act.to), { isHeld: true });
    await this.again(act);
  }

  /** A text that is no node any more is a draft again where it was written. @param {Act} act @param {string} text */
  giveBack({ from }, text) {
    const place = placeAt(this.page, "buffer", from);
    this.page.drafts.write(place, text + this.page.drafts.of(place));
  }

  /** @param {string} id */
  async textOf(id) {
    try {
      return await part(`${this.page.web}/nodes/${id}/text`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return "";
    }
  }

  /** Leads back to before a candidate was accepted; false where the reader has left it since.
   * @param {Act} act */
  async untake(act) {
    const { page } = this;
    if (!this.isAt(act.to) && !page.store?.hasOnPath(page.position, [act.to])) return false;
    const place = placeAt(page, "buffer", act.from);
    if (act.tail && !page.drafts.of(place)) page.drafts.write(place, act.tail);
    this.turns("undo", act);
    page.go(this.selected(act.from), { isHeld: true });
    await this.took(act);
    toast().show(t("Undone: accepting a candidate"), { act: t("Redo"), onAct: () => void this.redo() });
    return true;
  }

  /** @param {Act} act */
  async takeAgain(act) {
    const { page } = this;
    if (!this.isAt(act.from)) return toast().show(t("There is nothing to redo in this text."));
    const place = placeAt(page, "buffer", act.from);
    if (act.tail && page.drafts.of(place) === act.tail) page.drafts.write(place, "");
    this.turns("redo", act);
    page.go(this.selected(act.to), { isHeld: true });
    await this.again(act);
    toast().show(t("Redone: accepting a candidate"), { act: t("Undo"), onAct: () => void this.undo() });
    return undefined;
  }

  /** The version of a node's slot that is read now. @param {string} id */
  selected(id) {
    const { store } = this.page;
    const slot = store?.slotOf(id);
    return store && slot !== null && slot !== undefined ? store.selected(slot) : id;
  }

  /** Whether the page (or `there`) is at a node, in whichever version. @param {string} id @param {string} [there] */
  isAt(id, there = this.page.position) {
    const { store } = this.page;
    if (id === there) return true;
    const slot = store?.slotOf(id);
    return slot !== undefined && slot !== null && slot === store?.slotOf(there);
  }
}
