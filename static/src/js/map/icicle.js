// @ts-check
// The places of an icicle: each text as wide as what is below it, and one row below its parent. Pure columns, made in
// the worker; what is on the screen is found by going down from the root, so that a frame costs what it shows.

/** Above this many texts the map is an icicle: threads would be hatching. */
export const ICICLE_FROM = 80;
/** In a tree of more rows than this, those of a long run without a fork are less high. */
const DEEP = 150;
/** From so many texts in a run on, rows are so high. @type {[number, number][]} */
const LOWER = [[200, 1 / 40], [20, 1 / 6]];
/** What a text counts that nobody continued, beside one that somebody did. */
const REJECTED = 0.25;

/**
 * @typedef {{x: Float64Array, w: Float64Array, y: Float64Array, h: Float32Array, size: Uint32Array, low: Float64Array, starts: Int32Array, kids: Int32Array, leaves: Int32Array}} Places
 * By place: `x` and `w` in parts of the whole width, `y` and `h` the top and height in rows, `size` the texts of the branch
 * with its own, `low` where the lowest of it ends. `kids` from `starts[place]` to `starts[place + 1]`, those that nobody continued last, from `leaves[place]`.
 */

/** @param {Int32Array} parents the place above, by place; -1 for the root, which comes first
 * @param {number[][]} [swaps] places of siblings that are in another order
 * @param {{sizes: Uint32Array, rows: Int32Array}} [known] of an overview, where places stand for branches: their
 * texts, and how many rows each is
 * @returns {Places} */
export function icicle(parents, swaps = [], known = undefined) {
  const count = parents.length;
  const size = known ? known.sizes : sizesOf(parents);
  const h = known ? Float32Array.from(known.rows, lowered) : heightsOf(parents);
  const { y, low } = rowsOf(parents, h);
  const { starts, kids } = kidsOf(parents, swaps);
  const leaves = new Int32Array(count);
  for (let place = 0; place < count; place += 1) leaves[place] = leavesLast(kids, starts[place], starts[place + 1], size);
  const weight = weightsOf(parents, size, starts, leaves, known !== undefined);
  const x = new Float64Array(count);
  const w = new Float64Array(count);
  if (count) w[0] = 1;
  for (let place = 0; place < count; place += 1) {
    let sum = 0;
    for (let at = starts[place]; at < starts[place + 1]; at += 1) sum += weight[kids[at]];
    let left = x[place];
    // What an overview leaves out of a branch takes its room all the same.
    const whole = known ? Math.max(sum, weight[place] - known.rows[place]) : sum;
    for (let at = starts[place]; at < starts[place + 1]; at += 1) {
      const kid = kids[at];
      x[kid] = left;
      w[kid] = whole ? (w[place] * weight[kid]) / whole : 0;
      left += w[kid];
    }
  }
  return { x, w, y, h, size, low, starts, kids, leaves };
}

/** @param {Int32Array} parents */
function sizesOf(parents) {
  const size = new Uint32Array(parents.length).fill(1);
  for (let place = parents.length - 1; place > 0; place -= 1) if (parents[place] >= 0) size[parents[place]] += size[place];
  return size;
}

/** How high each is: less in long runs, where the tree is deep. @param {Int32Array} parents */
function heightsOf(parents) {
  const count = parents.length;
  const h = new Float32Array(count).fill(1);
  const rows = rowsOf(parents, h);
  if (!count || rows.low[0] <= DEEP) return h;
  const below = new Int32Array(count);
  for (const parent of parents) if (parent >= 0) below[parent] += 1;
  const run = new Int32Array(count); // how many lie above it in its run
  for (let place = 1; place < count; place += 1) {
    const parent = parents[place];
    if (parent < 0 || below[parent] !== 1) continue;
    run[place] = run[parent] + 1;
    if (below[place] <= 1) h[place] = LOWER.find(([from]) => run[place] >= from)?.[1] ?? 1;
  }
  return h;
}

/** How high so many texts of a run are together. @param {number} rows */
function lowered(rows) {
  const [[far, least], [near, less]] = LOWER;
  return Math.min(rows, near) + Math.max(0, Math.min(rows, far) - near) * less + Math.max(0, rows - far) * least;
}

/** Where each begins, and where the lowest of its branch ends. @param {Int32Array} parents @param {Float32Array} h */
function rowsOf(parents, h) {
  const count = parents.length;
  const y = new Float64Array(count);
  for (let place = 1; place < count; place += 1) if (parents[place] >= 0) y[place] = y[parents[place]] + h[parents[place]];
  const low = Float64Array.from(y, (top, place) => top + h[place]);
  for (let place = count - 1; place > 0; place -= 1) if (parents[place] >= 0) low[parents[place]] = Math.max(low[parents[place]], low[place]);
  return { y, low };
}

/** @param {Int32Array} parents @param {number[][]} swaps */
function kidsOf(parents, swaps) {
  const count = parents.length;
  const starts = new Int32Array(count + 1);
  for (const parent of parents) if (parent >= 0) starts[parent + 1] += 1;
  for (let place = 0; place < count; place += 1) starts[place + 1] += starts[place];
  const filled = starts.slice();
  const kids = new Int32Array(starts[count]);
  for (let place = 0; place < count; place += 1) if (parents[place] >= 0) kids[filled[parents[place]]++] = place;
  for (const group of swaps) if (group.length && parents[group[0]] >= 0) kids.set(group, starts[parents[group[0]]]);
  return { starts, kids };
}

/** Puts the children that nobody continued behind the others; where they begin. Of leaves alone none is rejected.
 * @param {Int32Array} kids @param {number} from @param {number} to @param {Uint32Array} size */
