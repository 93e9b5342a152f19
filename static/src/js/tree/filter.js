// @ts-check
// What map and outline show out of all there is: by author, tag, bookmark, or what is pruned.

import { sieve } from "./outline.js";

/** @typedef {import("./outline.js").Sieve} Sieve */
/** @typedef {import("./store.js").TreeStore} TreeStore */
/** @typedef {import("./node-facts.js").Marks} Marks */
/** @typedef {{author: string, tag: string, bookmarked: boolean, pruned: boolean}} Wish "" and false: any */

/** Emits `filter` when it has changed. */
export class Filter extends EventTarget {
  /** @type {unknown[] | undefined} */
  asked;
  /** @type {Sieve | undefined} */
  found;
  /** @type {Wish} */
  wish = { author: "", tag: "", bookmarked: false, pruned: false };

  get isOn() {
    const { author, tag, bookmarked, pruned } = this.wish;
    return Boolean(author || tag || bookmarked || pruned);
  }

  /** @param {Partial<Wish>} wish */
  set(wish) {
    this.wish = { ...this.wish, ...wish };
    this.dispatchEvent(new Event("filter"));
  }

  clear() {
    this.set({ author: "", tag: "", bookmarked: false, pruned: false });
  }

  /** What is let through; null while nothing is chosen. Reckoned once for all who ask.
   * @param {TreeStore} store @param {Marks} marks @returns {Sieve | null} */
  sieve(store, marks) {
    if (!this.isOn) return null;
    const asked = [store, store.changes, marks.heard, this.wish];
    if (!this.asked?.every((value, at) => value === asked[at])) {
      this.asked = asked;
      this.found = sieve(store, this.test(store, marks));
    }
    return this.found ?? null;
  }

  /** Whether a text slot is let through, as a question to ask of many.
   * @param {TreeStore} store @param {Marks} marks @returns {(slot: number) => boolean} */
  test(store, marks) {
    const { author, tag, bookmarked, pruned } = this.wish;
    const tagged = tag ? slotsOf(store, marks.items("tag", tag)) : null;
    const starred = bookmarked ? slotsOf(store, marks.items("bookmark")) : null;
    return (slot) =>
      (!pruned || store.isPruned(slot)) &&
      (!tagged || tagged.has(slot)) &&
      (!starred || starred.has(slot)) &&
      (!author || store.versionsOf(slot).some((place) => store.authors[place] === author));
  }
}

/** @param {TreeStore} store @param {Iterable<string>} ids */
export function slotsOf(store, ids) {
  const slots = new Set();
  for (const id of ids) slots.add(store.slotOf(id) ?? -1);
  slots.delete(-1);
  return slots;
}
