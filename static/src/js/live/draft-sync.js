// @ts-check
// What a person has typed and not yet made a node of: kept here at once, on the server soon
// after, and never overwritten by another tab without a word.

import { Refused } from "./api.js";
import { behind, nameOf, placeOf, Shelf, whole } from "./draft-storage.js";

const SOON_MS = 100; // from a key to the request that keeps it
const AGAIN_MS = 3000;

/** @typedef {import("./draft-storage.js").Place} Place */
/** @typedef {import("./draft-storage.js").Carried} Carried */
/** @typedef {import("./draft-storage.js").Entry} Entry */
/**
 * @typedef {{slot: string, kind: import("./draft-storage.js").Kind, text: string, at: string | null}} Kept
 * @typedef {{list: () => Promise<{results: Kept[]}>, keep: (place: Place, text: string, seen: string) => Promise<Kept>}} Server
 */

/**
 * Emits `draft` (detail Place: its text is now another one), `contested` (detail {slot, kind,
 * mine, theirs}), `saved` (detail: whether all is on the server).
 */
export class Drafts extends EventTarget {
  /** @param {Server} server @param {{store?: Storage | null, name?: string, inHand?: Place[], mayKeep?: (place: Place) => boolean}} [options] inHand: places
   * whose text is still on its way as a line; mayKeep: whether the server keeps what is typed at a place */
  constructor(server, { store = null, name = "", inHand = [], mayKeep = () => true } = {}) {
    super();
    this.server = server;
    this.mayKeep = mayKeep;
    this.shelf = new Shelf(store, name);
    this.entries = /** @type {Map<string, Entry>} */ (new Map());
    /** @type {Map<string, {text: string, at: string}>} what another tab has, while it is undecided */
    this.theirs = new Map();
    /** @type {Set<string>} where this tab has typed what the server does not know */
    this.typed = new Set();
    /** @type {Set<string>} whose text the server does not take, as the writer may no longer write */
    this.refused = new Set();
    /** @type {Map<string, string>} the texts that became nodes last: the server has ended the drafts of them */
    this.nodes = new Map();
    /** @type {Map<string, string>} the texts that are on their way as drafts */
    this.flying = new Map();
    this.timers = /** @type {Map<string, any>} */ (new Map());
    this.inHand = new Set(inHand.map(nameOf));
  }

  /** What was typed at a place and is not on its way. @param {Place} place */
  of(place) {
    return this.entry(nameOf(place)).text;
  }

  /** Whether the edit at a place is the empty wording: its passage is cut out. @param {Place} place */
  isCut(place) {
    return this.entry(nameOf(place)).cut === "typed";
  }

  /** Whether a line with a text of a place is on its way. @param {Place} place */
  isInHand(place) {
    return this.inHand.has(nameOf(place));
  }

  /** The slots where something of a kind was typed and is not on its way.
   * @param {import("./draft-storage.js").Kind} kind @returns {Set<string>} */
  slots(kind) {
    const places = [...new Set([...this.entries.keys(), ...this.shelf.names()])].map(placeOf);
    return new Set(places.filter((place) => place.kind === kind && (this.of(place) || this.isCut(place))).map(({ slot }) => slot));
  }

  /** All that was typed and is not on its way. @returns {[string, string][]} name of the place, text */
  all() {
    const names = [...new Set([...this.entries.keys(), ...this.shelf.names()])];
    return names.flatMap((name) => (this.entry(name).text ? [/** @type {[string, string]} */ ([name, this.entry(name).text])] : []));
  }

  /** Gives up what was typed at a place, and says so to whoever shows it. @param {Place} place */
  discard(place) {
    this.write(place, "");
    this.tell("draft", place);
  }

  /** @param {string} name @returns {Entry} */
  entry(name) {
    const kept = this.entries.get(name) ?? this.shelf.read(name);
    if (!this.inHand.has(name)) {
      if (kept.cut === "sent") kept.cut = kept.text ? undefined : "typed";
      if (kept.held) Object.assign(kept, { text: kept.cut ? "" : behind(name, kept.held, kept.text), held: "" });
    }
    this.entries.set(name, kept);
    return kept;
  }

