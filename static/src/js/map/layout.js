// @ts-check
// The place of each node of the map. Runs in a worker; columns in and out.

/**
 * @typedef {{x: Float32Array, y: Int32Array, up: Int32Array, run: Int32Array, kept: Int32Array, rows: Int32Array}} Layout
 * x and y in units of one node's room, by place; `kept` the places that are drawn, by row and
 * from left to right; `rows` where each row begins in it, and its end; `up` the nearest drawn
 * place above (-1 for the root); `run` how many between the two are not drawn.
 */

/** Above this many nodes, runs without a fork are drawn as one line. */
export const FOLD_FROM = 3000;

/**
 * @param {Int32Array} parents the place above, by place; -1 for the root, which comes first
 * @param {number} [foldFrom] @param {number[][]} [swaps] places of siblings that are in another order @returns {Layout}
 */
export function layout(parents, foldFrom = FOLD_FROM, swaps = []) {
  const count = parents.length;
  const below = new Int32Array(count);
  for (const parent of parents) if (parent >= 0) below[parent] += 1;
  const folds = count > foldFrom;
  const isDrawn = (/** @type {number} */ place) => !folds || parents[place] < 0 || below[place] !== 1 || below[parents[place]] !== 1;
  const up = new Int32Array(count).fill(-1);
  const run = new Int32Array(count);
  const y = new Int32Array(count);
  const drawn = new Uint8Array(count);
  for (let place = 0; place < count; place += 1) {
    // A parent comes before its children, so what is above is decided already.
    const parent = parents[place];
    drawn[place] = Number(isDrawn(place));
    if (parent < 0) continue;
    up[place] = drawn[parent] ? parent : up[parent];
    run[place] = drawn[parent] ? 0 : run[parent] + 1;
    y[place] = y[up[place]] + 1;
  }
  const { kept, rows } = inRows(up, drawn, swaps);
  return { x: tidy(kept, up, count), y, up, run, kept, rows };
}

/** The drawn places row by row, each row from left to right, and where the rows begin.
 * @param {Int32Array} up @param {Uint8Array} drawn @param {number[][]} swaps */
function inRows(up, drawn, swaps) {
  const count = up.length;
  // The children of each, side by side: first how many, then where they begin, then they.
  const starts = new Int32Array(count + 1);
  let total = 0;
  for (let place = 0; place < count; place += 1) {
    if (!drawn[place]) continue;
    total += 1;
    if (up[place] >= 0) starts[up[place] + 1] += 1;
  }
  for (let place = 0; place < count; place += 1) starts[place + 1] += starts[place];
  const filled = starts.slice();
  const children = new Int32Array(total);
  for (let place = 0; place < count; place += 1) if (drawn[place] && up[place] >= 0) children[filled[up[place]]++] = place;
  // Of siblings each is drawn: only what has none is part of a run.
  for (const group of swaps) children.set(group, starts[up[group[0]]]);
  const kept = new Int32Array(total);
  const rows = [0];
  let end = total ? 1 : 0;
  for (let at = 0; at < end; ) {
    const rowEnd = end;
    for (; at < rowEnd; at += 1) {
      for (let child = starts[kept[at]]; child < starts[kept[at] + 1]; child += 1) kept[end++] = children[child];
    }
    rows.push(rowEnd);
  }
  return { kept, rows: Int32Array.from(rows) };
}

// A tidy tree, drawn in linear time (Buchheim, Jünger, Leipert 2002): parents above the middle of
// their children, subtrees as close as they go. Columns instead of objects, loops instead of
// recursion: a tree may be 100,000 wide or deep.

const APART = 1;
const COUSINS = 1.25; // apart, where they have not the same parent

/**
 * @param {Int32Array} order nodes by row, from left to right; a parent's children are together
 * @param {Int32Array} up the parent of each node; below 0 for the first in `order`
 * @param {number} count of all nodes @returns {Float32Array} x by node, in units of one node's room
 */
