// @ts-check
// What the map shows: the visible text slots of the store, hoisted or whole, with their places.

import { slotsOf } from "../tree/filter.js";

/** @typedef {import("../tree/store.js").TreeStore} TreeStore */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {{x0: number, x1: number, y0: number, y1: number}} Box */

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
  const places = placesOf(slots);
  return Int32Array.from(slots, (slot) => places[store.parents[slot] ?? -1] ?? -1);
}

/** The siblings that are shown in another order than that of creation, as places.
 * @param {TreeStore} store @param {number[]} slots @returns {number[][]} */
export function swapsOf(store, slots) {
  const orders = store.orders();
  if (!orders.length) return [];
  const places = placesOf(slots);
  return orders.map(([, children]) => children.map((slot) => places[slot] ?? -1).filter((place) => place >= 0)).filter((group) => group.length > 1);
}

/** The place of each slot; -1 for one that is not shown. @param {number[]} slots */
function placesOf(slots) {
  const places = new Int32Array(slots.length ? slots[slots.length - 1] + 1 : 0).fill(-1);
  slots.forEach((slot, place) => {
    places[slot] = place;
  });
  return places;
}

/** Places row by row, each row from left to right. */
export class Rows {
  /** @param {Layout} layout @param {Int32Array} order @param {Int32Array} starts of each row, and the end */
  constructor(layout, order, starts) {
    this.layout = layout;
    this.order = order;
    this.starts = starts;
  }

  get count() {
    return this.starts.length - 1;
  }

  /** The first of a row for which `isPast` holds, as it does for all to its right.
   * @param {number} row @param {(place: number) => boolean} isPast */
  first(row, isPast) {
    let [low, high] = [this.starts[row], this.starts[row + 1]];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isPast(this.order[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Only those that `isIn`. @param {(place: number) => boolean} isIn */
  only(isIn) {
    const order = [];
    const starts = [0];
    for (let row = 0; row < this.count; row += 1) {
      for (let at = this.starts[row]; at < this.starts[row + 1]; at += 1) if (isIn(this.order[at])) order.push(this.order[at]);
      starts.push(order.length);
    }
    return new Rows(this.layout, Int32Array.from(order), Int32Array.from(starts));
  }
}

export class Scene {
  /** @param {number[]} slots @param {Layout} layout */
  constructor(slots, layout) {
    this.slots = slots;
    this.layout = layout;
    this.places = placesOf(slots);
    this.rows = new Rows(layout, layout.kept, layout.rows);
    this.box = boxOf(layout);
  }

  /** The drawn place that stands for a slot: itself, or where its run begins. @param {number} slot */
  placeOf(slot) {
    const place = this.places[slot] ?? -1;
    if (place < 0) return undefined;
    return this.isKept(place) ? place : this.layout.up[place];
  }

  /** @param {number} place */
  isKept(place) {
    const row = this.layout.y[place];
    const at = row < this.rows.count ? this.rows.first(row, (other) => this.layout.x[other] >= this.layout.x[place]) : 0;
    return this.rows.order[at] === place;
  }

  /** The slot nearest to a point of the layout, within `reach`. @param {number} px @param {number} py @param {number} rx @param {number} ry */
  near(px, py, rx, ry) {
    const { x, y } = this.layout;
    const lowest = Math.min(this.rows.count - 1, Math.floor(py + ry));
    let best;
    let least = 1;
    for (let row = Math.max(0, Math.ceil(py - ry)); row <= lowest; row += 1) {
      for (let at = this.rows.first(row, (other) => x[other] > px - rx); at < this.rows.starts[row + 1]; at += 1) {
        const place = this.rows.order[at];
        if (x[place] > px + rx) break;
        const distance = ((x[place] - px) / rx) ** 2 + ((y[place] - py) / ry) ** 2;
        if (distance < least) [best, least] = [place, distance];
      }
    }
    return best === undefined ? undefined : this.slots[best];
  }
}

/** @param {Layout} layout @returns {Box} */
function boxOf({ x, kept, rows }) {
  const box = { x0: 0, x1: 0, y0: 0, y1: Math.max(0, rows.length - 2) };
  for (const place of kept) {
    if (x[place] < box.x0) box.x0 = x[place];
    if (x[place] > box.x1) box.x1 = x[place];
  }
  return box;
}

// What the map is drawn from besides places: colours, labels, the path, who is where.

/** @typedef {import("../tree/page.js").TreePage} TreePage */

/** What changes with the reader's position, or with the tree, and not with each frame.
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
    labelOf: (slot) => (store.parents[slot] === null ? "" : page.excerpts.of(store.selected(slot))),
    position: store.slotOf(page.position) ?? undefined,
    rings,
  };
}

/** What is bookmarked, and what the filter lets through. A match in a folded run is where the run begins.
 * @param {TreePage} page @param {TreeStore} store @param {Scene} scene @returns {Omit<Kept, "path" | "hits">} */
export function sifted(page, store, scene) {
  const matches = page.filter.sieve(store, page.marks)?.matches;
  const places = matches && new Set([...matches].map((slot) => scene.placeOf(slot)));
  return {
    marked: slotsOf(store, page.marks.items("bookmark")),
    matches: places ? scene.rows.only((place) => places.has(place)) : null,
    isMatch: (slot) => !matches || matches.has(slot),
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

// What the map hears from the page: the tree grew, somebody moved, something was searched for.

/** @param {import("../elements/loom-map.js").LoomMap} map @param {import("../tree/page.js").TreePage} page @param {AbortSignal} signal */
export function listenToPage(map, page, signal) {
  page.addEventListener("overview", (event) => map.foresee(/** @type {CustomEvent} */ (event).detail), { signal });
  page.addEventListener("store", () => map.layOut(), { signal });
  page.addEventListener("changed", () => map.layOutSoon(), { signal });
  page.addEventListener("moved", () => map.moved(), { signal });
  page.addEventListener("here", () => map.redraw(), { signal });
  page.addEventListener("hits", (event) => map.light(/** @type {CustomEvent} */ (event).detail), { signal });
  page.filter.addEventListener("filter", () => map.sift(), { signal });
  page.marks.addEventListener("marks", () => map.sift(), { signal });
  page.excerpts.addEventListener("excerpts", () => map.redraw(), { signal });
  document.addEventListener("hoist", () => map.hoist(), { signal });
}
