// @ts-check
// Draws the map: the land and the dots are images that are made again when the reader rests, and
// only moved and stretched while they pan and zoom; names and lines are drawn in every frame.

import { drawDots } from "./dots.js";
import { CELLS, paint, paletteOf } from "./field.js";
import { labelsOf, levelAt } from "./labels.js";

/** @typedef {import("./eye.js").Eye} Eye */
/** @typedef {import("./colouring.js").Points} Points */

/**
 * @typedef {{ink: string, paper: string, link: string, prose: string, halo: string, rim: number[]}} Ink `rim` is [r, g, b]
 * @typedef {{eye: Eye, points: Points, field: import("./field.js").Field, isDark: boolean, colourOf: Uint8Array, colours: number[][],
 *   order: Int32Array, ink: Ink,
 *   way: number[], below: number[], chosen: number, hovered: number, picked: number[], fresh: number[], line: [number, number][]}} Sight
 */

const SLICE_MS = 5; // of a frame that images may take while the reader moves
const OVER = 0.3; // of the frame that an image reaches beyond its edges
const ROWS = 16; // of an image that are painted before the clock is read
const DOTS = 4000;

export class Picture {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.land = new Layer();
    this.dots = new Layer();
    this.took = 0; // ms of the last frame
    this.names = /** @type {import("./labels.js").Label[]} */ ([]);
  }

  /** @param {number} width @param {number} height in CSS pixels */
  resize(width, height) {
    this.ratio = Math.min(2, globalThis.devicePixelRatio || 1);
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.stale();
  }

  ratio = 1;

  /** What is drawn is no longer what is meant. */
  stale() {
    this.land.isStale = this.dots.isStale = true;
  }

  /**
   * Draws a frame; returns whether an image is older than what is seen, so that it is to be drawn
   * again once the reader rests.
   * @param {Sight} sight
   * @param {boolean} isResting
   */
  draw(sight, isResting) {
    const began = performance.now();
    const { pen, ratio } = this;
    const { eye } = sight;
    // What is wrong is made again at once; what is only old while nothing else is to be done.
    const budget = isResting ? 3 * SLICE_MS : SLICE_MS;
    this.land.renew(eye, 1, budget, isResting, (sheet) => this.paintLand(sheet, sight));
    this.dots.renew(eye, ratio, budget, isResting, (sheet) => this.paintDots(sheet, sight));
    pen.setTransform(1, 0, 0, 1, 0, 0);
    const sea = paletteOf(sight.isDark).sea;
    pen.fillStyle = `rgb(${sea.join(" ")})`;
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.imageSmoothingQuality = "high";
    this.land.put(pen, eye);
    this.dots.put(pen, eye);
    this.lines(sight);
    this.labels(sight);
    this.took = performance.now() - began;
    return !this.land.isDone(eye) || !this.dots.isDone(eye);
  }

  /** How the land is painted, part by part. @param {Sheet} sheet @param {Sight} sight */
  paintLand({ scale, x, y, image }, { field, isDark }) {
    const palette = paletteOf(isDark);
    let row = 0;
    const view = { width: image.width, left: CELLS.first + x * CELLS.scale, top: CELLS.first + y * CELLS.scale, step: CELLS.scale / scale };
    return () => {
      const to = Math.min(image.height, row + ROWS);
      paint(field, palette, image.data, { ...view, from: row, to });
      row = to;
      return row >= image.height;
    };
  }

  /** How the dots are drawn, part by part. @param {Sheet} sheet @param {Sight} sight */
  paintDots({ scale, x, y, image }, { eye, points, colourOf, colours, order, ink }) {
    const { ratio } = this;
    const out = new Uint32Array(image.data.buffer);
    out.fill(0);
    const radius = dotRadius(eye, order.length) * ratio;
    let from = 0;
    const view = {
      width: image.width,
      height: image.height,
      x: points.x,
      y: points.y,
      order,
      scale: scale * ratio,
      left: -x * scale * ratio,
      top: -y * scale * ratio,
      radius,
      strength: dotStrength(eye, order.length),
      colourOf,
      colours,
      rim: radius > 2.2 * ratio ? ink.rim : null,
    };
    return () => {
      const to = Math.min(order.length, from + DOTS);
      drawDots(out, { ...view, from, to });
      from = to;
      return from >= order.length;
    };
  }

  /** The way of the chosen text through the map, what was picked, and the line that is being drawn.
   * @param {Sight} sight */
  lines({ eye, points, ink, way, below, chosen, hovered, picked, fresh, line, order }) {
    const { pen } = this;
    const at = (/** @type {number} */ text) => eye.toScreen(points.x[text], points.y[text]);
    pen.lineCap = pen.lineJoin = "round";
    if (way.length > 1) {
      for (const [colour, width] of /** @type {[string, number][]} */ ([[ink.paper, 4.5], [ink.ink, 1.8]])) {
        pen.strokeStyle = colour;
        pen.lineWidth = width;
        pen.stroke(through(way.map(at)));
      }
      pen.fillStyle = ink.ink;
      for (const text of way) pen.fill(disc(...at(text), 2.6));
    }
    pen.strokeStyle = ink.ink;
    pen.lineWidth = 1;
    pen.setLineDash([2, 4]);
    for (const text of below) if (chosen >= 0) pen.stroke(through([at(chosen), at(text)]));
    pen.setLineDash([]);
    const r = dotRadius(eye, order.length);
    const rings = new Path2D();
    for (const text of [...picked, ...fresh]) rings.addPath(disc(...at(text), r + 2));
    pen.strokeStyle = ink.link;
    pen.lineWidth = 1.5;
    pen.stroke(rings);
    for (const [text, width] of [[hovered, 2], [chosen, 3]]) {
      if (text < 0) continue;
      pen.strokeStyle = ink.paper;
      pen.lineWidth = width + 2.5;
      pen.stroke(disc(...at(text), r + 4));
      pen.strokeStyle = ink.ink;
      pen.lineWidth = width;
      pen.stroke(disc(...at(text), r + 4));
    }
    if (line.length > 1) {
      const shape = new Path2D();
      line.forEach(([x, y], number) => (number ? shape.lineTo(x, y) : shape.moveTo(x, y)));
      pen.strokeStyle = ink.link;
      pen.fillStyle = `color-mix(in srgb, ${ink.link} 12%, transparent)`;
      pen.lineWidth = 2;
      pen.fill(shape);
      pen.stroke(shape);
    }
  }

  /** @param {Sight} sight */
  labels({ eye, points, ink }) {
    const { pen } = this;
    const write = (/** @type {number} */ size, /** @type {number} */ level) => {
      pen.font = level ? `italic 500 ${size}px ${ink.prose}` : `600 ${size}px ${ink.prose}`;
      if ("letterSpacing" in pen) pen.letterSpacing = level ? "0px" : `${(size * 0.09).toFixed(1)}px`;
      if ("fontVariantCaps" in pen) pen.fontVariantCaps = level ? "normal" : "all-small-caps";
    };
    const measure = (/** @type {string} */ words, /** @type {number} */ size, /** @type {number} */ level) => {
      write(size, level);
      return pen.measureText(words).width;
    };
    this.names = labelsOf(points.regions, levelAt(eye.zoom), (x, y) => eye.toScreen(x, y), measure, eye.frame);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    for (const { words, x, y, size, level } of this.names) {
      write(size, level);
      pen.strokeStyle = ink.halo;
      for (const [width, strength] of [[size / 2.6, 0.28], [size / 5, 0.75]]) {
        pen.globalAlpha = strength;
        pen.lineWidth = Math.max(2.5, width);
        pen.strokeText(words, x, y);
      }
      pen.globalAlpha = 1;
      pen.fillStyle = ink.ink;
      pen.fillText(words, x, y);
    }
    write(12, 1);
  }
}

