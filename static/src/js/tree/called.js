// @ts-check
// What a text is called in labels and messages, where its id would say nothing: its first words.

import { t } from "../t.js";

const MOST = 40; // characters
const SPOKEN = 200;

/** A text by its first words in quotes; "this text" where it has none. @param {string} text */
export function called(text) {
  const line = text.trim().replace(/\s+/g, " ");
  if (!line) return t("this text");
  const letters = [...line];
  const words = letters.length > MOST ? `${letters.slice(0, MOST - 1).join("").trimEnd()}…` : line;
  return t("“{words}”", { words });
}

/** A text of the tree, by what is on the page or was read for the map. @param {import("./page.js").TreePage} page @param {string} id */
export function calledOf(page, id) {
  const drawn = document.querySelector(`article[data-id="${CSS.escape(id)}"] .text`);
  return called(drawn?.textContent || page.excerpts.known?.get(id) || "");
}

/** How a screen reader says a text of the tree: who wrote it, and how it begins.
 * @param {import("./page.js").TreePage} page @param {string} id @param {string} text */
export function spokenText({ store, cast }, id, text) {
  const slot = store?.slotOf(id) ?? null;
  if (slot !== null && store?.parents[slot] === null) return t("The root");
  const author = cast.get(store?.authors[store.places.get(id) ?? -1] ?? "");
  const words = [...text.trim().replace(/\s+/g, " ")].slice(0, SPOKEN).join("") || t("empty");
  return author ? `${author.name}: ${words}` : words;
}

/** Who wrote a note. @param {Element | null} note */
export function writerOf(note) {
  return note?.querySelector("header .by")?.textContent ?? "";
}
