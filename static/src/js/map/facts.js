// @ts-check
// What the map is drawn from besides places: colours, labels, the path, who is where.

import { slotsOf } from "../tree/filter.js";

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {import("../tree/store.js").TreeStore} TreeStore */
/** @typedef {import("./scene.js").Scene} Scene */

/** What changes with where the reader stands, or with the tree, and not with each frame.
 * @typedef {{path: number[], hits: Set<number>, marked: Set<number>, matches: import("./scene.js").Rows | null, isMatch: (slot: number) => boolean}} Kept */

/** @param {TreePage} page @param {TreeStore} store @param {Kept} kept @returns {import("./draw.js").Facts} */
export function factsOf(page, store, kept) {
  const colourOf = (/** @type {string} */ id) => page.cast.get(id)?.colour ?? 0;
  const rings = page.here.flatMap(({ participant, node }) => {
    const slot = store.slotOf(node);
    const isOther = participant !== page.settings.me && slot !== null;
    return isOther ? [{ slot, colour: colourOf(participant), name: page.cast.get(participant)?.name ?? "" }] : [];
  });
  return {
    ...kept,
    colourOf: (slot) => colourOf(store.authors[slot]),
    isPruned: (slot) => store.isPruned(slot),
    labelOf: (slot) => (store.parents[slot] === null ? "" : page.excerpts.of(store.standing(slot))),
    position: store.slotOf(page.position) ?? undefined,
    rings,
  };
}

/** What is bookmarked, and what the filter lets through. A match in a folded run is where the run begins.
 * @param {TreePage} page @param {TreeStore} store @param {Scene} scene @returns {Omit<Kept, "path" | "hits">} */
export function sifted(page, store, scene) {
  const found = page.filter.sieve(store, page.marks)?.matches;
  const places = found && new Set([...found].map((slot) => scene.placeOf(slot)));
  return {
    marked: slotsOf(store, page.marks.items("bookmark")),
    matches: places ? scene.rows.only((place) => places.has(place)) : null,
    isMatch: (slot) => !found || found.has(slot),
  };
}

/** The drawn places from the top of the map to a slot: the place of each row.
 * @param {Scene} scene @param {number | null | undefined} slot */
export function pathIn(scene, slot) {
  const path = [];
  let place = slot === null || slot === undefined ? -1 : (scene.placeOf(slot) ?? -1);
  while (place >= 0) {
    path.push(place);
    place = scene.layout.up[place];
  }
  return path.reverse();
}
