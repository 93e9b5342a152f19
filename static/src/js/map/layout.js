// @ts-check
// Where each node of the map stands. Runs in a worker; plain arrays in and out.

import { hierarchy, tree } from "d3-hierarchy";

/**
 * @typedef {{x: Float32Array, y: Float32Array, up: Int32Array, kept: Int32Array}} Layout
 * x and y in units of one node's room, by place; `kept` the places that are drawn, in order of
 * creation; `up` the nearest drawn place above (-1 for the root).
 */

/** Above this many nodes, runs without a fork are drawn as one line. */
export const FOLD_FROM = 3000;

/**
 * @param {Int32Array} parents the place above, by place; -1 for the root, which comes first
 * @param {number} [foldFrom] @returns {Layout}
 */
export function layout(parents, foldFrom = FOLD_FROM) {
  const count = parents.length;
  const below = new Int32Array(count);
  for (const parent of parents) if (parent >= 0) below[parent] += 1;
  const folds = count > foldFrom;
  const up = new Int32Array(count).fill(-1);
  const kept = [];
  for (let place = 0; place < count; place += 1) {
    // A parent comes before its children, so what is above is decided already.
    const parent = parents[place];
    up[place] = parent < 0 || isDrawn(parent) ? parent : up[parent];
    if (isDrawn(place)) kept.push(place);
  }
  /** @param {number} place */
  function isDrawn(place) {
    return !folds || parents[place] < 0 || below[place] !== 1 || below[parents[place]] !== 1;
  }
  return { ...placed(kept, up, count), up, kept: Int32Array.from(kept) };
}

/** @param {number[]} kept @param {Int32Array} up @param {number} count */
function placed(kept, up, count) {
  const x = new Float32Array(count);
  const y = new Float32Array(count);
  if (!kept.length) return { x, y };
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (const place of kept.slice(1)) {
    const siblings = children.get(up[place]);
    if (siblings) siblings.push(place);
    else children.set(up[place], [place]);
  }
  const root = hierarchy(kept[0], (place) => children.get(place));
  tree().nodeSize([1, 1]).separation((one, other) => (one.parent === other.parent ? 1 : 1.25))(/** @type {any} */ (root));
  root.each((node) => {
    x[node.data] = /** @type {any} */ (node).x;
    y[node.data] = /** @type {any} */ (node).y;
  });
  return { x, y };
}
