// @ts-check
// The tree as it was: the same columns, fewer of them, with the flags of that time.

import { TreeStore } from "./store.js";

/** @typedef {{seq: number, head: number, floor: number, at: string, by: string, words: string, node: string, last: string, flags: [string, string, boolean][], ticks?: [string, number][]}} Moment */

/** What was known of the tree at a moment. Nodes are in order of creation, so it is a
 * beginning of what is known now. @param {TreeStore} store @param {Moment} moment */
export function storeAt(store, { seq, last, flags }) {
  const count = (store.places.get(last) ?? store.ids.length - 1) + 1;
  const people = [...new Set(store.authors)];
  const places = new Map(people.map((id, place) => [id, place]));
  const was = new TreeStore(
    {
      seq,
      ids: store.ids.slice(0, count),
      parents: store.parents.slice(0, count),
      slots: store.slots.slice(0, count),
      kinds: store.kinds.slice(0, count),
      authors: store.authors.slice(0, count).map((id) => places.get(id) ?? 0),
      participants: people.map((id) => ({ id })),
      flags: store.flags.slice(0, count),
      lengths: store.lengths.slice(0, count),
      orders: store.orders().map(([parent, children]) => [parent, children.filter((child) => child < count)]),
    },
    Object.fromEntries([...store.choices].filter(([, id]) => (store.places.get(id) ?? count) < count)),
  );
  for (const [node, flag, value] of flags) was.flag({ node, flag, value });
  return was;
}

/** The nearest node above that was there: itself, if it was. @param {TreeStore} now @param {TreeStore} was @param {string} id */
export function nearest(now, was, id) {
  for (const slot of now.pathTo(id).reverse()) {
    if (slot < was.ids.length) return was.selected(slot);
  }
  return was.ids[0];
}
