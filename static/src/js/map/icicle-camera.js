// @ts-check
// What part of the icicle is seen: a stretch of its width, and rows of one height.

export const TALLEST = 26; // pixels of a row
const LEAST = 1e-13; // parts of the width: beyond it numbers have no more digits
const FOOT = 6; // pixels below the last row

/** @typedef {{width: number, height: number}} Frame */

export class IcicleCamera {
  constructor() {
    this.left = 0; // in parts of the width
    this.span = 1;
    this.top = 0; // in rows
    this.row = 10; // pixels
    this.rows = 1;
    this.tallest = TALLEST;
    /** @type {Frame} */
    this.frame = { width: 1, height: 1 };
  }

  /** @param {Frame} frame @param {number} rows @param {number} [lowest] the least height of a text, in rows */
  resize(frame, rows, lowest = 1) {
    this.tallest = TALLEST / lowest;
    this.frame = frame;
    this.rows = Math.max(1, rows);
    this.row = Math.max(this.fitting, this.row);
    this.hold();
  }

  /** The height of a row with which all of them are seen. */
  get fitting() {
    return Math.min(TALLEST, Math.max(0.01, (this.frame.height - FOOT) / this.rows));
  }

  get isWhole() {
    return this.span > 0.999 && this.row <= this.fitting * 1.001;
  }

  /** @param {number} x */
  toX(x) {
    return ((x - this.left) / this.span) * this.frame.width;
  }

  /** @param {number} row */
  toY(row) {
    return (row - this.top) * this.row;
  }

  /** What is at a point of the frame, in parts of the width and rows. @param {number} px @param {number} py */
  under(px, py) {
    return { x: this.left + (px / this.frame.width) * this.span, row: this.top + py / this.row };
  }

  /** @returns {import("./icicle.js").View} */
  view() {
    return { left: this.left, right: this.left + this.span, top: this.top, bottom: this.top + this.frame.height / this.row };
  }

  fit() {
    Object.assign(this, { left: 0, span: 1, top: 0, row: this.fitting });
  }

  /** @param {number} dx @param {number} dy in CSS pixels */
  pan(dx, dy) {
    this.left -= (dx / this.frame.width) * this.span;
    this.top -= dy / this.row;
    this.hold();
  }

  /** Zooms so that the point under the pointer stays. @param {number} factor @param {number} px @param {number} py */
  zoom(factor, px, py) {
    const x = this.left + (px / this.frame.width) * this.span;
    const row = this.top + py / this.row;
    this.span = Math.min(1, Math.max(LEAST, this.span / factor));
    this.row = Math.min(this.tallest, Math.max(this.fitting, this.row * factor));
    this.left = x - (px / this.frame.width) * this.span;
    this.top = row - py / this.row;
    this.hold();
  }

  /** Shows a branch as wide as the frame, from its row on. @param {number} x @param {number} w @param {number} y @param {number} low where it ends */
  branch(x, w, y, low) {
    this.span = Math.min(1, Math.max(LEAST, w));
    this.left = x + (w - this.span) / 2;
    this.top = Math.max(0, y - 1);
    this.row = Math.min(TALLEST, Math.max(this.fitting, (this.frame.height - FOOT) / Math.max(1, low - this.top)));
    this.hold();
  }

  /** Keeps the view within the tree. */
  hold() {
    this.left = Math.min(1 - this.span, Math.max(0, this.left));
    this.top = Math.min(Math.max(0, this.rows - (this.frame.height - FOOT) / this.row), Math.max(0, this.top));
  }
}
