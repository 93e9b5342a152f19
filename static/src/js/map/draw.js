// @ts-check
// Draws the map on a canvas: only what is on the screen, and less of it from afar.

import { t } from "../t.js";
import { withColours } from "../theme.js";
import { make } from "../tree/forms.js";
import { ROOM_Y } from "./camera.js";
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

const COLOURS = 20; // of authors, in the style sheet
const FAR = 0.3; // below this zoom, dots and straight lines
const TINY = 2.5; // a dot's radius below which it is a square
const LABELS = 0.72;
const LINE = 13; // pixels between rows from which the path can be labelled
const RUNS = 0.5;
const OWN = 4.5; // pixels from a dot to the ring of the reader
const OTHERS = 8; // and to that of somebody else
const GAP = 5; // and from what is drawn of a node to its words

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
  if (camera.k >= LABELS) labels(sight);
  else if (camera.k * ROOM_Y >= LINE) labels(sight, true);
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

/** The way to the reader's position, thick. @param {Sight} sight */
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
  for (const { slot, colour } of facts.rings) ring(slot, ink.threads[colour], OTHERS);
  if (facts.position !== undefined) ring(facts.position, ink.ink, OWN);
}

/** @param {Path2D} path @param {number} x @param {number} y @param {number} r */
function circle(path, x, y, r) {
  path.moveTo(x + r, y);
  path.arc(x, y, r, 0, 2 * Math.PI);
}

// The colours of the style sheet as a canvas needs them: resolved for the theme of now.

/** @param {HTMLElement} element @returns {import("./draw.js").Ink} */
export function inkOf(element) {
  return withColours(element, (colour) => ({
    paper: colour("--paper"),
    panel: colour("--panel"),
    ink: colour("--ink"),
    soft: colour("--soft"),
    rule: colour("--rule"),
    edge: colour("--edge"),
    link: colour("--link"),
    threads: Array.from({ length: COLOURS }, (_, place) => colour(`--thread-${place}`)),
    font: getComputedStyle(element).fontFamily,
  }));
}

// Words on the map, from near: first words beside the dots, and how many a folded run holds.

const LOWER = 15; // pixels

/** How far from a dot's middle its words begin: beyond the rings around it.
 * @param {Camera} camera @param {boolean} isOthers somebody else is there @param {boolean} isOwn the reader is */
export function besideOf(camera, isOthers, isOwn) {
  return radius(camera) + GAP + (isOthers ? OTHERS : isOwn ? OWN : 4);
}

/** Who is at each text. @param {{slot: number, name: string}[]} here @returns {Map<number, string>} */
export function namesOf(here) {
  const names = new Map();
  for (const { slot, name } of here) names.set(slot, names.has(slot) ? `${names.get(slot)}, ${name}` : name);
  return names;
}

/** Labels where there is room to the right, beside the ring of a node that has one.
 * @param {Sight} sight @param {boolean} [only] only those of the path */
export function labels({ pen, scene, camera, facts, ink, frame }, only = false) {
  const { x, y } = scene.layout;
  const names = namesOf(facts.rings);
  write(pen, ink.font, 11);
  eachRow(scene.rows, camera, frame, (row) => {
    /** @type {number[]} */
    const places = [];
    eachIn(scene.rows, row, camera, frame, false, (place) => places.push(place));
    let free = -Infinity; // where the path's label ends, which no other covers
    places.forEach((place, at) => {
      const ax = camera.toX(x[place]);
      const next = places[at + 1];
      const slot = scene.slots[place];
      const name = names.get(slot);
      const beside = besideOf(camera, Boolean(name), facts.position === slot);
      const isPath = facts.path[row] === place;
      const gap = (next === undefined ? frame.width : camera.toX(x[next])) - ax - 34;
      // From near the path is labelled over its neighbours, from afar where they leave room.
      const room = Math.min(150, isPath && !only ? frame.width - ax - 20 : gap);
      if (room < 42 || ax < free || (only && !isPath) || (!name && facts.matches && !facts.isMatch(slot))) return;
      const words = name ?? facts.labelOf(slot);
      if (!words) return;
      const shown = clipped(pen, words, room);
      // Words that would cover a neighbour's dot are below the row.
      const isOver = isPath && next !== undefined && pen.measureText(shown).width > camera.toX(x[next]) - ax - 2 * beside;
      const [left, middle] = [ax + beside, camera.toY(y[place]) + (isOver ? LOWER : 0)];
      if (isPath) {
        free = left + pen.measureText(shown).width;
        pen.strokeStyle = ink.panel;
        pen.lineWidth = 4;
        pen.strokeText(shown, left, middle);
      }
      pen.fillStyle = name || isPath ? ink.ink : ink.soft;
      pen.fillText(shown, left, middle);
    });
  });
}

