// @ts-check
// Where the moving keys lead, by what is known of the tree's shape; End by its main line.

import { endOfMainLine } from "./main-line.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {import("./store.js").TreeStore} TreeStore */

/** The slot that a move leads to from a slot; undefined: it stays.
 * @type {Record<string, (store: TreeStore, slot: number) => number | undefined>} */
export const MOVES = {
  parent: (store, slot) => store.parents[slot] ?? undefined,
  child: (store, slot) => store.onward(slot),
  "sibling-before": (store, slot) => store.sibling(slot, -1),
  "sibling-after": (store, slot) => store.sibling(slot, 1),
  root: (store, slot) => store.pathTo(store.ids[slot])[0],
  leaf: (store, slot) => store.leafBelow(slot),
  walk: (store, slot) => {
    const below = store.childrenOf(slot);
    return below.length ? below[Math.floor(Math.random() * below.length)] : store.pathTo(store.ids[slot])[0];
  },
};

/** Moves now, or as soon as the shape of the tree is known. @param {string} name */
export function moveBy(name) {
  return (/** @type {TreePage} */ page) => {
    if (page.store) go(page, name);
    else page.addEventListener("store", () => go(page, name), { once: true });
    return true;
  };
}

/** @param {TreePage} page @param {string} name */
async function go(page, name) {
  const slot = page.store?.slotOf(page.position);
  if (!page.store || slot === null || slot === undefined) return;
  const end = name === "leaf" ? await endOfMainLine(page, slot) : "";
  if (end) return page.go(end, { isSpoken: true });
  const target = MOVES[name](page.store, slot);
  if (target !== undefined) page.go(page.store.selected(target), { isSpoken: true });
}
