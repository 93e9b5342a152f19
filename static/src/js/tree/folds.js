// @ts-check
// Which nodes of the path are folded to their summary; this browser remembers it.

import { act } from "./actions.js";
import { t } from "../t.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const WORDS = 30;
const MOST = 20_000; // folds kept for one tree, the newest

/** The first words of a text, on one line. @param {string} text */
export function firstWords(text) {
  const words = text.trim().split(/\s+/, WORDS + 1);
  const shown = words.slice(0, WORDS).join(" ");
  return words.length > WORDS ? `${shown} …` : shown;
}

export class Folds {
  /** @param {string} tree @param {Pick<Storage, "getItem" | "setItem">} store */
  constructor(tree, store) {
    this.name = `heddle.folds.${tree}`;
    this.store = store;
    /** @type {Set<string>} */
    this.ids = new Set((store.getItem(this.name) ?? "").split(" ").filter(Boolean));
  }

  /** @param {Iterable<string>} ids @param {boolean} isFolded */
  set(ids, isFolded) {
    for (const id of ids) {
      if (isFolded) this.ids.add(id);
      else this.ids.delete(id);
    }
    try {
      this.store.setItem(this.name, [...this.ids].slice(-MOST).join(" "));
    } catch {
      // A full store forgets the folds, nothing else.
    }
  }
}

/** Draws nodes folded or open, as it is remembered. @param {Iterable<Element>} nodes @param {Folds} folds */
export function drawFolds(nodes, folds) {
  for (const node of nodes) {
    const button = node.querySelector(":scope > header > .fold");
    if (!button) continue;
    const isFolded = folds.ids.has(node.getAttribute("data-id") ?? "");
    if (isFolded) node.querySelector(":scope > .summary") ?? summarise(node);
    node.classList.toggle("folded", isFolded);
    button.setAttribute("aria-expanded", String(!isFolded));
  }
}

/** Gives a node its first words as summary. @param {Element} node */
function summarise(node) {
  const text = node.querySelector(":scope > .text");
  const summary = document.createElement("p");
  summary.className = "summary";
  summary.id = `summary-${node.getAttribute("data-id")}`; // so that no other paragraph becomes it
  summary.dataset.own = "";
  summary.dir = "auto";
  summary.textContent = firstWords(text?.textContent ?? "") || t("empty");
  text?.before(summary);
}

/** @param {TreePage} page @param {Iterable<string>} ids @param {boolean} isFolded */
function fold(page, ids, isFolded) {
  page.folds.set(ids, isFolded);
  page.emit("folded");
}

act("fold", ({ page, id, host }) => fold(page, [id], !host.classList.contains("folded")));

act("fold-above", ({ page, id }) => {
  const drawn = [...document.querySelectorAll(".stretch > [data-id]")].map((node) => node.getAttribute("data-id") ?? "");
  const path = page.store ? page.store.pathTo(id).map((slot) => /** @type {import("./store.js").TreeStore} */ (page.store).selected(slot)) : drawn;
  fold(page, path.slice(0, path.indexOf(id)), true);
});

act("unfold-all", ({ page }) => fold(page, [...page.folds.ids], false));
