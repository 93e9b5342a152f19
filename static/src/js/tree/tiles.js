// @ts-check
// The skeleton of a big tree comes in tiles, which do not change once they are full: here they become one.

/** @typedef {import("./store.js").Skeleton} Skeleton */
/** @typedef {{seq: number, tiles: number, flags: [number, number][], tile?: Tile}} Head what changes; `flags` by ordinal; `tile`: the only one */
/** @typedef {{first: number, ids: string, ups: string, authors: string, lengths: string, participants: {id: string}[],
 *   slots: [number, number][], kinds: [number, string][], places: [number, number][], wholes: [number, number][], ordinals?: number[]}} Tile */

const VERSION_PRUNED = 8;
const PLACE = 2 ** 20; // of an ordinal, where nothing else is said

/** The tiles as they come, one after the other: all of them at once held the page up for seconds. */
export class Joining {
  /** @param {Head} head */
  constructor(head) {
    this.head = head;
    /** @type {Map<string, number>} */
    this.known = new Map();
    /** @type {Skeleton} */
    this.all = { seq: head.seq, ids: [], parents: [], slots: [], kinds: [], authors: [], participants: [], flags: [], lengths: [] };
    /** @type {number[]} */
    this.ordinals = [];
    /** @type {number[]} */
    this.placeOf = [];
    /** @type {Map<number, number>} */
    this.said = new Map();
    /** @type {Map<number, number>} */
    this.wholes = new Map();
  }

  /** @param {Tile} tile */
  add(tile) {
    const { all, known, ordinals, placeOf } = this;
    const authors = tile.participants.map((participant) => {
      const at = known.get(participant.id) ?? known.size;
      if (at === known.size) all.participants.push(participant);
      known.set(participant.id, at);
      return at;
    });
    const [ups, by, lengths] = [tile.ups, tile.authors, tile.lengths].map((column) => column.split(","));
    tile.ids.split(",").forEach((id, at) => {
      const ordinal = tile.ordinals?.[at] ?? tile.first + at;
      const place = all.ids.push(id) - 1;
      while (placeOf.length < ordinal) placeOf.push(-1); // without holes, which make a list slow
      placeOf[ordinal] = place;
      ordinals.push(ordinal);
      const up = Number(ups[at]);
      all.parents.push(up ? placeOf[ordinal - up] : null);
      all.authors.push(authors[Number(by[at])]);
      all.lengths.push(Number(lengths[at]));
      all.slots.push(place);
      all.kinds.push("text");
      all.flags.push(0);
    });
    for (const [ordinal, kind] of tile.kinds) all.kinds[placeOf[ordinal]] = kind;
    for (const [ordinal, slot] of tile.slots) all.slots[placeOf[ordinal]] = placeOf[slot];
    for (const [ordinal, place] of tile.places) this.said.set(placeOf[ordinal], place);
    for (const [ordinal, whole] of tile.wholes) this.wholes.set(placeOf[ordinal], placeOf[whole] ?? -1);
  }

  /** @returns {Skeleton} */
  end() {
    const { all, head, placeOf, wholes } = this;
    for (const [ordinal, bits] of head.flags) if ((placeOf[ordinal] ?? -1) >= 0) all.flags[placeOf[ordinal]] = bits;
    all.slots.forEach((slot, place) => {
      if (slot !== place) all.flags[place] |= all.flags[slot] & ~VERSION_PRUNED;
    });
    all.orders = ordersOf(all, this.ordinals, this.said);
    // Both halves of a split are as long as what was split. An edit that became a branch has two halves as well.
    const { parents, lengths } = all;
    all.rests = [...wholes].filter(([place, whole]) => {
      const above = parents[place] ?? -1;
      return whole >= 0 && wholes.get(above) === whole && lengths[above] + lengths[place] === lengths[whole];
    });
    return all;
  }
}

/** @param {Head} head @param {Tile[]} tiles */
export function joined(head, tiles) {
  const joining = new Joining(head);
  for (const tile of tiles) joining.add(tile);
  return joining.end();
}

/** Takes each tile when it has come, and lets the page do something else in between.
 * @param {Head} head @param {Promise<Tile>[]} tiles */
export async function joinedSoon(head, tiles) {
  const joining = new Joining(head);
  for (const tile of tiles) {
    joining.add(await tile);
    await new Promise((done) => setTimeout(done));
  }
  return joining.end();
}

/** The continuations of each slot that are in another order than that of creation. @param {Skeleton} all
 * @param {number[]} ordinals by place @param {Map<number, number>} placed the place among its siblings, by place */
function ordersOf(all, ordinals, placed) {
  /** @type {Map<number, number[]>} */
  const below = new Map();
  for (const place of placed.keys()) if (all.parents[place] !== null) below.set(/** @type {number} */ (all.parents[place]), []);
  if (!below.size) return [];
  all.parents.forEach((parent, place) => {
    if (parent !== null && all.slots[place] === place && all.kinds[place] === "text") below.get(parent)?.push(place);
  });
  const order = (/** @type {number} */ place) => placed.get(place) ?? ordinals[place] * PLACE;
  for (const children of below.values()) children.sort((a, b) => order(a) - order(b) || a - b);
  return [...below].filter(([, children]) => children.some((child, at) => at && child < children[at - 1]));
}
