// @ts-check
// The density of texts as heights, and how heights become a picture: hills with light from one
// side, shores, contour lines, and lines in the water. Pure: numbers in, numbers out.

export const SIDE = 384; // cells of the field
export const WORLD = 65536;
export const SEA = 0.14; // height at which land begins
const MARGIN = 0.06; // of the world around it, so that shores do not touch its edge
const OUT = 0.015; // of the texts may stand in the water

/** @typedef {{side: number, height: Float32Array, steep: number, peak: number[]}} Field heights from 0 to 1; `steep`: how much they mostly
 * change from cell to cell; `peak`: the highest density at each width, then where the shore is, of the highest, and that */

/** How far the place of a text reaches, in parts of the world: less where there are more.
 * @param {number} count */
export function reach(count) {
  return Math.min(0.05, Math.max(0.0085, 0.034 * (300 / Math.max(1, count)) ** 0.24));
}

/** The field of these texts. @param {ArrayLike<number>} x @param {ArrayLike<number>} y
 * @param {ArrayLike<number> | null} only places of those that count; null: all
 * @param {number[]} [peak] of a field of more texts, of which this one is a part; then heights are of its measure
 * @returns {Field} */
export function fieldOf(x, y, only, peak) {
  const raw = new Float32Array(SIDE * SIDE);
  const count = only ? only.length : x.length;
  const cells = new Int32Array(count);
  for (let at = 0; at < count; at += 1) {
    const text = only ? only[at] : at;
    const [cx, cy] = [cellOf(x[text]), cellOf(y[text])];
    const [left, top] = [Math.floor(cx), Math.floor(cy)];
    const [fx, fy] = [cx - left, cy - top];
    const base = top * SIDE + left;
    cells[at] = base;
    raw[base] += (1 - fx) * (1 - fy);
    raw[base + 1] += fx * (1 - fy);
    raw[base + SIDE] += (1 - fx) * fy;
    raw[base + SIDE + 1] += fx * fy;
  }
  const height = new Float32Array(SIDE * SIDE);
  if (!count) return { side: SIDE, height, steep: 1, peak: [1, 1, 1, SEA, 1] };
  const width = reach(peak ? x.length : count) * SIDE;
  /** @type {number[]} */
  const peaks = [];
  // Broad hills, and on them the smaller ones of which they are made.
  for (const [part, share, sharp] of [[1, 0.58, 14], [0.5, 0.27, 10], [0.26, 0.15, 8]]) {
    const density = blurred(raw, width * part);
    const most = peak ? peak[peaks.length] : top(density);
    peaks.push(most);
    const scale = 1 / Math.log1p(sharp);
    for (let at = 0; at < height.length; at += 1) height[at] += share * scale * Math.log1p((density[at] / most) * sharp);
  }
  const [shore, most] = peak ? peak.slice(3) : shoreOf(height, cells);
  for (let at = 0; at < height.length; at += 1) {
    const h = height[at] / most;
    height[at] = h < shore ? (h / shore) * SEA : SEA + ((h - shore) / (1 - shore)) * (1 - SEA);
  }
  return { side: SIDE, height, steep: steepness(height), peak: [...peaks, shore, most] };
}

/** Where the shore is, so that nearly all texts stand on land, in parts of the highest point; and
 * that point. @param {Float32Array} height @param {Int32Array} cells of the texts */
function shoreOf(height, cells) {
  const most = top(height);
  const stands = Float32Array.from(cells, (cell) => height[cell] / most).sort();
  return [Math.max(0.015, Math.min(0.3, 0.8 * stands[Math.floor(stands.length * OUT)])), most];
}

/** @param {Float32Array} height */
function steepness(height) {
  let [sum, count] = [0, 0];
  for (let at = SIDE; at < height.length - 1; at += 3) {
    if (height[at] < SEA) continue;
    sum += Math.hypot(height[at + 1] - height[at], height[at] - height[at - SIDE]);
    count += 1;
  }
  return count ? Math.max(1e-4, sum / count) : 1;
}

/** @param {number} place in the world */
function cellOf(place) {
  return (MARGIN + (1 - 2 * MARGIN) * (place / WORLD)) * (SIDE - 2) + 0.5;
}

/** The world's unit in cells, and where the world begins. */
export const CELLS = { scale: ((1 - 2 * MARGIN) * (SIDE - 2)) / WORLD, first: MARGIN * (SIDE - 2) + 0.5 };

