// @ts-check
// Which text is under the pointer, and which are within a line: by a grid over the world. Pure.

import { inside } from "../graph/picking.js";

const SIDE = 256;
const CELL = 65536 / SIDE;

export class Finder {
  /** @param {ArrayLike<number>} x @param {ArrayLike<number>} y */
  constructor(x, y) {
    this.x = x;
    this.y = y;
    this.first = new Int32Array(SIDE * SIDE + 1);
    const cells = new Int32Array(x.length);
    for (let at = 0; at < x.length; at += 1) {
      cells[at] = Math.floor(y[at] / CELL) * SIDE + Math.floor(x[at] / CELL);
      this.first[cells[at] + 1] += 1;
    }
    for (let cell = 0; cell < SIDE * SIDE; cell += 1) this.first[cell + 1] += this.first[cell];
    const next = this.first.slice();
    this.texts = new Int32Array(x.length);
    for (let at = 0; at < x.length; at += 1) this.texts[next[cells[at]]++] = at;
  }

  /** The text nearest to a place of the world within a distance; -1: none.
   * @param {number} px @param {number} py @param {number} far @param {(at: number) => boolean} counts */
  nearest(px, py, far, counts) {
    let [best, least] = [-1, far * far];
    this.each(px - far, py - far, px + far, py + far, (at) => {
      const apart = (this.x[at] - px) ** 2 + (this.y[at] - py) ** 2;
      if (apart < least && counts(at)) [best, least] = [at, apart];
    });
    return best;
  }

  /** The texts within a line that is closed at its ends. @param {[number, number][]} line in the world
   * @param {(at: number) => boolean} counts */
  within(line, counts) {
    /** @type {number[]} */
    const texts = [];
    const xs = line.map(([px]) => px);
    const ys = line.map(([, py]) => py);
    this.each(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (at) => {
      if (counts(at) && inside(line, this.x[at], this.y[at])) texts.push(at);
    });
    return texts;
  }

  /** @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 @param {(at: number) => void} visit */
  each(x0, y0, x1, y1, visit) {
    const cell = (/** @type {number} */ place) => Math.max(0, Math.min(SIDE - 1, Math.floor(place / CELL)));
    for (let row = cell(y0); row <= cell(y1); row += 1) {
      const end = this.first[row * SIDE + cell(x1) + 1];
      for (let at = this.first[row * SIDE + cell(x0)]; at < end; at += 1) visit(this.texts[at]);
    }
  }
}
