// @ts-check
// Who can be asked and who takes part, as it is now: read again when the reader comes back to the
// tab or opens a list of them, so that a model added elsewhere needs no reload.

import { Newest, part, Refused } from "../live/api.js";
import { atMostEvery } from "../live/at-most-every.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const LISTS = '[data-agents], [data-fold="people"]';
const REST_MS = 2000;
const reads = new Newest();

/** @param {TreePage} page @param {AbortSignal} signal */
export function keepCast(page, signal) {
  const ask = atMostEvery(
    REST_MS,
    () =>
      void read(page, signal).catch((error) => {
        if (!(error instanceof Refused) && error.name !== "AbortError") throw error;
      }),
    signal,
  );
  const look = () => {
    if (!document.hidden) ask();
  };
  window.addEventListener("focus", look, { signal });
  document.addEventListener("visibilitychange", look, { signal });
  document.addEventListener("click", (event) => /** @type {Element} */ (event.target).closest(LISTS) && look(), { signal });
}

/** @param {TreePage} page @param {AbortSignal} signal */
async function read(page, signal) {
  const number = reads.ask();
  const fetched = new DOMParser().parseFromString(await part(`${page.web}/cast`, signal), "text/html");
  if (reads.isPast(number)) return;
  const cast = JSON.parse(fetched.getElementById("cast-settings")?.textContent ?? "[]");
  page.cast = new Map(cast.map((/** @type {import("./page.js").Who} */ who) => [who.id, who]));
  const changed = [...document.querySelectorAll("[data-part]")].filter((list) => swap(list, fetched));
  if (!changed.length) return;
  document.dispatchEvent(new CustomEvent("cast"));
  page.emit("here");
}

/** Takes over a list that has changed; whoever was chosen stays chosen. Whether it has.
 * @param {Element} list @param {Document} fetched */
function swap(list, fetched) {
  const fresh = fetched.querySelector(`[data-part="${list.getAttribute("data-part")}"]`);
  if (!fresh || rows(list) === rows(fresh)) return false;
  const kept = new Map(fields(list).map((field) => [keyOf(field), field]));
  list.replaceChildren(...fresh.childNodes);
  for (const field of fields(list)) {
    const before = kept.get(keyOf(field));
    if (before) [field.checked, field.value] = [before.checked, before.value];
    else if (kept.size) field.checked = false;
  }
  return true;
}

/** What a list says, without where somebody is at the moment. @param {Element} list */
function rows(list) {
  return [...list.children].map((row) => (row.querySelector("[data-where]") ? row.querySelector("b") : row)?.textContent?.replace(/\s+/g, " ").trim()).join("|");
}

/** @param {Element} list */
function fields(list) {
  return [...list.querySelectorAll("input")];
}

/** @param {HTMLInputElement} field */
function keyOf(field) {
  return field.type === "number" ? field.name : `${field.name}:${field.value}`;
}