/** @param {Float32Array} values */
function top(values) {
  let highest = 1e-9;
  for (let at = 0; at < values.length; at += 1) if (values[at] > highest) highest = values[at];
  return highest;
}

/** Three means over boxes, which come near to a bell. @param {Float32Array} raw @param {number} width of the bell, in cells */
export function blurred(raw, width) {
  const half = Math.max(1, Math.round((Math.sqrt(4 * width * width + 1) - 1) / 2));
  const [from, to] = [Float32Array.from(raw), new Float32Array(raw.length)];
  for (let pass = 0; pass < 3; pass += 1) {
    boxes(from, to, half, 1, SIDE);
    boxes(to, from, half, SIDE, 1);
  }
  return from;
}

/** A running mean along lines. @param {Float32Array} from @param {Float32Array} to @param {number} half
 * @param {number} step to the next cell of a line @param {number} next to the next line */
function boxes(from, to, half, step, next) {
  const share = 1 / (2 * half + 1);
  for (let line = 0; line < SIDE; line += 1) {
    const first = line * next;
    let sum = 0;
    for (let at = 0; at < half && at < SIDE; at += 1) sum += from[first + at * step];
    for (let at = 0; at < SIDE; at += 1) {
      if (at + half < SIDE) sum += from[first + (at + half) * step];
      if (at - half - 1 >= 0) sum -= from[first + (at - half - 1) * step];
      to[first + at * step] = Math.max(0, sum * share);
    }
  }
}

/**
 * Colours of a landscape as [r, g, b]: the sea, its edge, and land from low to high; how strong
 * light and shade are, and the lines.
 * @typedef {{sea: number[], shallows: number[], land: number[][], shore: number[], line: number[], light: number, dark: number, lines: number, water: number}} Palette
 */

/** @param {boolean} isDark @returns {Palette} */
export function paletteOf(isDark) {
  return isDark
    ? { sea: [17, 22, 29], shallows: [27, 39, 49], land: [[37, 47, 45], [46, 56, 50], [61, 66, 55], [82, 80, 63], [108, 99, 76], [140, 129, 104]], shore: [112, 148, 160], line: [214, 208, 184], light: 0.2, dark: 0.42, lines: 0.13, water: 0.3 }
    : { sea: [214, 227, 232], shallows: [231, 239, 238], land: [[246, 243, 228], [236, 238, 214], [233, 230, 199], [227, 214, 176], [214, 194, 151], [240, 231, 214]], shore: [104, 132, 140], line: [112, 88, 52], light: 0.42, dark: 0.22, lines: 0.2, water: 0.34 };
}

const LINES = 9; // contour lines from the shore to the top
const RINGS = [[0.84, 1], [0.66, 0.6], [0.46, 0.32]]; // in the water: height (of the shore's), strength

/**
 * Paints the rows from `from` to `to` of the field as it is seen, `width` pixels wide, into `out`
 * (RGBA). A pixel (0, 0) shows the cell (`left`, `top`), and one pixel is `step` cells.
 * @param {Field} field @param {Palette} palette @param {Uint8ClampedArray} out
 * @param {{width: number, from: number, to: number, left: number, top: number, step: number}} view
 */
