// @ts-check
// The outline as rows: which text slots are seen, how deep, and what each can do.

/** @typedef {import("./store.js").TreeStore} TreeStore */
/** @typedef {{slot: number, level: number, indent: number, size: number, place: number, children: number, isOpen: boolean}} Row */

/**
 * The rows of an outline, from above to below. A row is indented only where its parent forks,
 * so that a long chain stays a straight line. Iterative: a chain may be 100,000 deep.
 * @param {TreeStore} store @param {Set<number>} open the slots that are unfolded @returns {Row[]}
 */
export function rowsOf(store, open) {
  const rows = [];
  const tops = store.childrenOf(0);
  /** @type {Row[]} */
  const stack = [];
  const push = (/** @type {number[]} */ slots, /** @type {number} */ level, /** @type {number} */ indent) => {
    for (let at = slots.length - 1; at >= 0; at -= 1) {
      stack.push({ slot: slots[at], level, indent, size: slots.length, place: at + 1, children: 0, isOpen: false });
    }
  };
  push(tops, 1, 0);
  while (stack.length) {
    const row = /** @type {Row} */ (stack.pop());
    const children = store.childrenOf(row.slot);
    row.children = children.length;
    row.isOpen = open.has(row.slot) && children.length > 0;
    rows.push(row);
    if (row.isOpen) push(children, row.level + 1, row.indent + (children.length > 1 ? 1 : 0));
  }
  return rows;
}
