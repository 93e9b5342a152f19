// @ts-check
// Which places are on the screen, and from afar which of them: never more than there are pixels.

import { ROOM_X, ROOM_Y } from "./camera.js";

/** @typedef {import("./camera.js").Camera} Camera */
/** @typedef {import("./scene.js").Rows} Rows */
/** @typedef {{width: number, height: number}} Frame */

const MARGIN = 20; // CSS pixels around the frame
const CELL = 2; // pixels, from afar, in which one dot hides the others
const LEAVING = 200; // lines from one row that leave the frame on one side

/** The rows from above the frame to below it: every one, or from afar a few to a pixel.
 * @param {Rows} rows @param {Camera} camera @param {Frame} frame @param {(row: number) => void} visit */
export function eachRow(rows, camera, { height }, visit) {
  const room = ROOM_Y * camera.k;
  const step = Math.max(1, Math.ceil(0.5 / room));
  const top = Math.max(0, Math.floor((-MARGIN - camera.y) / room));
  const bottom = Math.min(rows.count - 1, Math.ceil((height + MARGIN - camera.y) / room));
  for (let row = top - (top % step); row <= bottom; row += step) visit(row);
}

/** The places of a row in the frame; from afar not those that another would hide.
 * @param {Rows} rows @param {number} row @param {Camera} camera @param {Frame} frame @param {boolean} isFar
 * @param {(place: number) => void} visit */
export function eachIn(rows, row, camera, { width }, isFar, visit) {
  const { x } = rows.layout;
  const unit = ROOM_X * camera.kx;
  const left = (-MARGIN - camera.x) / unit;
  const right = (width + MARGIN - camera.x) / unit;
  let at = rows.first(row, (place) => x[place] >= left);
  const end = rows.first(row, (place) => x[place] > right);
  const gap = isFar ? CELL / unit : 0;
  while (at < end) {
    const place = rows.order[at];
    visit(place);
    at += 1;
    if (at < end && gap && x[rows.order[at]] < x[place] + gap) at = rows.first(row, (other) => x[other] >= x[place] + gap);
  }
}

/** The places of a row out of the frame whose line to the place above crosses it.
 * @param {Rows} rows @param {number} row @param {Camera} camera @param {Frame} frame @param {(place: number) => void} visit */
export function eachLeaving(rows, row, camera, { width }, visit) {
  const { x, up } = rows.layout;
  const unit = ROOM_X * camera.kx;
  const left = (-MARGIN - camera.x) / unit;
  const right = (width + MARGIN - camera.x) / unit;
  // Places are in the order of those above them, so that either side is one stretch.
  const above = (/** @type {number} */ place) => (up[place] < 0 ? x[place] : x[up[place]]);
  const first = rows.first(row, (place) => x[place] >= left);
  const end = rows.first(row, (place) => x[place] > right);
  some(rows.first(row, (place) => above(place) >= left), first);
  some(end, rows.first(row, (place) => above(place) > right));

  /** @param {number} from @param {number} to */
  function some(from, to) {
    const step = Math.max(1, Math.ceil((to - from) / LEAVING));
    for (let at = from; at < to; at += step) visit(rows.order[at]);
  }
}

/** From afar, whether something is drawn already where a dot would be: it would not be seen.
 * @param {boolean} isFar @param {Frame} frame */
export function cells(isFar, { width, height }) {
  if (!isFar) return () => false;
  const across = Math.ceil((width + 2 * MARGIN) / CELL) + 1;
  const taken = new Uint8Array(across * (Math.ceil((height + 2 * MARGIN) / CELL) + 1));
  return (/** @type {number} */ x, /** @type {number} */ y) => {
    const cell = ((y + MARGIN) >> 1) * across + ((x + MARGIN) >> 1);
    if (taken[cell]) return true;
    taken[cell] = 1;
    return false;
  };
}