export function tidy(order, up, count) {
  const first = new Int32Array(count).fill(-1); // child
  const last = new Int32Array(count).fill(-1);
  const before = new Int32Array(count).fill(-1); // the sibling to the left
  const number = new Int32Array(count); // among the siblings
  for (let at = 1; at < order.length; at += 1) {
    const node = order[at];
    const parent = up[node];
    if (first[parent] < 0) first[parent] = node;
    else [before[node], number[node]] = [last[parent], number[last[parent]] + 1];
    last[parent] = node;
  }
  const x = new Float64Array(count);
  const carried = new Float64Array(count); // to all that is below a node
  const change = new Float64Array(count);
  const shift = new Float64Array(count);
  const thread = new Int32Array(count).fill(-1);
  const group = Int32Array.from({ length: count }, (_, node) => node);
  const middles = new Float64Array(count);

  const leftOf = (/** @type {number} */ node) => (first[node] >= 0 ? first[node] : thread[node]);
  const rightOf = (/** @type {number} */ node) => (last[node] >= 0 ? last[node] : thread[node]);

  /** Moves a subtree to the right, and what is between it and `from` in equal parts.
   * @param {number} from @param {number} node @param {number} by */
  function move(from, node, by) {
    const part = by / (number[node] - number[from]);
    change[node] -= part;
    change[from] += part;
    shift[node] += by;
    x[node] += by;
    carried[node] += by;
  }

  /** Moves a subtree away from those left of it; the sibling whose edge is the next one's.
   * @param {number} node @param {number} edge */
  function apportion(node, edge) {
    let [innerLeft, innerRight, outerLeft, outerRight] = [before[node], node, first[up[node]], node];
    let [sumLeft, sumRight, sumOuterLeft, sumOuterRight] = [carried[innerLeft], carried[node], carried[outerLeft], carried[node]];
    innerLeft = rightOf(innerLeft);
    innerRight = leftOf(innerRight);
    while (innerLeft >= 0 && innerRight >= 0) {
      outerLeft = leftOf(outerLeft);
      outerRight = rightOf(outerRight);
      group[outerRight] = node;
      const apart = up[innerLeft] === up[innerRight] ? APART : COUSINS;
      const by = x[innerLeft] + sumLeft - x[innerRight] - sumRight + apart;
      if (by > 0) {
        const own = group[innerLeft];
        move(up[own] === up[node] ? own : edge, node, by);
        sumRight += by;
        sumOuterRight += by;
      }
      sumLeft += carried[innerLeft];
      sumRight += carried[innerRight];
      sumOuterLeft += carried[outerLeft];
      sumOuterRight += carried[outerRight];
      innerLeft = rightOf(innerLeft);
      innerRight = leftOf(innerRight);
    }
    if (innerLeft >= 0 && rightOf(outerRight) < 0) {
      thread[outerRight] = innerLeft;
      carried[outerRight] += sumLeft - sumOuterRight;
    }
    if (innerRight >= 0 && leftOf(outerLeft) < 0) {
      thread[outerLeft] = innerRight;
      carried[outerLeft] += sumRight - sumOuterLeft;
      return node;
    }
    return edge;
  }

  /** Places the children of a node beside each other. @param {number} parent */
  function arrange(parent) {
    let at = last[parent];
    const children = number[at] + 1;
    let edge = first[parent];
    // From left to right: siblings are together in `order`, so their numbers lead from one to the next.
    for (let place = starts[parent], end = place + children; place < end; place += 1) {
      const node = order[place];
      const left = before[node];
      if (left < 0) {
        x[node] = middles[node];
        continue;
      }
      x[node] = x[left] + APART;
      if (first[node] >= 0) carried[node] = x[node] - middles[node];
      edge = apportion(node, edge);
    }
    let [moved, grown] = [0, 0];
    for (; at >= 0; at = before[at]) {
      x[at] += moved;
      carried[at] += moved;
      grown += change[at];
      moved += shift[at] + grown;
    }
    middles[parent] = (x[first[parent]] + x[last[parent]]) / 2;
  }

  const starts = new Int32Array(count); // where a node's children begin in `order`
  for (let at = order.length - 1; at > 0; at -= 1) starts[up[order[at]]] = at;
  for (let at = order.length - 1; at >= 0; at -= 1) if (first[order[at]] >= 0) arrange(order[at]);
  const placed = new Float32Array(count);
  for (let at = 1; at < order.length; at += 1) {
    const [node, parent] = [order[at], up[order[at]]];
    x[node] += carried[parent];
    carried[node] += carried[parent];
  }
  const middle = order.length ? middles[order[0]] : 0;
  for (const node of order) placed[node] = node === order[0] ? 0 : x[node] - middle;
  return placed;
}
