// @ts-check
// What part of the map is seen: a pan and a zoom, as plain numbers.

import { t } from "../t.js";

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
    this.fitted = ""; // the view that showed all of it
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
    this.fitted = this.view;
  }

  get view() {
    return [this.x, this.y, this.k, this.kx].join(" ");
  }

  /** Nobody has moved it since it was fitted. */
  get isFitted() {
    return this.fitted === this.view;
  }
}

// Pan, zoom and pointing on the map: mouse, fingers, wheel and keys.

/** @typedef {import("../elements/loom-map.js").LoomMap} LoomMap */

const REACH = 14;

/** @param {LoomMap} map @param {AbortSignal} signal */
export function listenForPointers(map, signal) {
  const canvas = /** @type {HTMLCanvasElement} */ (map.canvas);
  /** @type {Map<number, {x: number, y: number}>} */
  const fingers = new Map();
  let travelled = 0;
  const listen = (/** @type {string} */ name, /** @type {(event: any) => void} */ run) => canvas.addEventListener(name, run, { signal, passive: false });

  listen("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (fingers.size === 1) travelled = 0;
    hideTip(map);
  });
  listen("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return hover(map, event);
    const now = { x: event.offsetX, y: event.offsetY };
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) pinch(map, before, now, other);
    else map.lens.pan(now.x - before.x, now.y - before.y);
    fingers.set(event.pointerId, now);
    map.redraw();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    listen(name, (event) => {
      const was = fingers.delete(event.pointerId);
      if (name === "pointerup" && was && travelled < 5 && !fingers.size) choose(map, event);
    });
  }
  listen("pointerleave", () => hideTip(map));
  listen("wheel", (event) => {
    event.preventDefault();
    const step = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    map.lens.zoom(Math.exp(-step * (event.ctrlKey ? 0.01 : 0.0016)), event.offsetX, event.offsetY);
    map.redraw();
  });
  listen("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !pressed(map, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** @param {LoomMap} map @param {{x: number, y: number}} before @param {{x: number, y: number}} now @param {{x: number, y: number}} other */
function pinch(map, before, now, other) {
  const was = Math.hypot(before.x - other.x, before.y - other.y);
  const is = Math.hypot(now.x - other.x, now.y - other.y);
  map.lens.zoom(is / Math.max(1, was), (now.x + other.x) / 2, (now.y + other.y) / 2);
}

/** @param {LoomMap} map @param {MouseEvent} event */
function slotAt(map, event) {
  const camera = map.camera;
  if (!map.scene || !camera) return undefined;
  const unitX = camera.toX(1) - camera.toX(0);
  const unitY = camera.toY(1) - camera.toY(0);
  return map.scene.near((event.offsetX - camera.x) / unitX, (event.offsetY - camera.y) / unitY, REACH / unitX, REACH / unitY);
}

/** @param {LoomMap} map @param {MouseEvent} event */
function choose(map, event) {
  if (map.icicle) {
    const place = map.icicle.at(event.offsetX, event.offsetY);
    return place === undefined ? undefined : map.icicle.choose(place);
  }
  const slot = slotAt(map, event);
  const store = map.page?.store;
  if (slot !== undefined && store) map.page?.go(store.selected(slot));
}

/** @param {LoomMap} map @param {MouseEvent} event */
export function hover(map, event) {
  if (map.icicle) return hoverCell(map, map.icicle, event);
  const slot = slotAt(map, event);
  const store = map.page?.store;
  map.canvas?.classList.toggle("over", slot !== undefined);
  if (slot === undefined || !store || !map.tip) return hideTip(map);
  const id = store.selected(slot);
  const author = map.page?.cast.get(store.authors[slot])?.name ?? "";
  const words = map.page?.excerpts.of(id) ?? "";
  map.pointed = words ? undefined : event;
  showTip(map, event, store.parents[slot] === null ? t("The root") : `${id} · ${author}${words ? `\n${words}` : ""}`);
}

/** What the pointer is on in an icicle. @param {LoomMap} map @param {import("./icicle-view.js").IcicleView} icicle @param {MouseEvent} event */
function hoverCell(map, icicle, event) {
  const place = icicle.at(event.offsetX, event.offsetY);
  map.canvas?.classList.toggle("over", place !== undefined);
  if (place === undefined) return hideTip(map);
  map.pointed = place && !map.page?.excerpts.of(icicle.texts?.idOf(place) ?? "") ? event : undefined;
  showTip(map, event, icicle.describe(place));
}

/** @param {LoomMap} map @param {MouseEvent} event @param {string} words */
function showTip(map, event, words) {
  if (!map.tip) return;
  const room = map.extent();
  map.tip.textContent = words;
  map.tip.style.whiteSpace = "pre-line";
  map.tip.hidden = false;
  map.tip.style.left = `${Math.max(4, Math.min(event.offsetX + 12, room.width - map.tip.offsetWidth - 4))}px`;
  map.tip.style.top = `${event.offsetY > room.height - 110 ? event.offsetY - map.tip.offsetHeight - 12 : event.offsetY + 14}px`;
}

/** @param {LoomMap} map */
function hideTip(map) {
  map.pointed = undefined;
  if (map.tip) map.tip.hidden = true;
}

/** @param {LoomMap} map @param {string} key */
function pressed(map, key) {
  if (map.icicle?.pressed(key)) return true;
  const step = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] })[key];
  if (step) map.lens.pan(...step);
  else if (key === "+" || key === "=") map.zoom(1.25);
  else if (key === "-") map.zoom(0.8);
  else if (key === "0") map.fit();
  else return false;
  map.redraw();
  return true;
}
