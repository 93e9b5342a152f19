// @ts-check
// What the elements of a tree page share: the reader's position, what is known of the tree,
// and the one way to say a line. No drawing here.

import { json, Refused } from "../live/api.js";
import { asBody, verbOf } from "../live/calls.js";
import { Once } from "../live/once.js";
import { keyAfter, Outbox } from "../live/outbox.js";
import { Events, LiveSocket } from "../live/socket.js";
import { t } from "../t.js";
import { Acts } from "./undo.js";
import { Contexts } from "./contexts.js";
import { Excerpts, Marks } from "./node-facts.js";
import { Filter } from "./filter.js";
import { Folds } from "./folds.js";
import { follow, handOver, openDrafts, placeAt } from "./page-drafts.js";
import { storeNow } from "./store.js";

const DOUBLE_MS = 500; // two presses within this time ask models once

/** @typedef {{id: string, name: string, kind: string, colour: number, initials: string, is_agent: boolean, is_archived: boolean}} Who */
/** @typedef {{tree: string, title: string, grove: string, mode: string, seq: number, node: string, slot: string, workspace: string, me: string, can: Record<string, boolean>, role: string, versions: Record<string, string>, cast: Who[], keys: {name: string, keys: import("./keys.js").Key[]}[], edits: "ask" | "version" | "fork", truncation?: string}} Settings */
/** @typedef {import("../live/outbox.js").Answer} Answer */
/** @typedef {import("../live/draft-storage.js").Carried} Carried */
/** @typedef {import("./store.js").TreeStore} TreeStore */

/** Emits: `moved` (detail {from, isStill, isKept, isBack, isSpoken, isHeld}), `carrying` (detail {from, to}: a draft, before it goes to another place), `overview` (the largest branches of a big tree), `store` (the skeleton is here), `changed` (the store has
 * news), `drawn` (what changed, drawn by the server), `delta`, `here`, `state`, `role` (detail: what the reader is in the tree now), `text` (a
 * buffer's editor shows the position), `book` (it has taken the text's place), `taken` (detail {from, card, to, isLate}: a candidate, before the move), `awaited` (a candidate will be accepted when it ends), `said` (detail {answer}), `refused` (detail Refused).
 */
export class TreePage extends EventTarget {
  /** @param {Settings} settings */
  constructor(settings) {
    super();
    this.settings = settings;
    this.position = settings.node;
    this.can = settings.can;
    this.cast = new Map(settings.cast.map((who) => [who.id, who]));
    this.api = `/api/trees/${settings.tree}`;
    this.web = `/trees/${settings.tree}`;
    this.events = new Events(settings.seq);
    this.presses = new Once();
    this.outbox = new Outbox(`${this.api}/commands`, {
      store: localStorage,
      name: `outbox.${settings.me}.${settings.tree}`,
    });
    this.drafts = openDrafts(settings, this.outbox);
    this.ended = new AbortController();
    this.socket = new LiveSocket(`/ws/trees/${settings.tree}`, () => this.events.seq, { query: `&drawn=${document.documentElement.lang}` });
    /** @type {TreeStore | null} the tree as it is shown */
    this.store = null;
    /** @type {TreeStore | null} the tree as it is now: another one while the past is shown */
    this.present = null;
    this.folds = new Folds(settings.tree, localStorage);
    this.excerpts = new Excerpts(`${this.web}/excerpts`);
    // First of all who listen: what they draw has the right colours.
    this.excerpts.addEventListener("excerpts", () => this.present?.credit(this.excerpts.authors));
    this.marks = new Marks(`${this.web}/marks`);
    this.filter = new Filter();
    /** @type {{participant: string, node: string, buffer?: string}[]} */
    this.here = [];
    this.waiting = false;
    /** @type {Set<Promise<unknown>>} texts of the composer on their way */
    this.sending = new Set();
    this.contexts = new Contexts(this);
    this.acts = new Acts(this, localStorage);
    this.whereabouts = new Whereabouts(this);
    this.arrivals = new Arrivals(this);
    this.ways = new Ways(this, localStorage);
  }

