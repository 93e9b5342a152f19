// @ts-check
// Draws the map on a canvas: only what is on the screen, and less of it from afar.

/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./scene.js").Scene} Scene */
/**
 * @typedef {{paper: string, panel: string, ink: string, soft: string, rule: string, edge: string, link: string, threads: string[], font: string}} Ink
 * @typedef {{colourOf: (slot: number) => number, isPruned: (slot: number) => boolean, labelOf: (slot: number) => string,
 *   path: Set<number>, position: number | undefined, rings: {slot: number, colour: number, name: string}[], hits: Set<number>, marked: Set<number>}} Facts
 */

const FAR = 0.3; // below this zoom, dots and straight lines
const LABELS = 0.72;

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Camera} camera @param {Facts} facts @param {Ink} ink @param {{width: number, height: number}} frame */
export function draw(pen, scene, camera, facts, ink, { width, height }) {
  pen.clearRect(0, 0, width, height);
  const { x, y, up } = scene.layout;
  const px = (/** @type {number} */ place) => camera.toX(x[place]);
  const py = (/** @type {number} */ place) => camera.toY(y[place]);
  const seen = [];
  const isTaken = cells(camera, width, height);
  const thin = new Path2D();
  const thick = new Path2D();
  for (const place of scene.layout.kept) {
    const above = up[place];
    const ax = px(place);
    const ay = py(place);
    const onScreen = ax > -20 && ax < width + 20 && ay > -20 && ay < height + 20;
    const isPath = facts.path.has(scene.slots[place]);
    if (onScreen && isTaken(ax, ay) && !isPath) continue;
    if (onScreen) seen.push(place);
    if (above < 0) continue;
    const bx = px(above);
    const by = py(above);
    if ((ay < 0 && by < 0) || (ay > height && by > height) || (ax < 0 && bx < 0) || (ax > width && bx > width)) continue;
    line(isPath ? thick : thin, bx, by, ax, ay, camera.k < FAR);
  }
  pen.lineCap = "round";
  pen.strokeStyle = ink.rule;
  pen.lineWidth = Math.max(0.6, 1.5 * Math.min(1, camera.k * 1.6));
  pen.stroke(thin);
  pen.strokeStyle = ink.threads[0];
  pen.lineWidth = Math.max(1.5, 3 * Math.min(1, camera.k * 1.4));
  pen.stroke(thick);
  dots(pen, scene, camera, facts, ink, seen, px, py);
  rings(pen, scene, camera, facts, ink, px, py);
  if (camera.k >= LABELS) labels(pen, scene, camera, facts, ink, width, height);
}

/** From afar, whether something is drawn already where a dot would be: it would not be seen.
 * @param {Camera} camera @param {number} width @param {number} height */
function cells(camera, width, height) {
  if (radius(camera) >= 2.5) return () => false;
  const across = Math.ceil(width / 2) + 1;
  const taken = new Uint8Array(across * (Math.ceil(height / 2) + 1));
  return (/** @type {number} */ x, /** @type {number} */ y) => {
    const cell = (y >> 1) * across + (x >> 1);
    if (taken[cell]) return true;
    taken[cell] = 1;
    return false;
  };
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

/** @param {Camera} camera */
export function radius(camera) {
  return Math.min(8, Math.max(1.2, 7.5 * camera.k));
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Camera} camera @param {Facts} facts @param {Ink} ink @param {number[]} seen @param {(place: number) => number} px @param {(place: number) => number} py */
function dots(pen, scene, camera, facts, ink, seen, px, py) {
  const r = radius(camera);
  const byColour = ink.threads.map(() => new Path2D());
  const faint = new Path2D();
  const lit = new Path2D();
  for (const place of seen) {
    const slot = scene.slots[place];
    const path = facts.isPruned(slot) ? faint : byColour[facts.colourOf(slot)];
    if (r < 2.5) path.rect(px(place) - r, py(place) - r, 2 * r, 2 * r);
    else circle(path, px(place), py(place), facts.position === slot ? r + 1 : r);
    if (facts.hits.has(slot)) circle(lit, px(place), py(place), r + 4);
    if (facts.marked.has(slot) && r > 4) circle(lit, px(place) + r * 0.85, py(place) - r * 0.85, 2);
  }
  pen.fillStyle = ink.link;
  pen.fill(lit);
  byColour.forEach((path, colour) => {
    pen.fillStyle = ink.threads[colour];
    pen.fill(path);
  });
  pen.fillStyle = ink.panel;
  pen.fill(faint);
  pen.setLineDash([3, 2]);
  pen.lineWidth = 1;
  pen.strokeStyle = ink.edge;
  pen.stroke(faint);
  pen.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Camera} camera @param {Facts} facts @param {Ink} ink @param {(place: number) => number} px @param {(place: number) => number} py */
function rings(pen, scene, camera, facts, ink, px, py) {
  const r = radius(camera);
  const ring = (/** @type {number} */ slot, /** @type {string} */ colour, /** @type {number} */ extra) => {
    const place = scene.placeOf(slot);
    if (place === undefined) return;
    const path = new Path2D();
    circle(path, px(place), py(place), r + extra);
    pen.lineWidth = 2;
    pen.strokeStyle = colour;
    pen.stroke(path);
  };
  for (const { slot, colour } of facts.rings) ring(slot, ink.threads[colour], 8);
  if (facts.position !== undefined) ring(facts.position, ink.ink, 4.5);
}

/** Labels where there is room to the right. @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Camera} camera @param {Facts} facts @param {Ink} ink @param {number} width @param {number} height */
function labels(pen, scene, camera, facts, ink, width, height) {
  const { x, y } = scene.layout;
  const names = new Map(facts.rings.map((one) => [one.slot, one.name]));
  pen.font = `11px ${ink.font}`;
  pen.textAlign = "left"; // the map's right side stays right, whatever the page's language
  pen.direction = "ltr";
  pen.textBaseline = "middle";
  scene.ordered.forEach((place, at) => {
    const ax = camera.toX(x[place]);
    const ay = camera.toY(y[place]);
    if (ax < -10 || ax > width - 30 || ay < 0 || ay > height) return;
    const next = scene.ordered[at + 1];
    const isRow = next !== undefined && y[next] === y[place];
    const room = Math.min(150, (isRow ? camera.toX(x[next]) : width) - ax - 34);
    const slot = scene.slots[place];
    const name = names.get(slot);
    const words = name ?? facts.labelOf(slot);
    if (room < 42 || !words) return;
    pen.fillStyle = name ? ink.ink : ink.soft;
    pen.fillText(clipped(pen, words, room), ax + radius(camera) + 9, ay);
  });
}

/** @param {CanvasRenderingContext2D} pen @param {string} words @param {number} room */
function clipped(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  let end = Math.min(words.length, Math.floor(room / 5));
  while (end > 1 && pen.measureText(`${words.slice(0, end)}…`).width > room) end -= 1;
  return `${words.slice(0, end).trimEnd()}…`;
}

/** @param {Path2D} path @param {number} x @param {number} y @param {number} r */
function circle(path, x, y, r) {
  path.moveTo(x + r, y);
  path.arc(x, y, r, 0, 2 * Math.PI);
}
