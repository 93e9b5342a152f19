// @ts-check
// The skeleton of a big tree comes in tiles, which do not change once they are full: here they become one.

/** @typedef {import("./store.js").Skeleton} Skeleton */
/** @typedef {{seq: number, tiles: number, flags: [number, number][]}} Head what changes; `flags` by ordinal */
/** @typedef {{first: number, ids: string, ups: string, authors: string, lengths: string, participants: {id: string}[],
 *   slots: [number, number][], kinds: [number, string][], places: [number, number][], wholes: [number, number][], ordinals?: number[]}} Tile */

const VERSION_PRUNED = 8;
const PLACE = 2 ** 20; // of an ordinal, where nothing else is said

/** @param {Head} head @param {Tile[]} tiles @returns {Skeleton} */
export function joined(head, tiles) {
  /** @type {Map<string, number>} */
  const known = new Map();
  /** @type {Skeleton} */
  const all = { seq: head.seq, ids: [], parents: [], slots: [], kinds: [], authors: [], participants: [], flags: [], lengths: [] };
  /** @type {number[]} */
  const ordinals = [];
  /** @type {number[]} */
  const placeOf = [];
  for (const tile of tiles) {
    if (!tile.ids) continue;
    const authors = tile.participants.map((one) => {
      const at = known.get(one.id) ?? known.size;
      if (at === known.size) all.participants.push(one);
      known.set(one.id, at);
      return at;
    });
    const columns = [tile.ups, tile.authors, tile.lengths].map((column) => column.split(","));
    tile.ids.split(",").forEach((id, at) => {
      const ordinal = tile.ordinals?.[at] ?? tile.first + at;
      const place = all.ids.push(id) - 1;
      placeOf[ordinal] = place;
      ordinals.push(ordinal);
      const up = Number(columns[0][at]);
      all.parents.push(up ? placeOf[ordinal - up] : null);
      all.authors.push(authors[Number(columns[1][at])]);
      all.lengths.push(Number(columns[2][at]));
      all.slots.push(place);
      all.kinds.push("text");
      all.flags.push(0);
    });
    for (const [ordinal, kind] of tile.kinds) all.kinds[placeOf[ordinal]] = kind;
    for (const [ordinal, slot] of tile.slots) all.slots[placeOf[ordinal]] = placeOf[slot];
  }
  for (const [ordinal, bits] of head.flags) if (placeOf[ordinal] !== undefined) all.flags[placeOf[ordinal]] = bits;
  all.slots.forEach((slot, place) => {
    if (slot !== place) all.flags[place] |= all.flags[slot] & ~VERSION_PRUNED;
  });
  const said = tiles.flatMap((tile) => tile.places ?? []).map(([ordinal, place]) => /** @type {[number, number]} */ ([placeOf[ordinal], place]));
  all.orders = ordersOf(all, ordinals, new Map(said));
  const wholes = new Map(tiles.flatMap((tile) => tile.wholes ?? []).map(([ordinal, whole]) => [placeOf[ordinal], placeOf[whole]]));
  all.rests = [...wholes].filter(([place, whole]) => whole !== undefined && wholes.get(all.parents[place] ?? -1) === whole);
  return all;
}

/** The continuations of each slot that are in another order than that of creation. @param {Skeleton} all
 * @param {number[]} ordinals by place @param {Map<number, number>} said the place among its siblings, by place */
function ordersOf(all, ordinals, said) {
  /** @type {Map<number, number[]>} */
  const below = new Map();
  for (const place of said.keys()) if (all.parents[place] !== null) below.set(/** @type {number} */ (all.parents[place]), []);
  if (!below.size) return [];
  all.parents.forEach((parent, place) => {
    if (parent !== null && all.slots[place] === place && all.kinds[place] === "text") below.get(parent)?.push(place);
  });
  const order = (/** @type {number} */ place) => said.get(place) ?? ordinals[place] * PLACE;
  for (const children of below.values()) children.sort((a, b) => order(a) - order(b) || a - b);
  return [...below].filter(([, children]) => children.some((one, at) => at && one < children[at - 1]));
}