  start() {
    // By kind, so that whoever else cares for one finds the tree as it is after the event.
    for (const kind of ["node.added", "node.flagged", "annotation.resolved", "annotation.reopened"]) {
      this.events.on(kind, (event) => this.present?.apply(event) && this.change());
    }
    // Who has seen an answer and presses again wants another one.
    this.events.on("generation.ended", () => this.presses.forget());
    this.marks.follow(this.events);
    this.excerpts.follow(this.events);
    this.socket.addEventListener("frame", (event) => this.frame(/** @type {CustomEvent} */ (event).detail));
    this.socket.addEventListener("state", (event) => {
      if (/** @type {CustomEvent} */ (event).detail.state === "live") this.whereabouts.tell();
      this.emit("state", /** @type {CustomEvent} */ (event).detail);
    });
    this.socket.start();
    this.resume();
    this.drafts.addEventListener("refused", (event) => this.emit("refused", /** @type {CustomEvent} */ (event).detail));
    if (this.can.comment) follow(this.drafts, this.ended.signal);
    this.loadStore();
    this.remember();
    addEventListener("pagehide", () => this.arrivals.send(), { signal: this.ended.signal });
  }

  stop() {
    this.socket.stop();
    this.ended.abort();
  }

  /** Sends what an earlier page could not send, and follows it as that page would have done. */
  resume() {
    const left = this.outbox.left();
    this.outbox.resume().forEach(async (sent, place) => {
      this.sends(sent);
      const answer = await sent;
      if (!answer?.position || answer.position.startsWith("tree:")) return;
      const { at, draft, then, key } = left[place];
      // What was typed behind it belongs behind it.
      if (isOfBuffer(draft)) this.carry(draft, { kind: "buffer", slot: answer.refs[0] ?? "" });
      this.follow(answer.position, at);
      (then ?? []).forEach((line, next) => {
        this.sayNow(line, { at: answer.position, key: keyAfter(key, next) }).catch(() => {});
      });
    });
  }

  /** Takes a draft along to another place. @param {import("../live/draft-storage.js").Place} from @param {import("../live/draft-storage.js").Place} to */
  carry(from, to) {
    if (!to.slot || from.slot === to.slot) return;
    this.emit("carrying", { from, to });
    const text = this.drafts.of(from);
    if (!text) return;
    this.drafts.write(to, text + this.drafts.of(to));
    this.drafts.write(from, "");
  }

  /** Takes what was typed along to where this tab is about to be led. @param {import("../live/draft-storage.js").Place} from @param {string} position @param {string} at where it was typed */
  carryBehind(from, position, at) {
    const isLed = position && position !== at && this.position === at && !position.startsWith("tree:");
    if (isLed) this.carry(from, placeAt(this, from.kind, position));
  }

  /** A text of the composer is on its way: the next one follows it. @param {Promise<unknown>} text */
  sends(text) {
    this.sending.add(text);
    const over = () => this.sending.delete(text);
    text.then(over, over);
  }

  /** Waits for the texts that are on their way; whether all of them were stored. */
  async sent() {
    const results = await Promise.allSettled([...this.sending]);
    return results.every((result) => result.status === "fulfilled" && result.value !== null);
  }

  /** Asks for the shape of the tree, and again later where that did not come. */
  async loadStore() {
    try {
      const store = await storeNow(this);
      for (const tip of this.ways.tips()) store.visit(tip);
      store.visit(this.position);
      this.present = store;
      this.showStore(store);
      await this.marks.load();
    } catch (error) {
      if (error instanceof Refused && error.mayPass) setTimeout(() => this.loadStore(), 3000);
      else throw error;
    }
  }

  /** Draws the tree by another store: as it was once, or as it is. @param {TreeStore} store */
  showStore(store) {
    this.store = store;
    this.emit("store");
  }

  /** Nothing is written while the past is shown. @param {boolean} isPast */
  ceaseWriting(isPast) {
    this.can = (this.isPast = isPast) ? {} : this.settings.can;
  }

  /** @param {any} frame */
  frame(frame) {
    if (frame.type === "event") {
      const outcome = this.events.apply(frame.event);
      if (outcome === "gap") this.socket.resync();
      else if (outcome === "new") this.emit("event", frame.event);
    } else if (frame.type === "heartbeat" && frame.seq > this.events.seq) {
      this.socket.resync();
    } else if (frame.type === "drawn") {
      this.emit("drawn", frame);
    } else if (frame.type === "delta") {
      this.emit("delta", frame);
    } else if (frame.type === "role") {
      this.emit("role", frame.role);
    } else if (frame.type === "presence") {
      this.here = frame.here;
      this.emit("here");
    }
  }

  change() {
    if (this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => {
      this.waiting = false;
      this.emit("changed");
    });
  }