  /** Keeps what was typed; an empty text ends the draft.
   * @param {Place} place @param {string} text @param {string} [over] when the version was stored that it is typed over */
  write(place, text, over) {
    const entry = this.entry(nameOf(place));
    if (entry.text === text && entry.cut !== "typed") return;
    const since = entry.text || entry.held || entry.cut ? entry.over : over;
    const cut = entry.cut === "typed" ? undefined : entry.cut;
    this.shelf.put(nameOf(place), Object.assign(entry, { text, cut, over: text ? since : undefined }));
    this.soon(place);
  }

  /** Keeps that a passage was cut out: the edit is the empty wording. @param {Place} place @param {string} [over] as in `write` */
  cut(place, over) {
    const entry = this.entry(nameOf(place));
    if (entry.cut === "typed") return;
    const since = entry.text || entry.held || entry.cut ? entry.over : over;
    this.shelf.put(nameOf(place), Object.assign(entry, { text: "", cut: "typed", over: since }));
    this.soon(place);
  }

  /** The text goes out as a line: it stays kept until that is answered. Others of this place may be
   * on their way before it. @param {Carried} place of an edit with the text that goes out: another may be typed by now
   * @returns {Carried} the place with this text */
  hold({ text: sent, ...place }) {
    const name = nameOf(place);
    const entry = this.entry(name);
    const isEdit = place.kind === "edit";
    const text = isEdit ? (sent ?? entry.text) : entry.text;
    const isCutSent = isEdit && !text && !entry.text;
    if (entry.cut && (isCutSent || entry.cut === "sent")) entry.cut = isCutSent ? "sent" : undefined;
    Object.assign(entry, { held: isEdit ? text : entry.held + text, text: entry.text === text ? "" : entry.text });
    this.inHand.add(name);
    this.shelf.put(name, entry);
    return { ...place, text };
  }

  /** The first line that a place has on its way was answered; a refused text comes back before what
   * was typed since. @param {Carried} place with the text of the line, if that is known @param {boolean} isNode */
  release({ text: carried, slot, kind }, isNode) {
    const place = { slot, kind };
    const name = nameOf(place);
    const entry = this.entry(name);
    // A later edit of the place is on its way.
    if (kind === "edit" && carried !== undefined && carried !== entry.held) return;
    const gone = carried && entry.held.startsWith(carried) ? carried : entry.held;
    const held = entry.held.slice(gone.length);
    if (!held) this.inHand.delete(name);
    if (entry.cut === "sent") entry.cut = isNode || entry.text ? undefined : "typed";
    const isKept = held || entry.cut === "typed";
    if (isNode) this.nodes.set(name, gone);
    if (isNode) Object.assign(entry, { held, over: isKept ? entry.over : undefined });
    else Object.assign(entry, { held, text: entry.cut === "typed" ? "" : behind(name, gone, entry.text) });
    this.shelf.put(name, entry);
    this.soon(place);
    if (!isNode) this.tell("draft", place);
  }

  /** @param {Place} place @param {number} [wait] */
  soon(place, wait = SOON_MS) {
    const name = nameOf(place);
    this.typed.add(name);
    this.tell("saved", false);
    if (this.timers.has(name) || this.flying.has(name) || this.theirs.has(name) || !this.mayKeep(place)) return;
    this.timers.set(name, setTimeout(() => this.send(place), wait));
  }

  /** Sends what waits, now; settled once it was tried. @param {Place} place */
  async flush(place) {
    if (this.timers.has(nameOf(place))) await this.send(place);
  }

  flushAll() {
    return Promise.all([...this.timers.keys()].map((name) => this.send(placeOf(name))));
  }

  /** @param {Place} place */
  async send(place) {
    const name = nameOf(place);
    clearTimeout(this.timers.get(name));
    this.timers.delete(name);
    const entry = this.entry(name);
    const text = whole(name, entry);
    if (text === entry.agreed) {
      this.refused.delete(name);
      if (!this.flying.has(name)) this.typed.delete(name); // others are heard again
    }
    if (text === entry.agreed || this.flying.has(name)) return this.tell("saved", this.isQuiet());
    this.flying.set(name, text);
    let again = 0;
    try {
      const kept = await this.server.keep(place, text, entry.at);
      this.agree(name, entry, text, kept.at ?? "");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      again = await this.missed(place, error);
    } finally {
      this.flying.delete(name);
    }
    if (again >= 0 && whole(name, entry) !== entry.agreed) this.soon(place, again || SOON_MS);
    this.tell("saved", this.isQuiet());
  }

