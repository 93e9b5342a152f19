// @ts-check
// What part of the map is seen: the scale (pixels a unit of the world) and where the world begins. Pure.

import { WORLD } from "./field.js";

const NEAREST = 90; // times as near as the whole

export class Eye {
  scale = 1;
  left = 0;
  top = 0;
  whole = 1; // the scale at which all texts fit
  frame = { width: 1, height: 1 };
  box = { x0: 0, y0: 0, x1: WORLD, y1: WORLD };

  /** How near it is: 1 shows the whole map. */
  get zoom() {
    return this.scale / this.whole;
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  toScreen(x, y) {
    return [x * this.scale + this.left, y * this.scale + this.top];
  }

  /** @param {number} px @param {number} py @returns {[number, number]} */
  toWorld(px, py) {
    return [(px - this.left) / this.scale, (py - this.top) / this.scale];
  }

  /** Takes in the size of the frame and where the texts are; the middle stays.
   * @param {number} width @param {number} height @param {{x0: number, y0: number, x1: number, y1: number}} box */
  fitTo(width, height, box) {
    const [x, y] = this.toWorld(this.frame.width / 2, this.frame.height / 2);
    const zoom = this.zoom;
    this.frame = { width, height };
    this.box = box;
    const room = Math.min(width, height) < 500 ? 0.94 : 0.9;
    this.whole = Math.min((width * room) / Math.max(1, box.x1 - box.x0), (height * room) / Math.max(1, box.y1 - box.y0));
    this.scale = this.whole * zoom;
    this.centre(x, y);
  }

  /** Shows everything. */
  fit() {
    this.scale = this.whole;
    this.centre((this.box.x0 + this.box.x1) / 2, (this.box.y0 + this.box.y1) / 2);
  }

  /** @param {number} x @param {number} y of the world, in the middle of the frame */
  centre(x, y) {
    this.left = this.frame.width / 2 - x * this.scale;
    this.top = this.frame.height / 2 - y * this.scale;
  }

  /** @param {number} dx @param {number} dy in pixels */
  pan(dx, dy) {
    this.left += dx;
    this.top += dy;
    // Something of the map stays in sight.
    const [x, y] = this.toWorld(this.frame.width / 2, this.frame.height / 2);
    const { x0, y0, x1, y1 } = this.box;
    const [inX, inY] = [Math.max(x0, Math.min(x1, x)), Math.max(y0, Math.min(y1, y))];
    if (inX !== x || inY !== y) this.centre(inX, inY);
  }

  /** @param {number} factor @param {number} px @param {number} py the point that stays */
  zoomBy(factor, px, py) {
    const [x, y] = this.toWorld(px, py);
    this.scale = Math.max(this.whole * 0.6, Math.min(this.whole * NEAREST, this.scale * factor));
    this.left = px - x * this.scale;
    this.top = py - y * this.scale;
  }
}

/** Where the texts are, with the outermost ones left out. @param {ArrayLike<number>} x @param {ArrayLike<number>} y */
export function boxOf(x, y) {
  if (!x.length) return { x0: 0, y0: 0, x1: WORLD, y1: WORLD };
  const ends = (/** @type {ArrayLike<number>} */ values) => {
    const sorted = Float32Array.from(values).sort();
    const at = (/** @type {number} */ share) => sorted[Math.round(share * (sorted.length - 1))];
    return [at(0.001), at(0.999)];
  };
  const [x0, x1] = ends(x);
  const [y0, y1] = ends(y);
  const pad = Math.max(1500, 0.05 * Math.max(x1 - x0, y1 - y0));
  return { x0: x0 - pad, y0: y0 - pad, x1: x1 + pad, y1: y1 + pad };
}
