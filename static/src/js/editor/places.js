// @ts-check
// Where words stand in a text that may have been changed since they were noted. Pure.

import { placesIn } from "../tree/token-places.js";

/** A change with what is around it. @typedef {[before: string, old: string, now: string, after: string]} Edit */

const LEAST = 24; // characters around a change by which its place is found, where more are not the same any more

/** Where each change belongs in a text; what has no place any more is left out.
 * @param {Edit[]} edits @param {string} text @returns {{from: number, to: number, now: string}[]} */
export function placesOf(edits, text) {
  const places = [];
  let from = 0;
  for (const [before, old, now, after] of edits) {
    const short = [before.slice(-LEAST), after.slice(0, LEAST)];
    for (const [head, tail] of [[before, after], short, [before, ""], [short[0], ""], ["", after], ["", short[1]]]) {
      const words = head + old + tail;
      const at = words ? text.indexOf(words, Math.max(0, from - head.length)) : 0;
      if (at < 0 || (!words && text)) continue;
      from = at + head.length + old.length;
      places.push({ from: at + head.length, to: from, now });
      break;
    }
  }
  return places;
}

/** How often words stand in a text up to a place, overlapping ones counted. @param {string} text @param {string} words @param {number} at */
export function nthOf(text, words, at) {
  let nth = 0;
  for (let next = text.indexOf(words); next >= 0 && next <= at; next = text.indexOf(words, next + 1)) nth += 1;
  return nth;
}

/** The stretch of a text of which characters of what is drawn of it were selected, which lacks the
 * marks of Markdown; null: nothing of it. @param {string} text @param {string} drawn @param {number} from @param {number} to */
export function selectedIn(text, drawn, from, to) {
  const letters = [...text];
  const places = placesIn(letters, drawn);
  let [start, end, at] = [-1, -1, 0];
  for (const [place, letter] of letters.entries()) {
    const [first, last] = places[place];
    if (last > first && first >= from && last <= to) {
      if (start < 0) start = at;
      end = at + letter.length;
    }
    at += letter.length;
  }
  return start < 0 ? null : { from: start, to: end };
}