/** @param {Eye} eye @param {number} count */
export function dotRadius(eye, count) {
  const first = Math.max(0.9, Math.min(3.6, 3.6 - 0.9 * Math.log10(Math.max(1, count) / 60)));
  const room = Math.max(0.55, Math.min(1, eye.frame.width / 800));
  return Math.min(6.5, first * room * Math.max(1, eye.zoom) ** 0.42);
}

/** @param {Eye} eye @param {number} count */
function dotStrength(eye, count) {
  const first = Math.max(0.42, Math.min(0.95, 1.25 - 0.18 * Math.log10(Math.max(10, count))));
  return Math.min(0.95, first * Math.max(1, eye.zoom) ** 0.3);
}

/** @param {number} x @param {number} y @param {number} r */
function disc(x, y, r) {
  const path = new Path2D();
  path.arc(x, y, r, 0, 2 * Math.PI);
  return path;
}

/** A line through places. @param {[number, number][]} places */
function through(places) {
  const path = new Path2D();
  places.forEach(([x, y], at) => (at ? path.lineTo(x, y) : path.moveTo(x, y)));
  return path;
}

/**
 * An image of a part of the world, a little larger than the frame.
 * @typedef {{scale: number, x: number, y: number, width: number, height: number, image: ImageData}} Sheet
 * `x` and `y` of the world are at its corner; `width` and `height` are in CSS pixels
 */

