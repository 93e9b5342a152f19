// @ts-check
// Where each node of the map stands. Runs in a worker; columns in and out.

import { tidy } from "./tidy.js";

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
 * @param {number} [foldFrom] @returns {Layout}
 */
export function layout(parents, foldFrom = FOLD_FROM) {
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
  const { kept, rows } = inRows(up, drawn);
  return { x: tidy(kept, up, count), y, up, run, kept, rows };
}

/** The drawn places row by row, each row from left to right, and where the rows begin.
 * @param {Int32Array} up @param {Uint8Array} drawn */
function inRows(up, drawn) {
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
