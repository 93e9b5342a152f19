// @ts-check
// Pan, zoom and pointing on the map: mouse, fingers, wheel and keys.

import { t } from "../t.js";

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
    else map.camera?.pan(now.x - before.x, now.y - before.y);
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
    map.camera?.zoom(Math.exp(-step * (event.ctrlKey ? 0.01 : 0.0016)), event.offsetX, event.offsetY);
    map.redraw();
  });
  listen("keydown", (event) => {
    if (pressed(map, event.key)) event.preventDefault();
  });
}

/** @param {LoomMap} map @param {{x: number, y: number}} before @param {{x: number, y: number}} now @param {{x: number, y: number}} other */
function pinch(map, before, now, other) {
  const was = Math.hypot(before.x - other.x, before.y - other.y);
  const is = Math.hypot(now.x - other.x, now.y - other.y);
  map.camera?.zoom(is / Math.max(1, was), (now.x + other.x) / 2, (now.y + other.y) / 2);
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
  const slot = slotAt(map, event);
  const store = map.page?.store;
  if (slot !== undefined && store) map.page?.go(store.standing(slot));
}

/** @param {LoomMap} map @param {MouseEvent} event */
function hover(map, event) {
  const slot = slotAt(map, event);
  const store = map.page?.store;
  map.canvas?.classList.toggle("over", slot !== undefined);
  if (slot === undefined || !store || !map.tip) return hideTip(map);
  const id = store.standing(slot);
  const author = map.page?.cast.get(store.authors[slot])?.name ?? "";
  const words = map.page?.excerpts.of(id) ?? "";
  const room = map.extent();
  map.tip.textContent = store.parents[slot] === null ? t("The root") : `${id} · ${author}${words ? `\n${words}` : ""}`;
  map.tip.style.whiteSpace = "pre-line";
  map.tip.hidden = false;
  map.tip.style.left = `${Math.max(4, Math.min(event.offsetX + 12, room.width - map.tip.offsetWidth - 4))}px`;
  map.tip.style.top = `${event.offsetY > room.height - 110 ? event.offsetY - map.tip.offsetHeight - 12 : event.offsetY + 14}px`;
}

/** @param {LoomMap} map */
function hideTip(map) {
  if (map.tip) map.tip.hidden = true;
}

/** @param {LoomMap} map @param {string} key */
function pressed(map, key) {
  const step = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] })[key];
  if (step) map.camera?.pan(...step);
  else if (key === "+" || key === "=") map.zoom(1.25);
  else if (key === "-") map.zoom(0.8);
  else if (key === "0") map.fit();
  else return false;
  map.redraw();
  return true;
}