/** What is seen of one kind: a sheet that is whole, and perhaps the next one, which is being made. */
class Layer {
  isStale = true;
  canvas = document.createElement("canvas");
  /** @type {Sheet | null} */
  whole = null;
  /** @type {Sheet | null} */
  coming = null;
  /** @type {() => boolean} paints a part of the coming sheet; whether that was the last one */
  more = () => true;
  /** @type {ImageData | null} one that can be used again */
  spare = null;

  /**
   * Makes or goes on with the next sheet: at once if there is none that is right, else for so many ms.
   * @param {Eye} eye @param {number} ratio of its pixels to those of CSS @param {number} ms @param {boolean} isResting
   * @param {(sheet: Sheet) => () => boolean} painted
   */
  renew(eye, ratio, ms, isResting, painted) {
    const isWrong = this.isStale || !this.whole;
    const wants = isWrong || !covers(this.whole, eye, isResting ? 0 : 0.4) || (isResting && this.whole?.scale !== eye.scale);
    if (!wants) {
      this.coming = null;
      return;
    }
    // One that no longer fits is not finished.
    if (isWrong || !this.coming || (isResting ? this.coming.scale !== eye.scale || !covers(this.coming, eye, 0) : !covers(this.coming, eye, 0.1))) {
      this.coming = this.begun(eye, ratio);
      this.more = painted(this.coming);
    }
    const until = performance.now() + ms;
    while (!this.more()) if (!isWrong && performance.now() > until) return;
    const { image } = this.coming;
    if (this.canvas.width !== image.width || this.canvas.height !== image.height) {
      this.canvas.width = image.width;
      this.canvas.height = image.height;
    }
    this.canvas.getContext("2d")?.putImageData(image, 0, 0);
    this.spare = image;
    this.whole = this.coming;
    this.coming = null;
    this.isStale = false;
  }

  /** @param {Eye} eye @param {number} ratio @returns {Sheet} */
  begun(eye, ratio) {
    const { width, height } = eye.frame;
    const [aside, above] = [Math.round(width * OVER), Math.round(height * OVER)];
    const [x, y] = eye.toWorld(-aside, -above);
    const [across, down] = [Math.max(1, Math.round((width + 2 * aside) * ratio)), Math.max(1, Math.round((height + 2 * above) * ratio))];
    const isSame = this.spare?.width === across && this.spare.height === down;
    const image = this.spare && isSame ? this.spare : new ImageData(across, down);
    return { scale: eye.scale, x, y, width: width + 2 * aside, height: height + 2 * above, image };
  }

  /** Whether what is seen is as sharp as it can be. @param {Eye} eye */
  isDone(eye) {
    return !this.isStale && this.whole?.scale === eye.scale && covers(this.whole, eye, 0);
  }

  /** @param {CanvasRenderingContext2D} pen @param {Eye} eye */
  put(pen, eye) {
    if (!this.whole) return;
    const [left, top] = eye.toScreen(this.whole.x, this.whole.y);
    const k = eye.scale / this.whole.scale;
    pen.drawImage(this.canvas, left, top, this.whole.width * k, this.whole.height * k);
  }
}

/** Whether a sheet covers what is seen, and so much more of what it reaches beyond it.
 * @param {Sheet | null} sheet @param {Eye} eye @param {number} more */
function covers(sheet, eye, more) {
  if (!sheet) return false;
  const { width, height } = eye.frame;
  const [aside, above] = [width * OVER * more, height * OVER * more];
  const [left, top] = eye.toScreen(sheet.x, sheet.y);
  const k = eye.scale / sheet.scale;
  return left <= -aside && top <= -above && left + sheet.width * k >= width + aside && top + sheet.height * k >= height + above;
}