  /** Moves this tab to a node. @param {string} id @param {{replace?: boolean, history?: boolean, isStill?: boolean, isSpoken?: boolean, isHeld?: boolean, isExact?: boolean}} [how] isExact: to this text, though it looks like the half of a split one; isHeld: undo or redo leads there, and shows what it changes; isStill: by
   * itself, so that what is read stays where it is, and what is typed goes along; isSpoken: its text is read out */
  go(id, { replace = false, history: keep = true, isStill = false, isSpoken = false, isHeld = false, isExact = false } = {}) {
    id = this.store?.textOf(id) ?? id;
    if (!isExact && !isHeld) id = this.whole(id);
    if (!id || id === this.position) return;
    const from = this.position;
    if (isStill) this.carry(placeAt(this, "buffer"), placeAt(this, "buffer", id));
    this.place(id);
    if (keep) this.note(replace);
    this.emit("moved", { from, isStill, isKept: keep, isSpoken, isHeld });
  }

  /** Goes back to a node that is still shown, because the one moved to could not be read: what is
   * written next answers the text that is seen. @param {string} id @param {{replace: boolean, isLed?: boolean}} how replace:
   * the history has an entry for the node that could not be read; isLed: the page had moved by itself, and
   * what is typed comes back with it */
  goBack(id, { replace, isLed = false }) {
    const from = this.position;
    if (isLed) this.carry(placeAt(this, "buffer"), placeAt(this, "buffer", id));
    this.place(id);
    this.note(replace);
    this.emit("moved", { from, isStill: true, isBack: true });
  }

  /** @param {string} id */
  place(id) {
    this.position = id;
    this.store?.visit(id);
    this.remember();
    this.whereabouts.tell();
  }

  /** Puts the position into the address and the history. @param {boolean} replace */
  note(replace) {
    const url = new URL(location.href);
    url.searchParams.set("node", this.position);
    history[replace ? "replaceState" : "pushState"]({ node: this.position }, "", url);
  }

  /** Where a second half of a split leads: what followed the text that was split follows it. @param {string} id */
  whole(id) {
    const { store } = this;
    const slot = store?.slotOf(id);
    const whole = store && slot !== null && slot !== undefined ? store.wholeOf(slot) : undefined;
    return store && whole !== undefined ? store.selected(store.leafBelow(whole)) : id;
  }

  /** Opens the tree here next time, in every browser; the past is only visited. */
  remember() {
    if (this.isPast) return;
    this.ways.note(this.position);
    this.arrivals.tell();
  }

  /** Sends a line at the position of this tab, once until it was answered, and follows where it leads: `saying` before it is sent,
   * `said` with the same object when it is answered. Refusals are told as `refused` and thrown. @param {import("../live/calls.js").Said} what @param {{at?: string, follow?: boolean, quiet?: boolean, draft?: Carried | Carried[], act?: import("../live/outbox.js").ActOf, then?: import("../live/calls.js").Said[], key?: string}} [how] quiet: the caller
   * tells what was refused; draft: whose text the line carries, or which texts; act: of which act it is a part; then: what
   * follows where it leads, for a page that sends it later; key: the key of the request, where the caller needs it @returns {Promise<Answer>} */
  say(what, how = {}) {
    const send = () => {
      const answer = this.sayNow(what, how);
      if (isOfBuffer(how.draft)) this.sends(answer);
      return answer;
    };
    const isPaid = verbOf(typeof what === "string" ? what : what.command) === "continue";
    const isRepeatable = typeof what === "string" ? !isPaid : /^(un|re)do/.test(what.command);
    if (isRepeatable) return send();
    return this.presses.send(JSON.stringify([what, how.at ?? this.position]), send, isPaid ? DOUBLE_MS : 0);
  }

  /** @param {import("../live/calls.js").Said} what @param {{at?: string, follow?: boolean, quiet?: boolean, draft?: Carried | Carried[], act?: import("../live/outbox.js").ActOf, then?: import("../live/calls.js").Said[], key?: string}} how
   * @returns {Promise<Answer>} */
  async sayNow(what, { at = this.position, follow = true, quiet = false, draft, act, then, key }) {
    try {
      if (this.isPast) throw new Refused({ code: "REJECTED", message: t("You are viewing an earlier state of the tree."), hint: t("Go back to now to make changes.") }, 409);
      const message = { said: what, act };
      this.emit("saying", message);
      const carried = draft ? await handOver(this.drafts, draft) : undefined;
      const answer = await this.outbox.send(what, at, carried, act, then, key);
      // What was typed behind a text belongs behind it.
      if (isOfBuffer(draft) && typeof what !== "string") this.carryBehind(draft, answer.position, at);
      // What was edited is read on its branch, whose texts may be as long as halves of a split.
      if (follow && answer.position) this.follow(answer.position, at, verbOf(typeof what === "string" ? what : what.command) === "edit");
      this.emit("said", Object.assign(message, { answer }));
      return answer;
    } catch (error) {
      if (!quiet) this.refuse(error);
      throw error;
    }
  }