/** How many nodes are folded into a line, beside its middle. @param {Sight} sight */
export function runs({ pen, scene, camera, ink, frame }) {
  const { x, y, up, run } = scene.layout;
  write(pen, ink.font, 10);
  pen.fillStyle = ink.soft;
  eachRow(scene.rows, camera, frame, (row) => {
    eachIn(scene.rows, row, camera, frame, false, (place) => {
      if (!run[place]) return;
      const middle = (camera.toX(x[place]) + camera.toX(x[up[place]])) / 2;
      pen.fillText(`⋮ ${run[place]}`, middle + 4, (camera.toY(y[place]) + camera.toY(y[place] - 1)) / 2);
    });
  });
}

/** @param {CanvasRenderingContext2D} pen @param {string} font @param {number} size */
function write(pen, font, size) {
  pen.font = `${size}px ${font}`;
  pen.textAlign = "left"; // the map's right side stays right, whatever the page's language
  pen.direction = "ltr";
  pen.textBaseline = "middle";
}

/** @param {CanvasRenderingContext2D} pen @param {string} words @param {number} room */
function clipped(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  let end = Math.min(words.length, Math.floor(room / 5));
  while (end > 1 && pen.measureText(`${words.slice(0, end)}…`).width > room) end -= 1;
  return `${words.slice(0, end).trimEnd()}…`;
}

// The map's frame: its canvas, its tools above, and the words under the pointer.

/** @typedef {import("../elements/loom-map.js").LoomMap} LoomMap */

/** @param {string} words @param {string} name @param {() => void} run */
function tool(words, name, run) {
  const button = make("button", { type: "button", className: "quiet", textContent: words, title: name, ariaLabel: name });
  button.addEventListener("click", run);
  return button;
}

/** Draws the frame into the map. @param {LoomMap} map */
export function frameFor(map) {
  const unhoist = tool(t("whole tree"), t("Show the whole tree again"), () => map.hoist(null));
  unhoist.hidden = true;
  const forms = tool("", "", () => map.toggleForm());
  forms.hidden = true;
  const full = tool(t("full"), t("The map on the full page, and back"), () => map.toggleFull());
  const tools = make("span", { className: "end" }, unhoist, forms, tool("−", t("Zoom out"), () => map.zoom(1 / 1.4)), tool("+", t("Zoom in"), () => map.zoom(1.4)), tool(t("fit"), t("Fit the whole map"), () => map.fit()), tool("◎", t("Go to current node"), () => map.find()), full);
  const size = make("span");
  size.dataset.size = "";
  const canvas = /** @type {HTMLCanvasElement} */ (make("canvas", { tabIndex: 0 }));
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", t("Map of the tree. The outline shows the same as a list. Arrow keys move, plus and minus zoom, 0 fits; in an icicle Enter goes to a text and z shows its branch."));
  const tip = make("div", { className: "map-tip", hidden: true });
  const frame = make("div", { className: "map-frame" }, canvas, tip);
  map.replaceChildren(make("div", { className: "map-head" }, size, tools), frame);
  return { unhoist, forms, canvas, tip, frame };
}
