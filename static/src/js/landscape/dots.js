// @ts-check
// Dots of many texts, drawn straight into an image: a hundred thousand take some milliseconds. Pure.

/** @typedef {{r: number, size: number, alpha: Float32Array}} Stamp how a dot covers the pixels around its middle */

const STAMPS = /** @type {Map<number, Stamp>} */ (new Map());

/** A dot of that radius in pixels, with a soft edge. @param {number} radius */
export function stampOf(radius) {
  const r = Math.round(radius * 4) / 4;
  const known = STAMPS.get(r);
  if (known) return known;
  const half = Math.ceil(r + 0.5);
  const size = 2 * half + 1;
  const alpha = new Float32Array(size * size);
  for (let y = -half; y <= half; y += 1) {
    for (let x = -half; x <= half; x += 1) {
      alpha[(y + half) * size + x + half] = Math.max(0, Math.min(1, r + 0.5 - Math.hypot(x, y)));
    }
  }
  const stamp = { r, size, alpha };
  STAMPS.set(r, stamp);
  return stamp;
}

/**
 * Draws the dots of the texts `order[from]` to `order[to]` into `out`, an image of `width` × `height`
 * pixels (a number for each: alpha, blue, green, red). A text stands at its place times `scale`, from
 * `left` and `top` on. `colourOf` is a place in `colours` ([r, g, b], or with a strength) for each
 * text; where there is none it is not drawn. `rim` is a colour around each dot; null: none.
 * @param {Uint32Array} out
 * @param {{width: number, height: number, x: ArrayLike<number>, y: ArrayLike<number>, order: ArrayLike<number>, from: number, to: number,
 *   scale: number, left: number, top: number, radius: number, strength: number, colourOf: Uint8Array, colours: number[][], rim: number[] | null}} view
 */
export function drawDots(out, view) {
  const { width, height, x, y, order, scale, left, top, colourOf, colours, strength, rim } = view;
  const dot = stampOf(view.radius);
  const around = rim ? stampOf(view.radius + view.radius * 0.3 + 0.3) : null;
  for (let number = view.from; number < view.to; number += 1) {
    const text = order[number];
    const colour = colours[colourOf[text]];
    if (!colour) continue;
    const px = Math.round(x[text] * scale + left);
    const py = Math.round(y[text] * scale + top);
    if (px < -20 || py < -20 || px >= width + 20 || py >= height + 20) continue;
    const share = strength * (colour[3] ?? 1);
    if (around && rim && share > 0.5) stampAt(out, width, height, around, px, py, rim, 0.55);
    stampAt(out, width, height, dot, px, py, colour, share);
  }
}

/** Lays a colour over what is there. @param {Uint32Array} out @param {number} width @param {number} height
 * @param {Stamp} stamp @param {number} px @param {number} py its middle @param {number[]} colour @param {number} strength */
function stampAt(out, width, height, { size, alpha }, px, py, [r, g, b], strength) {
  const half = (size - 1) / 2;
  const [left, top] = [px - half, py - half];
  const x0 = Math.max(0, -left);
  const x1 = Math.min(size, width - left);
  const y1 = Math.min(size, height - top);
  for (let dy = Math.max(0, -top); dy < y1; dy += 1) {
    let at = (top + dy) * width + left + x0;
    let cover = dy * size + x0;
    for (let dx = x0; dx < x1; dx += 1, at += 1, cover += 1) {
      const a = alpha[cover] * strength;
      if (a <= 0) continue;
      const old = out[at];
      const oldA = (old >>> 24) / 255;
      const all = a + oldA * (1 - a);
      const share = a / all;
      const rest = 1 - share;
      out[at] =
        ((all * 255 + 0.5) << 24) |
        ((b * share + ((old >>> 16) & 255) * rest) << 16) |
        ((g * share + ((old >>> 8) & 255) * rest) << 8) |
        (r * share + (old & 255) * rest);
    }
  }
}