export function paint({ side, height: heights, steep }, palette, out, { width, from, to, left, top, step }) {
  const ramp = rampOf(palette);
  const { line, shore } = palette;
  const [row, before] = [new Float32Array(width + 1), new Float32Array(width + 1)];
  const relief = 0.55 / (steep * step);
  const levels = LINES / (1 - SEA);
  sample(heights, side, left, top + (from - 1) * step, step, before);
  for (let py = from; py < to; py += 1) {
    sample(heights, side, left, top + py * step, step, row);
    for (let px = 0; px < width; px += 1) {
      const h = row[px];
      const [dx, dy] = [row[px + 1] - h, h - before[px]];
      const at = (py * width + px) * 4;
      const place = Math.min(255, (h * 255) | 0) << 2;
      let [r, g, b] = [ramp[place], ramp[place + 1], ramp[place + 2]];
      const slope = Math.sqrt(dx * dx + dy * dy);
      if (h > SEA) {
        // Light from above left: what rises towards it is bright. It fades in at the shore.
        const s = (dx + dy) * relief;
        const shade = (s / (1 + Math.abs(s))) * Math.min(1, (h - SEA) * 14);
        const goal = shade > 0 ? 255 : 0;
        const share = Math.abs(shade) * (shade > 0 ? palette.light : palette.dark);
        r += (goal - r) * share;
        g += (goal - g) * share;
        b += (goal - b) * share;
      }
      if (slope > 1e-6) {
        let [share, ink] = [0, line];
        const level = (h - SEA) * levels;
        const which = Math.round(level);
        const apart = slope * levels; // lines that one pixel passes
        if (level > 0.5) {
          const near = Math.abs(level - which) / apart;
          // Where lines would touch each other they fade.
          if (near < 1) share = (1 - near) * palette.lines * (which % 3 === 0 ? 1.7 : 1) * Math.min(1, Math.max(0, (1 / apart - 2.5) / 5));
        } else {
          ink = shore;
          const near = Math.abs(h - SEA) / slope;
          if (near < 1.2) share = Math.min(1, 1.2 - near) * 0.8;
          else if (h < SEA) {
            for (const [at0, strength] of RINGS) {
              const off = Math.abs(h - SEA * at0) / slope;
              if (off < 1) share = Math.max(share, (1 - off) * palette.water * strength);
            }
          }
        }
        r += (ink[0] - r) * share;
        g += (ink[1] - g) * share;
        b += (ink[2] - b) * share;
      }
      out[at] = r;
      out[at + 1] = g;
      out[at + 2] = b;
      out[at + 3] = 255;
    }
    before.set(row);
  }
}

/** The heights along a line of pixels, between the cells (cubic, so that near slopes have no
 * edges). @param {Float32Array} heights @param {number} side
 * @param {number} left @param {number} y @param {number} step @param {Float32Array} row */
function sample(heights, side, left, y, step, row) {
  const cy = Math.max(1, Math.min(side - 3, y));
  const y0 = cy | 0;
  const [wa, wb, wc, wd] = spline(cy - y0);
  const base = (y0 - 1) * side;
  // Down first, once for each column of cells that is seen; then across.
  const first = Math.max(0, Math.floor(left) - 1);
  const last = Math.min(side - 1, Math.ceil(left + row.length * step) + 2);
  const across = new Float32Array(Math.max(1, last - first + 1));
  for (let at = first; at <= last; at += 1) {
    across[at - first] = heights[base + at] * wa + heights[base + side + at] * wb + heights[base + 2 * side + at] * wc + heights[base + 3 * side + at] * wd;
  }
  const most = across.length - 3;
  for (let px = 0; px < row.length; px += 1) {
    const cx = left + px * step - first;
    const x0 = cx < 1 ? 1 : cx > most ? most : cx | 0;
    const f = cx < 1 ? 0 : cx > most + 1 ? 1 : cx - x0;
    const g = 1 - f;
    const f2 = f * f;
    const f3 = f2 * f;
    row[px] = (g * g * g * across[x0 - 1] + (3 * f3 - 6 * f2 + 4) * across[x0] + (-3 * f3 + 3 * f2 + 3 * f + 1) * across[x0 + 1] + f3 * across[x0 + 2]) / 6;
  }
}

/** The weights of four cells in a row (cubic B-spline). @param {number} f */
function spline(f) {
  const g = 1 - f;
  return [(g * g * g) / 6, (3 * f * f * f - 6 * f * f + 4) / 6, (-3 * f * f * f + 3 * f * f + 3 * f + 1) / 6, (f * f * f) / 6];
}

/** 256 colours by height. @param {Palette} palette */
function rampOf({ sea, shallows, land }) {
  const ramp = new Float32Array(1024);
  for (let at = 0; at < 256; at += 1) {
    const h = (at + 0.5) / 255;
    const colour = h < SEA ? mix(sea, shallows, (h / SEA) ** 1.5) : between(land, (h - SEA) / (1 - SEA));
    ramp.set([...colour, 255], at * 4);
  }
  return ramp;
}

/** @param {number[][]} colours @param {number} share */
function between(colours, share) {
  const at = Math.min(colours.length - 1.001, Math.max(0, share * (colours.length - 1)));
  return mix(colours[Math.floor(at)], colours[Math.floor(at) + 1], at - Math.floor(at));
}

/** @param {number[]} one @param {number[]} other @param {number} share */
function mix(one, other, share) {
  return one.map((value, at) => value + (other[at] - value) * share);
}
