// @ts-check
// Draws the map on a canvas: only what is on the screen, and less of it from afar.

import { labels, runs } from "./labels.js";
import { cells, eachIn, eachLeaving, eachRow } from "./seen.js";

/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Rows} Rows */

/**
 * @typedef {{paper: string, panel: string, ink: string, soft: string, rule: string, edge: string, link: string, threads: string[], font: string}} Ink
 * @typedef {{colourOf: (slot: number) => number, isPruned: (slot: number) => boolean, labelOf: (slot: number) => string,
 *   path: number[], position: number | undefined, rings: {slot: number, colour: number, name: string}[], hits: Iterable<number>, marked: Iterable<number>,
 *   matches: Rows | null, isMatch: (slot: number) => boolean}} Facts `path` are places, by row; `matches` what a filter lets through
 * @typedef {{pen: CanvasRenderingContext2D, scene: Scene, camera: Camera, facts: Facts, ink: Ink, frame: {width: number, height: number}}} Sight
 */

const FAR = 0.3; // below this zoom, dots and straight lines
const TINY = 2.5; // a dot's radius below which it is a square
const LABELS = 0.72;
const RUNS = 0.5;

/** @param {Sight} sight */
export function draw(sight) {
  const { pen, camera, scene, facts, frame } = sight;
  pen.clearRect(0, 0, frame.width, frame.height);
  const far = isFar(camera);
  lines(sight);
  if (!far) path(sight);
  lit(sight);
  if (facts.matches) {
    dots(sight, scene.rows, true);
    dots(sight, facts.matches, false);
  } else dots(sight, scene.rows, false);
  if (far) path(sight); // dots side by side would hide it
  marks(sight);
  rings(sight);
  if (camera.k >= RUNS) runs(sight);
  if (camera.k >= LABELS) labels(sight, radius(camera) + 9);
}

/** @param {Camera} camera */
export function radius(camera) {
  return Math.min(8, Math.max(1.2, 7.5 * camera.k));
}

/** @param {Camera} camera */
function isFar(camera) {
  return radius(camera) < TINY;
}

/** The lines between rows, folded runs dotted. @param {Sight} sight */
function lines({ pen, scene, camera, ink, frame }) {
  const { x, y, up, run } = scene.layout;
  const isTaken = cells(isFar(camera), frame);
  const straight = camera.k < FAR;
  pen.lineCap = "round";
  pen.strokeStyle = ink.rule;
  pen.lineWidth = Math.max(0.6, 1.5 * Math.min(1, camera.k * 1.6));
  const dotted = new Path2D();
  eachRow(scene.rows, camera, frame, (row) => {
    // A path for each row: drawing one of all takes longer than the square of their number.
    const plain = new Path2D();
    const draw = (/** @type {number} */ place) => {
      const above = up[place];
      if (above < 0) return;
      line(run[place] && !straight ? dotted : plain, camera.toX(x[above]), camera.toY(y[above]), camera.toX(x[place]), camera.toY(y[place]), straight);
    };
    eachIn(scene.rows, row, camera, frame, isFar(camera), (place) => {
      if (!isTaken(camera.toX(x[place]), camera.toY(y[place]))) draw(place);
    });
    eachLeaving(scene.rows, row, camera, frame, draw);
    pen.stroke(plain);
  });
  pen.setLineDash([1, 5]);
  pen.stroke(dotted);
  pen.setLineDash([]);
}

/** The way to where the reader stands, thick. @param {Sight} sight */
function path({ pen, scene, camera, facts, ink, frame }) {
  const { x, y } = scene.layout;
  const thick = new Path2D();
  let before = -1;
  eachRow(scene.rows, camera, { ...frame, height: frame.height + 1 }, (row) => {
    const place = facts.path[row];
    if (place === undefined) return;
    const above = before < 0 ? facts.path[row - 1] : before;
    if (above !== undefined) line(thick, camera.toX(x[above]), camera.toY(y[above]), camera.toX(x[place]), camera.toY(y[place]), camera.k < FAR);
    before = place;
  });
  pen.strokeStyle = ink.threads[0];
  pen.lineWidth = Math.max(1.5, 3 * Math.min(1, camera.k * 1.4));
  pen.stroke(thick);
}

