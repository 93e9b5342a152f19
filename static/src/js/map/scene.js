// @ts-check
// What the map shows: the visible text slots of the store, hoisted or whole, with their places.

/** @typedef {import("../tree/store.js").TreeStore} TreeStore */
/** @typedef {import("./layout.js").Layout} Layout */

/** The slots on the map in order of creation: text, not below a pruned one; below `hoisted`
 * only. @param {TreeStore} store @param {number | null} hoisted */
export function slotsShown(store, hoisted) {
  const slots = [];
  const state = new Uint8Array(store.ids.length); // 1 shown, 2 shown but what is below is not
  for (let slot = 0; slot < store.ids.length; slot += 1) {
    if (store.slots[slot] !== slot || store.kinds[slot] !== "text") continue;
    const parent = store.parents[slot];
    const isTop = hoisted === null ? parent === null : slot === hoisted;
    if (!isTop && (parent === null || state[parent] !== 1)) continue;
    state[slot] = store.isPruned(slot) ? 2 : 1;
    slots.push(slot);
  }
  return slots;
}

/** The place above each shown slot, for the layout. @param {TreeStore} store @param {number[]} slots */
export function parentsOf(store, slots) {
  const places = new Map(slots.map((slot, place) => [slot, place]));
  return Int32Array.from(slots, (slot) => places.get(store.parents[slot] ?? -1) ?? -1);
}

export class Scene {
  /** @param {number[]} slots @param {Layout} layout */
  constructor(slots, layout) {
    this.slots = slots;
    this.layout = layout;
    this.keptSet = new Set(layout.kept);
    this.places = new Map(slots.map((slot, place) => [slot, place]));
    /** @type {number[]} drawn places by row, then from left to right: for labels and pointing */
    this.ordered = [...layout.kept].sort((one, other) => layout.y[one] - layout.y[other] || layout.x[one] - layout.x[other]);
  }

  /** The drawn place that stands for a slot: itself, or where its run begins. @param {number} slot */
  placeOf(slot) {
    const place = this.places.get(slot);
    if (place === undefined) return undefined;
    return this.isKept(place) ? place : this.layout.up[place];
  }

  /** @param {number} place */
  isKept(place) {
    return this.keptSet.has(place);
  }

  box() {
    const { x, y, kept } = this.layout;
    const box = { x0: 0, x1: 0, y0: 0, y1: 0 };
    kept.forEach((place, at) => {
      box.x0 = at ? Math.min(box.x0, x[place]) : x[place];
      box.x1 = at ? Math.max(box.x1, x[place]) : x[place];
      box.y1 = Math.max(box.y1, y[place]);
    });
    return box;
  }

  /** The slot nearest to a point of the layout, within `reach`. @param {number} px @param {number} py @param {number} rx @param {number} ry */
  near(px, py, rx, ry) {
    let best;
    let least = 1;
    for (const place of this.layout.kept) {
      const dx = (this.layout.x[place] - px) / rx;
      const dy = (this.layout.y[place] - py) / ry;
      const distance = dx * dx + dy * dy;
      if (distance < least) [best, least] = [place, distance];
    }
    return best === undefined ? undefined : this.slots[best];
  }
}
