// @ts-check
// What hangs below each slot, kept true as texts come: counting a million of them at each event took a quarter of a
// second. A text that comes changes what is above it; a prune lets the rest be counted again when it is asked for.

/** @typedef {import("./store.js").TreeStore} TreeStore */

/** A column with room for what comes. @param {Uint32Array} column @param {number} count */
function roomFor(column, count) {
  if (count <= column.length) return column;
  const wider = new Uint32Array(Math.max(count, Math.ceil(column.length * 1.25) + 64));
  wider.set(column);
  return wider;
}

export class Totals {
  /** @param {TreeStore} store */
  constructor(store) {
    this.store = store;
    /** @type {Uint32Array | undefined} texts below each slot, not what is hidden by a prune further down */
    this.below = undefined;
    /** @type {Uint32Array | undefined} the last text that was written below each slot; 0: none was */
    this.latest = undefined;
    /** @type {number | undefined} visible leaves */
    this.leaves = undefined;
  }

  /** @param {number} place */
  isCounted(place) {
    const { store } = this;
    return store.parents[place] !== null && store.slots[place] === place && store.kinds[place] === "text" && !store.isPruned(place);
  }

  /** What hangs below was made later, so one pass from the end will do. */
  count() {
    const { store } = this;
    const [below, latest] = [new Uint32Array(store.ids.length), new Uint32Array(store.ids.length)];
    for (let place = store.ids.length - 1; place > 0; place -= 1) {
      const parent = store.parents[place];
      if (parent === null || !this.isCounted(place)) continue;
      below[parent] += below[place] + 1;
      latest[parent] = Math.max(latest[parent], latest[place], place);
    }
    return { below, latest };
  }

  get counted() {
    if (!this.below || !this.latest) Object.assign(this, this.count());
    return { below: /** @type {Uint32Array} */ (this.below), latest: /** @type {Uint32Array} */ (this.latest) };
  }

  /** A text has come, which hangs in its place already. @param {number} place */
  added(place) {
    const { store } = this;
    if (this.below) this.below = roomFor(this.below, store.ids.length);
    if (this.latest) this.latest = roomFor(this.latest, store.ids.length);
    if (!this.isCounted(place)) return;
    const parent = /** @type {number} */ (store.parents[place]);
    if (this.leaves !== undefined && store.childrenOf(parent).length > 1 && !this.isHidden(parent)) this.leaves += 1;
    if (!this.below || !this.latest) return;
    for (let at = /** @type {number | null} */ (parent); at !== null; at = store.parents[at]) {
      this.below[at] += 1;
      this.latest[at] = Math.max(this.latest[at], place);
      if (store.isPruned(at)) break;
    }
  }

  /** A slot was pruned or restored. */
  flagged() {
    this.below = this.latest = this.leaves = undefined;
  }

  /** @param {number} slot */
  isHidden(slot) {
    for (let at = /** @type {number | null} */ (slot); at !== null; at = this.store.parents[at]) if (this.store.isPruned(at)) return true;
    return false;
  }

  /** The visible texts that nothing is below. */
  branches() {
    if (this.leaves !== undefined) return this.leaves;
    const { store } = this;
    const hidden = new Uint8Array(store.ids.length);
    let leaves = 0;
    for (let place = 0; place < store.ids.length; place += 1) {
      const parent = store.parents[place];
      hidden[place] = Number(store.isPruned(store.slots[place]) || (parent !== null && hidden[parent] === 1));
      if (store.slots[place] !== place || store.kinds[place] !== "text" || hidden[place]) continue;
      if (!store.childrenOf(place).length) leaves += 1;
    }
    this.leaves = leaves;
    return leaves;
  }
}