/** @param {Path2D} path @param {number} ax @param {number} ay @param {number} bx @param {number} by @param {boolean} straight */
function line(path, ax, ay, bx, by, straight) {
  path.moveTo(ax, ay);
  if (straight || Math.abs(ax - bx) < 0.5) path.lineTo(bx, by);
  else {
    const middle = ay + (by - ay) * 0.55;
    path.bezierCurveTo(ax, middle, bx, middle, bx, by);
  }
}

/** @param {Sight} sight @param {Rows} rows @param {boolean} isGround behind what a filter lets through */
function dots({ pen, scene, camera, facts, ink, frame }, rows, isGround) {
  const { x, y } = scene.layout;
  const r = radius(camera);
  const far = isFar(camera);
  const isTaken = cells(far, frame);
  const byColour = ink.threads.map(() => new Path2D());
  const faint = new Path2D();
  const ground = new Path2D();
  eachRow(rows, camera, frame, (row) => eachIn(rows, row, camera, frame, far, (place) => {
    const ax = camera.toX(x[place]);
    const ay = camera.toY(y[place]);
    if (isTaken(ax, ay)) return;
    const slot = scene.slots[place];
    const path = isGround ? ground : facts.isPruned(slot) ? faint : byColour[facts.colourOf(slot)];
    if (far) path.rect(ax - r, ay - r, 2 * r, 2 * r);
    else circle(path, ax, ay, facts.position === slot ? r + 1 : isGround ? r * 0.7 : r);
  }));
  pen.fillStyle = ink.rule;
  pen.fill(ground);
  byColour.forEach((path, colour) => {
    pen.fillStyle = ink.threads[colour];
    pen.fill(path);
  });
  hollow(pen, faint, ink, far);
}

/** What is pruned. @param {CanvasRenderingContext2D} pen @param {Path2D} faint @param {Ink} ink @param {boolean} far */
function hollow(pen, faint, ink, far) {
  pen.fillStyle = far ? ink.edge : ink.panel;
  pen.fill(faint);
  if (far) return;
  pen.setLineDash([3, 2]);
  pen.lineWidth = 1;
  pen.strokeStyle = ink.edge;
  pen.stroke(faint);
  pen.setLineDash([]);
}

/** A light behind what a search has found. @param {Sight} sight */
function lit({ pen, scene, camera, facts, ink, frame }) {
  const light = new Path2D();
  eachOf(facts.hits, scene, camera, frame, (x, y) => circle(light, x, y, radius(camera) + 4));
  pen.fillStyle = ink.link;
  pen.fill(light);
}

/** A small sign at what is bookmarked, from near. @param {Sight} sight */
function marks({ pen, scene, camera, facts, ink, frame }) {
  const r = radius(camera);
  if (r <= 4) return;
  const signs = new Path2D();
  eachOf(facts.marked, scene, camera, frame, (x, y) => circle(signs, x + r * 0.85, y - r * 0.85, 2.5));
  pen.fillStyle = ink.link;
  pen.fill(signs);
}

/** @param {Iterable<number>} slots @param {Scene} scene @param {Camera} camera @param {{width: number, height: number}} frame @param {(x: number, y: number) => void} visit */
function eachOf(slots, scene, camera, { width, height }, visit) {
  for (const slot of slots) {
    const place = scene.placeOf(slot);
    if (place === undefined) continue;
    const x = camera.toX(scene.layout.x[place]);
    const y = camera.toY(scene.layout.y[place]);
    if (x > -20 && x < width + 20 && y > -20 && y < height + 20) visit(x, y);
  }
}

/** Where others are, and the reader. @param {Sight} sight */
function rings({ pen, scene, camera, facts, ink, frame }) {
  const ring = (/** @type {number} */ slot, /** @type {string} */ colour, /** @type {number} */ extra) => {
    const path = new Path2D();
    eachOf([slot], scene, camera, frame, (x, y) => circle(path, x, y, radius(camera) + extra));
    pen.lineWidth = 2;
    pen.strokeStyle = colour;
    pen.stroke(path);
  };
  for (const { slot, colour } of facts.rings) ring(slot, ink.threads[colour], 8);
  if (facts.position !== undefined) ring(facts.position, ink.ink, 4.5);
}

/** @param {Path2D} path @param {number} x @param {number} y @param {number} r */
function circle(path, x, y, r) {
  path.moveTo(x + r, y);
  path.arc(x, y, r, 0, 2 * Math.PI);
}
