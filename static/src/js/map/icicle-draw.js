// @ts-check
// Draws an icicle: cells by author, the newer the stronger; over them the reader's path, pins, and labels.

import { TALLEST } from "./icicle-camera.js";
import { cellsIn } from "./icicle.js";

/** @typedef {import("./icicle.js").Places} Places */
/** @typedef {import("./icicle.js").Cell} Cell */
/** @typedef {import("./icicle-camera.js").IcicleCamera} IcicleCamera */
/** @typedef {import("./draw.js").Ink} Ink */

/**
 * @typedef {{count: number, colourOf: (place: number) => number, isPruned: (place: number) => boolean, wordsOf: (place: number) => string,
 *   isMatch: ((place: number) => boolean) | null, hits: number[], position: number, cursor: number,
 *   pins: {place: number, colour: number, name: string}[], labels: {place: number, words: string, isChapter: boolean}[]}} Shown
 *   -1: nothing is there; `isMatch` is what a filter lets through
 * @typedef {{pen: CanvasRenderingContext2D, places: Places, camera: IcicleCamera, shown: Shown, ink: Ink}} Picture
 */

const LEAST = 2; // pixels of a cell
const APART = 16; // pixels from which rejected texts are drawn each
const NAMED = 13; // pixels of a row from which texts are named
const ROOM = 44; // and of a cell
const LEVELS = [0.34, 0.45, 0.56, 0.67, 0.78, 0.9]; // of age
const FADED = 0.1; // what a filter does not let through
const TAG = 15; // pixels
const DOT = 5; // the radius of the dot of the position
const BESIDE = DOT + 3; // pixels between the line of the path and words

/** How strong a text is drawn: the newest the strongest. @param {number} place @param {number} count */
export function levelOf(place, count) {
  return Math.min(LEVELS.length - 1, Math.floor((place / Math.max(1, count)) * LEVELS.length));
}

/** Draws, and returns how many cells. @param {Picture} picture */
export function drawIcicle(picture) {
  const { pen, places, camera } = picture;
  const { width, height } = camera.frame;
  pen.clearRect(0, 0, width, height);
  const least = (LEAST * camera.span) / width;
  const cells = cellsIn(places, camera.view(), least, (APART * camera.span) / width);
  fills(picture, cells);
  stubs(picture, cells);
  outline(picture, picture.shown.cursor, picture.ink.ink, [3, 2]);
  hits(picture);
  names(picture, cells);
  path(picture);
  tags(picture);
  return cells.length;
}

/** @param {Picture} picture @param {number} x @param {number} w @returns {[number, number]} left and width in pixels, cut to the frame */
function across({ camera }, x, w) {
  const left = Math.max(-2, camera.toX(x));
  const right = Math.min(camera.frame.width + 2, camera.toX(x + w));
  return [left, right - left];
}

/** The texts, one fill for each colour and age. @param {Picture} picture @param {Cell[]} cells */
function fills(picture, cells) {
  const { pen, camera, shown, ink } = picture;
  /** @type {Map<number, Cell[]>} */
  const groups = new Map();
  for (const cell of cells) {
    if (cell.kind === "stub") continue;
    const isFaded = shown.isMatch !== null && (cell.kind === "shadow" || !shown.isMatch(cell.place));
    const level = isFaded ? LEVELS.length : levelOf(cell.place, shown.count);
    const key = (shown.isPruned(cell.place) ? ink.threads.length : shown.colourOf(cell.place)) * 8 + level;
    const group = groups.get(key);
    if (group) group.push(cell);
    else groups.set(key, [cell]);
  }
  for (const [key, group] of groups) {
    pen.fillStyle = ink.threads[key >> 3] ?? ink.edge;
    const alpha = LEVELS[key & 7] ?? FADED;
    for (const { x, w, y, h, kind } of group) {
      const [left, wide] = across(picture, x, w);
      const high = h * camera.row;
      const gap = wide > 4 && high > 4 ? 1 : 0;
      pen.globalAlpha = kind === "shadow" ? alpha * 0.6 : alpha;
      pen.fillRect(left, camera.toY(y), Math.max(1, wide - gap), high - gap); // of rows side by side in one pixel each has its part
    }
  }
  pen.globalAlpha = 1;
}

