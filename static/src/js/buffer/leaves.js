// @ts-check
// The nodes of the path with their texts. The text of a node never changes: it is asked for once.

import { cut } from "../editor/runs.js";
import { json } from "../live/api.js";

/** @typedef {import("../editor/document-state.js").Leaf} Leaf */
/** @typedef {import("../tree/page.js").TreePage} TreePage */

const AT_ONCE = 200;
const EXCLUDED = 2;

export class Leaves {
  /** @param {TreePage} page */
  constructor(page) {
    this.page = page;
    /** @type {Map<string, Leaf>} */
    this.known = new Map();
    /** @type {Map<string, string>} slot → the version this page has just made, until the tree's shape knows it */
    this.made = new Map();
  }

  /** The nodes from the first text to one node, with their texts. @param {string} id @returns {Promise<Leaf[]>} */
  async path(id) {
    const ids = this.ids(id);
    if (!ids) return this.take(await this.ask(`node=${id}`));
    const missing = ids.filter((one) => !this.known.has(one));
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      this.take(await this.ask(`ids=${missing.slice(at, at + AT_ONCE).join(",")}`));
    }
    return ids.flatMap((one) => this.leaf(one) ?? []);
  }

  /** @param {string} query @returns {Promise<Leaf[]>} */
  async ask(query) {
    return (await json(`${this.page.web}/buffer?${query}`)).nodes;
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
    return path.map((slot, at) => (at === path.length - 1 ? id : this.standing(store.ids[slot], store.standing(slot))));
  }

  /** @param {string} slot @param {string} told */
  standing(slot, told) {
    const made = this.made.get(slot);
    if (made === undefined) return told;
    if (this.page.store?.places.has(made)) {
      this.made.delete(slot);
      return told;
    }
    return made;
  }

  /** @param {string} id @returns {Leaf | undefined} */
  leaf(id) {
    const leaf = this.known.get(id);
    const { store } = this.page;
    const slot = store?.slotOf(id);
    if (!leaf || !store || slot === null || slot === undefined) return leaf;
    const parent = store.parents[slot];
    const fork = parent !== null && store.childrenOf(parent).length > 1;
    return { ...leaf, fork, excluded: (store.flags[slot] & EXCLUDED) !== 0, pruned: store.isPruned(slot), noted: store.isNoted(slot) };
  }

  /** A version this page has made stands from now on. @param {Leaf} leaf */
  add(leaf) {
    this.known.set(leaf.id, leaf);
    this.made.set(leaf.slot, leaf.id);
    this.page.store?.choices.set(leaf.slot, leaf.id);
  }
}

/** Whose each character of a node is, as it is painted; all `me`'s where it was typed on since.
 * @param {import("../editor/open.js").BufferEditor} editor @param {number} place @param {string} text @param {string} me
 * @returns {[string, number][]} */
export function paintedBy(editor, place, text, me) {
  const { from, text: now } = editor.stretch(place);
  if (now !== text) return [[me, text.length]];
  return cut(editor.book.pieces, from, from + text.length).map(({ who, length }) => [who, length]);
}
