// @ts-check
// Words on the map, from near: first words beside the dots, and how many a folded run holds.

import { eachIn, eachRow } from "./seen.js";

/** @typedef {import("./draw.js").Sight} Sight */

/** Labels where there is room to the right. @param {Sight} sight @param {number} beside pixels from a dot's middle */
export function labels({ pen, scene, camera, facts, ink, frame }, beside) {
  const { x, y } = scene.layout;
  const names = new Map(facts.rings.map((one) => [one.slot, one.name]));
  write(pen, ink.font, 11);
  eachRow(scene.rows, camera, frame, (row) => {
    /** @type {number[]} */
    const places = [];
    eachIn(scene.rows, row, camera, frame, false, (place) => places.push(place));
    places.forEach((place, at) => {
      const ax = camera.toX(x[place]);
      const next = places[at + 1];
      const room = Math.min(150, (next === undefined ? frame.width : camera.toX(x[next])) - ax - 34);
      const slot = scene.slots[place];
      const name = names.get(slot);
      if (room < 42 || (!name && facts.matches && !facts.isMatch(slot))) return;
      const words = name ?? facts.labelOf(slot);
      if (!words) return;
      pen.fillStyle = name ? ink.ink : ink.soft;
      pen.fillText(clipped(pen, words, room), ax + beside, camera.toY(y[place]));
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