/** What nobody continued, a third as high: with their number where there is room. @param {Picture} picture @param {Cell[]} cells */
function stubs(picture, cells) {
  const { pen, camera, shown, ink } = picture;
  const high = Math.max(1, Math.min(TAG, camera.row) / 3);
  pen.font = `10px ${ink.font}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const { place, x, w, y, kind, many } of cells) {
    if (kind !== "stub") continue;
    const [left, wide] = across(picture, x, w);
    const isFaded = shown.isMatch !== null && !(many === 1 && shown.isMatch(place));
    pen.fillStyle = many > 1 ? ink.edge : ink.threads[shown.colourOf(place)];
    pen.globalAlpha = isFaded ? FADED : 0.55;
    pen.fillRect(left, camera.toY(y), Math.max(1, wide - (wide > 4 ? 1 : 0)), high);
    pen.globalAlpha = 1;
    if (many < 2 || wide < 20 || camera.row < NAMED) continue;
    pen.fillStyle = ink.soft;
    pen.fillText(`+${many}`, left + wide / 2, camera.toY(y) + high + 6);
  }
}

/** @param {Picture} picture @param {number} place @param {string} colour @param {number[]} [dash] */
function outline(picture, place, colour, dash = []) {
  if (place < 0) return;
  const { pen, camera, places } = picture;
  const [left, wide] = across(picture, places.x[place], places.w[place]);
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.setLineDash(dash);
  pen.strokeRect(left, camera.toY(places.y[place]), Math.max(3, wide - 1), Math.max(3, places.h[place] * camera.row - 1));
  pen.setLineDash([]);
}

/** A light around what a search has found. @param {Picture} picture */
function hits(picture) {
  const { pen, camera, places, shown, ink } = picture;
  pen.strokeStyle = ink.link;
  pen.lineWidth = 2;
  for (const place of shown.hits) {
    const [left, wide] = across(picture, places.x[place], places.w[place]);
    if (wide > -2 && left < camera.frame.width) pen.strokeRect(left - 1, camera.toY(places.y[place]) - 1, Math.max(4, wide), Math.max(4, places.h[place] * camera.row));
  }
}

/** First words in the cells that have room for them, beside the line of the path. @param {Picture} picture @param {Cell[]} cells */
function names(picture, cells) {
  const { pen, places, camera, shown, ink } = picture;
  const line = shown.position < 0 ? -1 : middleOf(picture, shown.position, DOT);
  const lowest = shown.position < 0 ? -1 : places.y[shown.position];
  pen.font = `11px ${ink.font}`;
  pen.textAlign = "left";
  pen.direction = "ltr"; // the map's right side stays right, whatever the page's language
  pen.textBaseline = "middle";
  for (const { place, x, w, y, h, kind, many } of cells) {
    const high = kind === "stub" ? Math.min(TAG, camera.row) / 3 : h * camera.row;
    if (kind === "shadow" || many > 1 || high < NAMED) continue;
    const [left, wide] = across(picture, x, w);
    const [from, room] = roomBeside(Math.max(left, 0), Math.min(left + wide, camera.frame.width), y > lowest ? -1 : line);
    if (room < ROOM) continue;
    const words = shown.wordsOf(place);
    if (!words) continue;
    const isStrong = kind === "text" && levelOf(place, shown.count) >= 4 && (!shown.isMatch || shown.isMatch(place)) && !shown.isPruned(place);
    pen.fillStyle = isStrong ? ink.paper : ink.ink;
    pen.fillText(cut(pen, words, room), from, camera.toY(y) + Math.min(high, TALLEST) / 2);
  }
}

/** Where words of a cell begin, and how much room they have: on the broader side of a line that crosses it.
 * @param {number} left @param {number} right @param {number} line @returns {[number, number]} */
export function roomBeside(left, right, line) {
  const isBehind = line >= left && line <= right && line - left < right - line;
  const from = isBehind ? line + BESIDE : left + 4;
  const until = line >= left && line <= right && !isBehind ? line - BESIDE : right - 3;
  return [from, until - from];
}

/** The middle of a cell, where its dot is. A dot that is seen is seen whole. @param {Picture} picture @param {number} place @param {number} r */
function middleOf({ camera, places }, place, r) {
  const x = camera.toX(places.x[place] + places.w[place] / 2);
  const { width } = camera.frame;
  return x < 0 || x > width ? x : Math.min(width - r - 1, Math.max(r + 1, x));
}

/** The reader's path: a line through the cells above the position, which all hold it. @param {Picture} picture */
function path(picture) {
  const { pen, camera, places, shown, ink } = picture;
  const place = shown.position;
  if (place < 0) return;
  const x = middleOf(picture, place, DOT);
  const y = camera.toY(places.y[place]) + Math.min((places.h[place] * camera.row) / 2, 8);
  pen.lineCap = "round";
  for (const [colour, width] of /** @type {[string, number][]} */ ([[ink.panel, 5], [ink.ink, 2]])) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(x, Math.max(-4, camera.toY(0)));
    pen.lineTo(x, y);
    pen.stroke();
  }
  dot(pen, x, y, DOT, ink.ink, ink.panel);
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} r @param {string} fill @param {string} edge */
function dot(pen, x, y, r, fill, edge) {
  pen.beginPath();
  pen.arc(x, y, r, 0, 2 * Math.PI);
  pen.fillStyle = fill;
  pen.fill();
  pen.lineWidth = 2;
  pen.strokeStyle = edge;
  pen.stroke();
}

/** Where others are, what is bookmarked, and chapters: as tags that do not cover each other. @param {Picture} picture */
function tags(picture) {
  const { pen, camera, places, shown, ink } = picture;
  const taken = /** @type {[number, number, number, number][]} */ ([]);
  pen.textAlign = "left";
  pen.direction = "ltr";
  pen.textBaseline = "middle";
  const tag = (/** @type {number} */ place, /** @type {string} */ words, /** @type {string} */ sign, /** @type {string} */ colour, /** @type {boolean} */ isBold) => {
    const x = middleOf(picture, place, DOT - 1);
    const y = camera.toY(places.y[place]) + Math.min((places.h[place] * camera.row) / 2, 8);
    if (x < 0 || x > camera.frame.width || y < -4 || y > camera.frame.height) return;
    dot(pen, x, y, DOT - 1, colour, ink.panel);
    if (!words) return;
    pen.font = `${isBold ? "600 " : ""}11px ${ink.font}`;
    const shownWords = cut(pen, `${sign}${words}`, 150);
    const wide = pen.measureText(shownWords).width + 8;
    const left = x + 6 + wide > camera.frame.width ? Math.max(0, x - 6 - wide) : x + 6;
    const top = Math.max(0, Math.min(camera.frame.height - TAG, y - TAG / 2));
    if (taken.some(([l, t, r, b]) => left < r && left + wide > l && top < b && top + TAG > t)) return;
    taken.push([left, top, left + wide, top + TAG]);
    pen.globalAlpha = 0.92;
    pen.fillStyle = ink.panel;
    pen.fillRect(left, top, wide, TAG);
    pen.globalAlpha = 1;
    pen.fillStyle = ink.ink;
    pen.fillText(shownWords, left + 4, top + TAG / 2 + 0.5);
  };
  for (const { place, colour, name } of shown.pins) tag(place, name, "", ink.threads[colour], true);
  for (const { place, words, isChapter } of shown.labels) if (isChapter) tag(place, words, "", ink.link, true);
  for (const { place, words, isChapter } of shown.labels) if (!isChapter) tag(place, words, "⚑ ", ink.link, false);
}

/** @param {CanvasRenderingContext2D} pen @param {string} words @param {number} room */
function cut(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  let end = Math.min(words.length, Math.floor(room / 4.5));
  while (end > 1 && pen.measureText(`${words.slice(0, end)}…`).width > room) end -= 1;
  return `${words.slice(0, end).trimEnd()}…`;
}
