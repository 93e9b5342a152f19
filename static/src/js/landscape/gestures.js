// @ts-check
// Mouse, fingers, wheel and keys on the map by meaning.

/** @typedef {import("../elements/loom-landscape.js").LoomLandscape} LoomLandscape */

const A_CLICK = 5; // pixels that a pointer may move meanwhile
const STEP = 70; // pixels of an arrow key

/** @param {LoomLandscape} map @param {AbortSignal} signal */
export function listen(map, signal) {
  const canvas = /** @type {HTMLCanvasElement} */ (map.canvas);
  /** @type {Map<number, [number, number]>} */
  const fingers = new Map();
  let travelled = 0;
  const on = (/** @type {string} */ name, /** @type {(event: any) => void} */ run) => canvas.addEventListener(name, run, { signal, passive: false });

  on("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (fingers.size === 1) travelled = 0;
    if (map.isLasso && fingers.size === 1) map.line = [[event.offsetX, event.offsetY]];
    map.flight += 1;
    map.hover(-1, 0, 0);
  });
  on("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    const now = /** @type {[number, number]} */ ([event.offsetX, event.offsetY]);
    if (!before) return map.hover(map.under(...now), ...now);
    travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, now);
    if (map.isLasso && !other) {
      map.line.push(now);
      return map.redraw();
    }
    if (other) {
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]);
      const is = Math.hypot(now[0] - other[0], now[1] - other[1]);
      map.zoom(is / Math.max(1, was), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      map.eye.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    } else map.eye.pan(now[0] - before[0], now[1] - before[1]);
    map.moved();
  });
  for (const name of ["pointerup", "pointercancel"]) {
    on(name, (event) => {
      const was = fingers.delete(event.pointerId);
      const { line } = map;
      map.line = [];
      if (!was || fingers.size) return;
      if (name === "pointerup" && map.isLasso && travelled > A_CLICK) map.lasso(line);
      else if (name === "pointerup" && travelled <= A_CLICK) map.choose(map.under(event.offsetX, event.offsetY));
      map.redraw();
    });
  }
  on("pointerleave", () => map.hover(-1, 0, 0));
  on("wheel", (event) => {
    event.preventDefault();
    const step = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    map.zoom(Math.exp(-step * (event.ctrlKey ? 0.01 : 0.0018)), event.offsetX, event.offsetY);
  });
  on("dblclick", (event) => map.zoom(2, event.offsetX, event.offsetY));
  on("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !pressed(map, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** @param {LoomLandscape} map @param {string} key */
function pressed(map, key) {
  const { width, height } = map.eye.frame;
  const pan = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] })[key];
  if (pan) {
    map.eye.pan(...pan);
    map.moved();
  } else if (key === "+" || key === "=") map.zoom(1.4, width / 2, height / 2);
  else if (key === "-") map.zoom(1 / 1.4, width / 2, height / 2);
  else if (key === "0") map.fly(() => map.eye.fit());
  else if (key === "Enter") map.choose(nearMiddle(map));
  else if (key === "p" || key === "n") step(map, key === "n");
  else if (key === "Escape" && (map.chosen >= 0 || map.picked.length || map.isLasso)) {
    map.setLasso(false);
    map.pick([]);
    map.choose(-1);
  } else return false;
  return true;
}

/** The text nearest to the middle of what is seen. @param {LoomLandscape} map */
function nearMiddle(map) {
  const { width, height } = map.eye.frame;
  const [x, y] = map.eye.toWorld(width / 2, height / 2);
  return map.finder?.nearest(x, y, Math.max(width, height) / map.eye.scale, (at) => map.counts(at)) ?? -1;
}

/** On to the first text below the chosen one, or back to the one above. @param {LoomLandscape} map @param {boolean} isOn */
function step(map, isOn) {
  if (map.chosen < 0 || !map.points) return;
  const next = isOn ? (map.below(map.chosen)[0] ?? -1) : map.points.ups[map.chosen];
  if (next < 0) return;
  map.choose(next);
  map.see(next);
}
