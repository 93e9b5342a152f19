// @ts-check
// The outline as rows: which text slots are seen, how deep, and what each can do.

import { t } from "../t.js";
import { make } from "./forms.js";

const SEEN = /[^\s\p{Cf}]/u; // in words of which something is seen

/** @typedef {import("./store.js").TreeStore} TreeStore */
/** @typedef {{slot: number, level: number, indent: number, size: number, place: number, children: number, isOpen: boolean}} Row */

/**
 * The rows of an outline, from above to below. A row is indented only where its parent forks,
 * so that a long chain stays a straight line. Iterative: a chain may be 100,000 deep.
 * @param {TreeStore} store @param {(slot: number) => boolean} isOpen whether it is unfolded
 * @param {(slot: number) => number[]} [childrenOf] the slots shown below one @returns {Row[]}
 */
export function rowsOf(store, isOpen, childrenOf = (slot) => store.childrenOf(slot)) {
  const rows = [];
  /** @type {Row[]} */
  const stack = [];
  const push = (/** @type {number[]} */ slots, /** @type {number} */ level, /** @type {number} */ indent) => {
    for (let at = slots.length - 1; at >= 0; at -= 1) {
      stack.push({ slot: slots[at], level, indent, size: slots.length, place: at + 1, children: 0, isOpen: false });
    }
  };
  push(childrenOf(0), 1, 0);
  while (stack.length) {
    const row = /** @type {Row} */ (stack.pop());
    const children = childrenOf(row.slot);
    row.children = children.length;
    row.isOpen = children.length > 0 && isOpen(row.slot);
    rows.push(row);
    if (row.isOpen) push(children, row.level + 1, row.indent + (children.length > 1 ? 1 : 0));
  }
  return rows;
}

/** What a filter lets through: the slots that match, and with them the way to each.
 * @typedef {{matches: Set<number>, childrenOf: (slot: number) => number[]}} Sieve */

/** @param {TreeStore} store @param {(slot: number) => boolean} isMatch @returns {Sieve} */
export function sieve(store, isMatch) {
  const matches = new Set();
  const count = store.ids.length;
  const shown = new Uint8Array(count);
  const hidden = new Uint8Array(count); // below something that is pruned
  for (let slot = 1; slot < count; slot += 1) {
    const parent = store.parents[slot];
    if (parent === null || store.slots[slot] !== slot || store.kinds[slot] !== "text") continue;
    hidden[slot] = Number(hidden[parent] === 1 || store.isPruned(parent));
    if (hidden[slot] || !isMatch(slot)) continue;
    matches.add(slot);
    for (let at = /** @type {number | null} */ (slot); at !== null && !shown[at]; at = store.parents[at]) shown[at] = 1;
  }
  return { matches, childrenOf: (slot) => (store.below.get(slot) ?? []).filter((child) => shown[child]) };
}

// One row of the outline as it is drawn, and as it is read out.

const MOST_INDENT = 14;

/** @param {import("./page.js").TreePage} page @param {import("./store.js").TreeStore} store @param {import("./outline.js").Row} row
 * @param {{isOnPath: boolean, isAside: boolean, score?: number}} how aside: only the way to what a filter lets through; score: of a hit of the last search */
export function itemOf(page, store, row, { isOnPath, isAside, score }) {
  const id = store.selected(row.slot);
  const who = page.cast.get(store.authors[row.slot]);
  const isPruned = store.isPruned(row.slot);
  const excerpt = page.excerpts.of(id);
  const words = SEEN.test(excerpt) ? excerpt : id;
  const twig = make("span", { className: "twig", textContent: row.children ? (row.isOpen ? "−" : "+") : "·" });
  twig.setAttribute("aria-hidden", "true");
  const item = make("div", {}, twig, make("span", { className: "knot" }), make("span", { className: "excerpt", textContent: words }));
  if (score !== undefined) item.append(make("span", { className: "hit", textContent: `● ${score.toFixed(2)}` }));
  item.classList.toggle("on-path", isOnPath);
  item.classList.toggle("aside", isAside);
  item.classList.toggle("pruned", isPruned);
  item.setAttribute("role", "treeitem");
  const told = [`${who?.name ?? ""}: ${words}`, row.children ? t("{n} below", { n: store.countBelow(row.slot) }) : "", isPruned ? t("pruned") : "", score === undefined ? "" : t("found, {score}", { score: score.toFixed(2) })];
  item.setAttribute("aria-label", told.filter(Boolean).join(", "));
  item.setAttribute("aria-level", String(row.level));
  item.setAttribute("aria-setsize", String(row.size));
  item.setAttribute("aria-posinset", String(row.place));
  if (row.children) item.setAttribute("aria-expanded", String(row.isOpen));
  if (id === page.position) item.setAttribute("aria-current", "true");
  item.dataset.who = String(who?.colour ?? 0);
  item.style.paddingInlineStart = `${0.6 + Math.min(MOST_INDENT, row.indent) * 0.75}rem`;
  return item;
}
