// @ts-check
// What the map is drawn from besides places: colours, labels, the path, who is where.

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {import("../tree/store.js").TreeStore} TreeStore */

/** @param {TreePage} page @param {TreeStore} store @param {Set<number>} hits @returns {import("./draw.js").Facts} */
export function factsOf(page, store, hits) {
  const colourOf = (/** @type {string} */ id) => page.cast.get(id)?.colour ?? 0;
  const rings = page.here.flatMap(({ participant, node }) => {
    const slot = store.slotOf(node);
    const isOther = participant !== page.settings.me && slot !== null;
    return isOther ? [{ slot, colour: colourOf(participant), name: page.cast.get(participant)?.name ?? "" }] : [];
  });
  return {
    colourOf: (slot) => colourOf(store.authors[slot]),
    isPruned: (slot) => store.isPruned(slot),
    labelOf: (slot) => (store.parents[slot] === null ? "" : page.excerpts.of(store.standing(slot))),
    path: new Set(store.pathTo(page.position)),
    position: store.slotOf(page.position) ?? undefined,
    rings,
    hits,
    marked: new Set(),
  };
}
