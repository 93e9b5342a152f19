// @ts-check
// Comparing: what may be compared with a node, taking one of those that were, and two texts word
// by word.

import { call } from "../live/calls.js";
import { act, chooseVersion } from "./actions.js";
import { VERSION_PRUNED } from "./store.js";

/** @typedef {import("./store.js").TreeStore} TreeStore */

/** The node first, then the other versions of its slot and its siblings; where there
 * is neither, what hangs below. @param {TreeStore} store @param {string} id */
export function besides(store, id) {
  const slot = store.slotOf(id);
  if (slot === null) return [id];
  const parent = store.parents[slot];
  const versions = store.versionsOf(slot).filter((version) => !(store.flags[version] & VERSION_PRUNED));
  const siblings = parent === null ? [] : store.childrenOf(parent).filter((sibling) => sibling !== slot);
  const ids = new Set([id, ...versions.map((version) => store.ids[version]), ...siblings.map((sibling) => store.selected(sibling))]);
  if (ids.size > 1) return [...ids];
  const below = store.childrenOf(slot).map((child) => store.selected(child));
  return below.length > 1 || parent === null ? below : [id, ...below];
}

/** Opens the comparison. @param {string[]} ids the first is what the others are measured by */
export function compare(ids) {
  document.dispatchEvent(new CustomEvent("compare", { detail: ids }));
}

act("compare", ({ page, id, button }) => {
  // Below its heading are the versions that can be compared.
  const listed = button?.closest("h2")?.nextElementSibling?.querySelectorAll("[data-version-text]") ?? [];
  const versions = [...listed].map((row) => row.getAttribute("data-version-text") ?? "");
  if (versions.length) compare(versions);
  else if (page.store) compare(besides(page.store, id));
  else page.addEventListener("store", () => page.store && compare(besides(page.store, id)), { once: true });
});

act("take", async ({ page, id }) => {
  const { store } = page;
  const slot = store?.slotOf(id) ?? null;
  if (store && slot !== null && store.selected(slot) !== id) {
    // Of another version on the path, what follows stays.
    if (store.pathTo(page.position).includes(slot)) return chooseVersion(page, id);
    await page.say(call("switch", { ref: id }));
    store.choices.set(store.ids[slot], id);
    page.emit("redraw");
  }
  page.go(id);
});

// Two texts word by word: which words of the second are not in the first, in order.

const MOST = 4000; // words; above, a text counts as changed as a whole

/** @typedef {{text: string, changed: boolean}} Piece */

/** Words with the blanks that follow them; an image is one word. @param {string} text */
function words(text) {
  return text.match(/!\[[^[\]\n]{0,1000}\]\(image:[0-9a-f]{64}\)\s*|(?:(?!!\[)\S|!)(?:(?!!\[)\S)*\s*|\s+/g) ?? [];
}

/** Whether two words are the same but for the blanks behind them. @param {string} word @param {string} other */
function same(word, other) {
  return word.trimEnd() === other.trimEnd();
}

/**
 * The pieces of `after`, in order, each changed against `before` or not.
 * @param {string} before @param {string} after @returns {Piece[]}
 */
export function changes(before, after) {
  const old = words(before);
  const now = words(after);
  if (old.length > MOST || now.length > MOST) return [{ text: after, changed: before !== after }];
  const kept = common(old, now);
  /** @type {Piece[]} */
  const pieces = [];
  now.forEach((text, at) => {
    const changed = !kept.has(at);
    const last = pieces.at(-1);
    if (last?.changed === changed) last.text += text;
    else pieces.push({ text, changed });
  });
  return pieces;
}

/** The places in `now` of a longest common run of words. @param {string[]} old @param {string[]} now */
function common(old, now) {
  const width = now.length + 1;
  const table = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      table[at] = same(old[i], now[j]) ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  const kept = new Set();
  for (let i = 0, j = 0; i < old.length && j < now.length; ) {
    if (same(old[i], now[j])) {
      kept.add(j);
      i += 1;
      j += 1;
    } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return kept;
}