  /** The server has this text. @param {string} name @param {Entry} entry @param {string} text @param {string} at */
  agree(name, entry, text, at) {
    Object.assign(entry, { agreed: text, at });
    this.refused.delete(name);
    if (whole(name, entry) === text) this.typed.delete(name);
    this.shelf.put(name, entry);
  }

  /** Why a text was not kept; after how long to try again, -1 for not. @param {Place} place @param {Refused} error */
  async missed(place, error) {
    if (error.status === 409) {
      await this.load().catch(() => undefined);
      return this.theirs.has(nameOf(place)) ? -1 : SOON_MS;
    }
    if (!error.mayPass) {
      this.refused.add(nameOf(place));
      this.tell("refused", error);
    }
    return error.mayPass ? AGAIN_MS : -1;
  }

  /** What the server has, of all places: the truth after a start or a quarrel. */
  async load() {
    const states = new Map([...this.entries.keys(), ...this.shelf.names()].map((name) => [name, this.entry(name).at]));
    const { results } = await this.server.list();
    const byName = new Map(results.map((result) => [nameOf(result), result]));
    for (const name of new Set([...this.entries.keys(), ...this.shelf.names(), ...byName.keys()])) {
      // What was kept since the list was asked for is newer than the list.
      const isOlder = (states.get(name) ?? "") !== this.entry(name).at;
      if (!isOlder) this.meet(name, byName.get(name));
    }
  }

  /** The server's state of one draft meets ours. @param {string} name @param {Kept | undefined} kept */
  meet(name, kept) {
    const place = placeOf(name);
    const entry = this.entry(name);
    const text = kept?.text ?? "";
    const at = kept?.at ?? "";
    const mine = whole(name, entry);
    // The answer to what is on its way from here may come later than word of it.
    const isNode = !text && [entry.held, this.nodes.get(name)].includes(entry.agreed);
    const isOwn = isNode || text === this.flying.get(name);
    if (text === mine || text === entry.agreed || isOwn) this.agree(name, entry, text, at);
    else if (mine === entry.agreed && !entry.cut) {
      Object.assign(entry, { text, held: "" });
      this.agree(name, entry, text, at);
      return this.tell("draft", place);
    } else {
      // Two texts, and nobody but the writer can say which.
      this.theirs.set(name, { text, at });
      return this.tell("contested", { ...place, mine, theirs: text });
    }
    if (mine !== entry.agreed) this.soon(place);
  }

  /** The writer has said which of two texts stays. @param {Place} place @param {"mine" | "theirs"} which */
  decide(place, which) {
    const name = nameOf(place);
    const theirs = this.theirs.get(name);
    if (!theirs) return;
    const entry = this.entry(name);
    this.theirs.delete(name);
    if (which === "theirs") Object.assign(entry, { text: theirs.text, held: "", cut: undefined });
    this.agree(name, entry, theirs.text, theirs.at);
    which === "theirs" ? this.tell("draft", place) : this.soon(place);
  }

  /** Another tab of this browser has written; what it knew less of the server is its own affair.
   * @param {StorageEvent} event */
  heard({ key, newValue }) {
    const name = this.shelf.nameIn(key ?? "");
    if (!name || this.typed.has(name) || this.theirs.has(name)) return;
    const entry = this.entry(name);
    const now = this.shelf.parse(newValue);
    if (newValue !== null && now.at < entry.at) return;
    const isNews = now.text !== entry.text || now.cut !== entry.cut;
    Object.assign(entry, { cut: undefined }, now);
    if (isNews) this.tell("draft", placeOf(name));
  }

  /** Whether the server has all that was typed. */
  isQuiet() {
    return ![...this.entries].some(([name, entry]) => whole(name, entry) !== entry.agreed);
  }

  /** Whether the server has what was typed at a place. @param {Place} place */
  isKept(place) {
    const name = nameOf(place);
    const entry = this.entry(name);
    return whole(name, entry) === entry.agreed;
  }

  /** Whether the server has refused it for good: it is in this browser alone. @param {Place} place */
  isRefused(place) {
    return this.refused.has(nameOf(place));
  }

  tell(/** @type {string} */ name, /** @type {unknown} */ detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