  /** @param {string} position @param {string} at @param {boolean} [isExact] */
  follow(position, at, isExact = false) {
    const elsewhere = /^tree:(\S+) node:(\S+)$/.exec(position);
    if (elsewhere) location.assign(`/trees/${elsewhere[1]}?node=${elsewhere[2]}`);
    else if (position !== at && this.position === at) this.go(position, { isExact });
  }

  /** Shows why something was refused, once. @param {unknown} error */
  refuse(error) {
    if (error instanceof Refused && error.isShown) return;
    if (error instanceof Refused) error.isShown = true;
    this.emit("refused", error);
  }

  /** What a line or a command would do, without doing it. @param {import("../live/calls.js").Said} what @param {AbortSignal} [signal] */
  preview(what, signal) {
    const body = { ...asBody(what), at: this.position, dry_run: true };
    return json(`${this.api}/commands`, { method: "POST", body, signal });
  }

  /** @param {string} name @param {any} [detail] */
  emit = (name, detail) => this.dispatchEvent(new CustomEvent(name, { detail }));
}

/** Whether a line carries what was typed behind a text. @param {Carried | Carried[]} [draft]
 * @returns {draft is Carried} */
const isOfBuffer = (draft) => draft !== undefined && !Array.isArray(draft) && draft.kind === "buffer";

/** The page that an element belongs to. @returns {TreePage} */
export function pageOf() {
  const root = /** @type {(HTMLElement & {page: TreePage}) | null} */ (document.querySelector("loom-tree"));
  if (!root) throw new Error("This element belongs on a tree page.");
  return root.page;
}

// What others see of this tab: its position, and the unsent text there.

const SHARE_MS = 200;
const MOST = 16_000; // characters of a working buffer that others see: its end

export class Whereabouts {
  /** @param {import("./page.js").TreePage} page */
  constructor(page) {
    this.page = page;
    this.buffer = "";
    /** @type {any} */
    this.timer = 0;
  }

  tell() {
    clearTimeout(this.timer);
    this.timer = 0;
    const place = { type: "presence", node: this.page.position };
    this.page.socket.send(this.buffer ? { ...place, buffer: this.buffer } : place);
  }

  /** Lets others see what is written here; an empty text is nothing to see. @param {string} text */
  share(text) {
    const buffer = text.slice(-MOST).replace(/^[\udc00-\udfff]/, "");
    if (buffer === this.buffer) return;
    this.buffer = buffer;
    if (!this.timer) this.timer = setTimeout(() => this.tell(), SHARE_MS);
  }
}

const ARRIVED_MS = 600; // who walks on within this time has not arrived

/** Tells the server where this person is. What is lost with the connection is told again by the next move. */
export class Arrivals {
  /** @param {import("./page.js").TreePage} page */
  constructor(page) {
    this.page = page;
    this.told = "";
    /** @type {any} */
    this.timer = 0;
  }

  tell() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), ARRIVED_MS);
  }

  /** Tells the position once more: a command has led elsewhere than this tab is. */
  again() {
    this.told = "";
    this.tell();
  }

  /** Sends the position, also while the page goes away. */
  send() {
    clearTimeout(this.timer);
    if (this.page.isPast) return;
    const { position: node, web } = this.page;
    if (node === this.told) return;
    this.told = node;
    json(`${web}/place`, { method: "POST", body: { node }, keepalive: true }).catch(() => {
      if (this.told === node) this.told = "";
    });
  }
}

// The paths that were read last, so that End leads along them after a reload too.

const MOST_WAYS = 20;

export class Ways {
  /** @param {import("./page.js").TreePage} page @param {Storage} store */
  constructor(page, store) {
    this.page = page;
    this.store = store;
    this.name = `heddle.ways.${page.settings.me}.${page.settings.tree}`;
  }

  /** The ends of the paths, the last one last. @returns {string[]} */
  tips() {
    try {
      return JSON.parse(this.store.getItem(this.name) ?? "[]");
    } catch {
      return [];
    }
  }

  /** Notes where the reader is, unless the last path leads on from there. @param {string} id */
  note(id) {
    const { store } = this.page;
    const tips = this.tips();
    const last = tips.at(-1) ?? "";
    const slot = store?.slotOf(id);
    if (!store || slot === null || slot === undefined || store.pathTo(last).includes(slot)) return;
    const path = store.pathTo(id);
    // A path that is written on is one path.
    const kept = tips.filter((tip) => !path.includes(store.slotOf(tip) ?? -1));
    try {
      this.store.setItem(this.name, JSON.stringify([...kept, id].slice(-MOST_WAYS)));
    } catch {
      // A full store costs only where End leads.
    }
  }
}
