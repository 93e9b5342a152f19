// @ts-check
// What the weave remembers of asking: whom this path was asked of, and whether taking one stops
// the rest.

import { continueLines } from "./lines.js";

const REST = "heddle.rest";

/** Whether taking a candidate stops the reader's others. */
export function stopsRest() {
  return localStorage.getItem(REST) === "stop";
}

/** Keeps the choice in this browser. @param {Event} event */
export function keepRest(event) {
  const box = /** @type {HTMLInputElement} */ (event.target);
  if (box.matches("[data-rest]")) localStorage.setItem(REST, box.checked ? "stop" : "keep");
}

/** @param {Element} weave */
export function showRest(weave) {
  const box = /** @type {HTMLInputElement | null} */ (weave.querySelector("[data-rest]"));
  if (box) box.checked = stopsRest();
}

/** Where a weave hangs, and how many of whom the reader asked last on its path.
 * @param {Element} weave @returns {{point: string, asked: Record<string, number>}} */
export function madeOf(weave) {
  const section = /** @type {HTMLElement | null} */ (weave.querySelector("[data-weave]"));
  return { point: section?.dataset.point ?? "", asked: JSON.parse(section?.dataset.asked || "{}") };
}

/** The lines that ask the same again. @param {Element} weave */
export function linesOf(weave) {
  const { asked } = madeOf(weave);
  const counts = Object.fromEntries(Object.entries(asked).map(([name, many]) => [name, String(Math.min(many, 10))]));
  return continueLines({ n: "3", using: Object.keys(asked), counts });
}

/** The keys that take a card: its own, and those of the same texts folded into it.
 * @param {Element} card */
export function keysOf(card) {
  return (card.getAttribute("data-keys") ?? card.getAttribute("data-key") ?? "").split(" ");
}
