// @ts-check
// What may be compared with a node, and taking one of those that were.

import { act } from "./actions.js";
import { VERSION_PRUNED } from "./store.js";

/** @typedef {import("./store.js").TreeStore} TreeStore */

/** The node first, then the other versions of its slot and what stands beside it; where there
 * is neither, what hangs below. @param {TreeStore} store @param {string} id */
export function besides(store, id) {
  const slot = store.slotOf(id);
  if (slot === null) return [id];
  const parent = store.parents[slot];
  const versions = store.versionsOf(slot).filter((one) => !(store.flags[one] & VERSION_PRUNED));
  const siblings = parent === null ? [] : store.childrenOf(parent).filter((one) => one !== slot);
  const found = new Set([id, ...versions.map((one) => store.ids[one]), ...siblings.map((one) => store.standing(one))]);
  if (found.size > 1) return [...found];
  const below = store.childrenOf(slot).map((one) => store.standing(one));
  return below.length > 1 || parent === null ? below : [id, ...below];
}

/** Opens the comparison. @param {string[]} ids the first is what the others are measured by */
export function compare(ids) {
  document.dispatchEvent(new CustomEvent("compare", { detail: ids }));
}

act("compare", ({ page, id, button }) => {
  // Below its heading stand the versions of which it says that they may be compared.
  const listed = button?.closest("h2")?.nextElementSibling?.querySelectorAll("[data-version]") ?? [];
  const versions = [...listed].map((row) => row.getAttribute("data-version") ?? "");
  if (versions.length) compare(versions);
  else if (page.store) compare(besides(page.store, id));
  else page.addEventListener("store", () => page.store && compare(besides(page.store, id)), { once: true });
});

act("take", async ({ page, id }) => {
  const slot = page.store?.slotOf(id);
  if (page.store && slot !== null && slot !== undefined && page.store.standing(slot) !== id) {
    await page.say(`switch to ${id}`);
    page.store.choices.set(page.store.ids[slot], id);
    page.emit("redraw");
  }
  page.go(id);
});
