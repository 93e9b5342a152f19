// @ts-check
// What part of the map is seen: a pan and a zoom, as plain numbers.

export const ROOM_X = 46;
export const ROOM_Y = 66;
const MIN = 0.0005;
const MAX = 2.5;
const SQUEEZE = 0.2;

export class Camera {
  constructor() {
    this.x = 0; // of the world's origin on the screen, in CSS pixels
    this.y = 0;
    this.k = 1;
    this.kx = 1; // across: smaller than k where a wide tree is squeezed to fit
  }

  /** Both zooms at once. @param {number} k */
  scale(k) {
    this.k = k;
    this.kx = k;
  }

  /** @param {number} x in units of the layout */
  toX(x) {
    return this.x + x * ROOM_X * this.kx;
  }

  /** @param {number} y */
  toY(y) {
    return this.y + y * ROOM_Y * this.k;
  }

  /** @param {number} dx @param {number} dy in CSS pixels */
  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
  }

  /** Zooms so that the point under the pointer stays. @param {number} factor @param {number} px @param {number} py */
  zoom(factor, px, py) {
    const k = Math.min(MAX, Math.max(MIN, this.k * factor));
    // Coming nearer, a squeezed tree widens faster, until it has its own shape again.
    const kx = factor > 1 ? Math.min(k, this.kx * factor * factor) : (this.kx * k) / this.k;
    this.x = px - ((px - this.x) * kx) / this.kx;
    this.y = py - ((py - this.y) * k) / this.k;
    this.k = k;
    this.kx = kx;
  }

  /** Puts a point of the layout at a place of the frame. @param {number} x @param {number} y @param {number} px @param {number} py */
  put(x, y, px, py) {
    this.x = px - x * ROOM_X * this.kx;
    this.y = py - y * ROOM_Y * this.k;
  }

  /** Shows a box of the layout whole, not larger than life. @param {{x0: number, x1: number, y0: number, y1: number}} box @param {number} width @param {number} height */
  fit({ x0, x1, y0, y1 }, width, height) {
    const pad = 34;
    const wide = Math.max(1, (x1 - x0) * ROOM_X);
    const high = Math.max(1, (y1 - y0) * ROOM_Y);
    const across = (width - 2 * pad) / wide;
    const down = (height - 2 * pad) / high;
    this.scale(Math.min(1, Math.max(MIN, Math.min(across, down))));
    if (this.k < SQUEEZE) {
      // Too wide to be read whole in its own shape: down as far as it goes, across squeezed.
      this.k = Math.min(1, down, SQUEEZE);
      this.kx = Math.min(this.k, across);
    }
    const left = (width - wide * this.kx) / 2;
    const top = high * this.k < height - 2 * pad ? pad : (height - high * this.k) / 2;
    this.x = left - x0 * ROOM_X * this.kx;
    this.y = top - y0 * ROOM_Y * this.k;
  }
}
