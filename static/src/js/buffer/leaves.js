// @ts-check
// The nodes of the path with their texts. The text of a node never changes: it is asked for once.

import { cut } from "../editor/runs.js";
import { json, Refused } from "../live/api.js";

/** @typedef {import("../editor/document-state.js").Leaf} Leaf */
/** @typedef {import("../tree/page.js").TreePage} TreePage */

const AT_ONCE = 200;
const MANY = 400;
const EXCLUDED = 2;

export class Leaves {
  /** @param {TreePage} page @param {() => void} changed what of the path is marked is to be drawn again */
  constructor(page, changed) {
    this.page = page;
    this.changed = changed;
    /** @type {Map<string, Leaf>} */
    this.known = new Map();
    /** @type {Map<string, string>} slot → the version this page has just made, until the tree's shape knows it */
    this.made = new Map();
    /** how often the versions above some text, or what of them was read, became others */
    this.news = 0;
    page.events.on("node.added", ({ payload: { node } }) => node.slot !== node.id && this.reworded(node.slot));
    for (const kind of ["mark.added", "mark.removed"]) page.events.on(kind, ({ payload: { mark } }) => mark.kind === "read" && this.forgetWordings(mark.item));
  }

  /** The nodes from the first text to one node, with their texts. @param {string} id @returns {Promise<Leaf[]>} */
  async path(id) {
    const ids = this.ids(id);
    if (!ids) return this.take(await this.ask(`node=${id}`));
    // A long path comes in one answer. Where this page has chosen other versions than were stored
    // meanwhile, those are asked for by their ids.
    if (this.missing(ids).length > MANY) this.take(await this.ask(`node=${id}`));
    const missing = this.missing(ids);
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      this.take(await this.ask(`ids=${missing.slice(at, at + AT_ONCE).join(",")}`));
    }
    await this.askWordings(ids);
    return ids.flatMap((leafId, at) => this.leaf(leafId, ids[at - 1]) ?? []);
  }

  /** Asks below which versions those texts were written that have several above them.
   * @param {string[]} ids */
  async askWordings(ids) {
    const { store } = this.page;
    const unknown = ids.filter((id) => {
      const above = store?.parents[store.slotOf(id) ?? -1];
      return above !== null && above !== undefined && store && store.versionsOf(above).length > 1 && this.known.get(id)?.wordings === undefined;
    });
    for (let at = 0; at < unknown.length; at += AT_ONCE) {
      const before = this.news;
      try {
        const told = await this.ask(`ids=${unknown.slice(at, at + AT_ONCE).join(",")}`);
        // What has changed meanwhile is asked for again.
        if (before === this.news) this.take(told);
      } catch (error) {
        // The text is shown without marks.
        if (!(error instanceof Refused)) throw error;
        return;
      }
    }
  }

  /** A slot has another version: what follows it may have been written after an older one.
   * @param {string} slot its first version */
  reworded(slot) {
    const { store } = this.page;
    for (const below of store?.below.get(store.slotOf(slot) ?? -1) ?? []) {
      for (const version of store?.versionsOf(below) ?? []) this.forgetWordings(store?.ids[version] ?? "");
    }
  }

  /** @param {string} id */
  forgetWordings(id) {
    this.news += 1;
    delete this.known.get(id)?.wordings;
    this.changed();
  }

  /** @param {string[]} ids */
  missing(ids) {
    return ids.filter((id) => !this.known.has(id));
  }

  /** @param {string} query @returns {Promise<Leaf[]>} */
  async ask(query) {
    return leavesIn(await json(`${this.page.web}/buffer?${query}`));
  }

  /** @param {Leaf[]} leaves */
  take(leaves) {
    for (const leaf of leaves) this.known.set(leaf.id, leaf);
    return leaves;
  }

  /** The ids of the path, by the shape of the tree; null while that is not known. @param {string} id */
  ids(id) {
    const { store } = this.page;
    if (!store || store.slotOf(id) === null) return null;
    const path = store.pathTo(id).slice(1);
    return path.map((slot, at) => (at === path.length - 1 ? id : this.selected(store.ids[slot], store.selected(slot))));
  }

  /** @param {string} slot @param {string} told */
  selected(slot, told) {
    const id = this.made.get(slot);
    if (id === undefined) return told;
    if (this.page.store?.places.has(id)) {
      this.made.delete(slot);
      return told;
    }
    return id;
  }

  /** @param {string} id @param {string} [above] the version above it on the path; none: the root @returns {Leaf | undefined} */
  leaf(id, above) {
    const leaf = this.known.get(id);
    const { store } = this.page;
    const slot = store?.slotOf(id);
    if (!leaf || !store || slot === null || slot === undefined) return leaf;
    const parent = store.parents[slot];
    const fork = parent !== null && store.childrenOf(parent).length > 1;
    const over = above ?? store.selected(parent ?? 0);
    return { ...leaf, fork, older: leaf.wordings?.includes(over) === false, excluded: (store.flags[slot] & EXCLUDED) !== 0, pruned: store.isPruned(slot), noted: store.isNoted(slot) };
  }

  /** A version that this page has made is selected from now on. @param {Leaf} leaf */
  add(leaf) {
    this.known.set(leaf.id, leaf);
    this.made.set(leaf.slot, leaf.id);
    this.page.store?.choices.set(leaf.slot, leaf.id);
  }
}

/** The nodes of an answer, which has them in columns. What is empty there is left out of them.
 * @param {{ids: string[], texts: string[], people: string[], by: (number | [number, number][])[], slots: Record<number, string>, at: Record<number, string>, excluded: number[], asks?: number[], wordings?: Record<number, string[] | null>}} answer
 * @returns {Leaf[]} */
export function leavesIn({ ids, texts, people, by, slots, at, excluded, asks = [], wordings }) {
  const leaves = ids.map((id, place) => {
    const who = by[place];
    const runs = typeof who === "number" ? (texts[place] ? [[people[who], texts[place].length]] : []) : who.map(([person, length]) => [people[person], length]);
    return /** @type {Leaf} */ ({ id, slot: id, text: texts[place], by: runs });
  });
  for (const place of excluded) leaves[place].excluded = true;
  for (const place of asks) leaves[place].ask = true;
  for (const [name, column] of Object.entries({ slot: slots, at, wordings: wordings ?? {} })) {
    for (const [place, value] of Object.entries(column)) Object.assign(leaves[Number(place)], { [name]: value });
  }
  return leaves;
}

/** Whose each character of a node is, as it is painted; all `me`'s where it was typed on since.
 * @param {import("../editor/open.js").BufferEditor} editor @param {number} place @param {string} text @param {string} me
 * @returns {[string, number][]} */
export function paintedBy(editor, place, text, me) {
  const { from, text: now } = editor.stretch(place);
  if (now !== text) return [[me, text.length]];
  return cut(editor.book.pieces, from, from + text.length).map(({ who, length }) => [who, length]);
}
