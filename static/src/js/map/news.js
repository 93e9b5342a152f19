// @ts-check
// What the map hears from the page: the tree grew, somebody moved, something was searched for.

/** @param {import("../elements/loom-map.js").LoomMap} map @param {import("../tree/page.js").TreePage} page @param {AbortSignal} signal */
export function listenToPage(map, page, signal) {
  page.addEventListener("store", () => map.layOut(), { signal });
  page.addEventListener("changed", () => map.layOutSoon(), { signal });
  page.addEventListener("moved", () => map.moved(), { signal });
  page.addEventListener("here", () => map.redraw(), { signal });
  page.addEventListener("hits", (event) => map.light(/** @type {CustomEvent} */ (event).detail), { signal });
  page.filter.addEventListener("filter", () => map.sift(), { signal });
  page.marks.addEventListener("marks", () => map.sift(), { signal });
  page.excerpts.addEventListener("excerpts", () => map.redraw(), { signal });
  document.addEventListener("hoist", () => map.hoist(), { signal });
}