function leavesLast(kids, from, to, size) {
  if (to - from < 2) return to;
  const all = kids.slice(from, to);
  const grown = all.filter((kid) => size[kid] > 1);
  if (!grown.length || grown.length === all.length) return to;
  kids.set(grown, from);
  kids.set(all.filter((kid) => size[kid] === 1), from + grown.length);
  return from + grown.length;
}

/** @param {Int32Array} parents @param {Uint32Array} size @param {Int32Array} starts @param {Int32Array} leaves @param {boolean} isKnown */
function weightsOf(parents, size, starts, leaves, isKnown) {
  const weight = Float64Array.from(size);
  if (isKnown) return weight;
  weight.fill(1);
  for (let place = parents.length - 1; place > 0; place -= 1) {
    const parent = parents[place];
    if (parent < 0) continue;
    if (size[place] === 1 && leaves[parent] < starts[parent + 1]) weight[place] = REJECTED;
    weight[parent] += weight[place];
  }
  return weight;
}

/** What one part of the picture is: a text; the stub of `many` rejected ones from `place` on; a branch too narrow for more
 * (`shadow`), down to where it ends.
 * @typedef {{place: number, x: number, w: number, y: number, h: number, kind: "text" | "stub" | "shadow", many: number}} Cell */
/** @typedef {{left: number, right: number, top: number, bottom: number}} View in parts of the width, and rows */

export const MOST_CELLS = 12_000;

/** The cells that a view shows, parents first, none narrower than `least` but shadows: wider, and so fewer, where
 * there would be too many. @param {Places} places @param {View} view @param {number} least @param {number} apart the width
 * from which rejected texts are cells of their own @returns {Cell[]} */
export function cellsIn(places, view, least, apart) {
  for (let narrow = least; ; narrow *= 2) {
    const cells = some(places, view, narrow, Math.max(apart, narrow));
    if (cells) return cells;
  }
}

/** @param {Places} places @param {View} view @param {number} least @param {number} apart @returns {Cell[] | null} */
function some({ x, w, y, h, low, starts, kids, leaves }, { left, right, top, bottom }, least, apart) {
  /** @type {Cell[]} */
  const cells = [];
  const open = w.length ? [0] : []; // places whose cells are wide enough
  while (open.length) {
    const place = /** @type {number} */ (open.pop());
    const under = y[place] + h[place];
    if (under >= top) cells.push({ place, x: x[place], w: w[place], y: y[place], h: h[place], kind: "text", many: 1 });
    if (cells.length > MOST_CELLS) return null;
    if (under > bottom) continue;
    let shadow = -1; // where one of narrow branches side by side began, and how far down it goes
    let [end, deep] = [0, 0];
    const close = () => {
      if (shadow >= 0 && deep >= top) cells.push({ place: shadow, x: x[shadow], w: Math.max(least, end - x[shadow]), y: under, h: deep - under, kind: "shadow", many: 1 });
      shadow = -1;
    };
    for (let at = starts[place]; at < leaves[place]; at += 1) {
      const kid = kids[at];
      if (x[kid] + w[kid] < left || x[kid] > right) continue;
      if (w[kid] >= least) {
        close();
        if (low[kid] >= top) open.push(kid);
        continue;
      }
      if (shadow >= 0 && x[kid] + w[kid] - x[shadow] > least) close();
      if (shadow < 0) [shadow, deep] = [kid, 0];
      [end, deep] = [x[kid] + w[kid], Math.max(deep, low[kid])];
    }
    close();
    const [first, stop] = [leaves[place], starts[place + 1]];
    if (first === stop || under + 1 < top) continue;
    const [from, width] = [x[kids[first]], w[kids[first]]];
    if (width >= apart) {
      for (let at = first; at < stop; at += 1) if (x[kids[at]] + width >= left && x[kids[at]] <= right) cells.push({ place: kids[at], x: x[kids[at]], w: width, y: under, h: 1, kind: "stub", many: 1 });
    } else if (from <= right && from + width * (stop - first) >= left) cells.push({ place: kids[first], x: from, w: width * (stop - first), y: under, h: 1, kind: "stub", many: stop - first });
  }
  return cells;
}

/** The place at a point: the text whose cell it is. undefined: none is there. @param {Places} places @param {number} px @param {number} row */
export function placeAt({ x, w, y, h, starts, kids }, px, row) {
  if (!w.length || px < 0 || px > 1 || row < 0) return undefined;
  let place = 0;
  while (y[place] + h[place] <= row) {
    // Children lie side by side from left to right.
    let [low, high] = [starts[place], starts[place + 1]];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[kids[middle]] + w[kids[middle]] <= px) low = middle + 1;
      else high = middle;
    }
    const kid = low < starts[place + 1] ? kids[low] : -1;
    if (kid < 0 || x[kid] > px) return undefined;
    place = kid;
  }
  return place;
}

/** The places from the root to the deepest one that covers a view. @param {Places} places @param {View} view @param {number} [share] of the view */
export function covering(places, { left, right, top }, share = 0.9) {
  const { x, w, y, starts, kids, leaves } = places;
  const path = w.length ? [0] : [];
  const wide = right - left;
  for (let place = path[0]; place !== undefined; ) {
    if (w[place] <= wide * 1.02 && y[place] + 1 >= top) break; // it fills the view
    let next;
    for (let at = starts[place]; at < leaves[place]; at += 1) {
      const kid = kids[at];
      const seen = Math.min(x[kid] + w[kid], right) - Math.max(x[kid], left);
      if (seen >= share * wide) next = kid;
      if (next !== undefined || x[kid] > right) break;
    }
    if (next === undefined) break;
    path.push(next);
    place = next;
  }
  return path;
}
