// @ts-check
// The main line of the tree: End follows it where somebody marked one. The server knows where it
// leads; it is asked when the page needs it, and again once something was written or marked.

import { json } from "../live/api.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {{node: string, how: "marked" | "written", marked: string | null}} MainLine */

const CHANGES = ["node.added", "node.flagged", "mark.added", "mark.removed"];

/** @type {WeakMap<TreePage, {line: Promise<MainLine> | null}>} */
const known = new WeakMap();

/** Where the main line leads; null where that cannot be known now. @param {TreePage} page @returns {Promise<MainLine | null>} */
export function mainLine(page) {
  let kept = known.get(page);
  if (!kept) {
    const fresh = { line: /** @type {Promise<MainLine> | null} */ (null) };
    for (const kind of CHANGES) page.events.on(kind, () => void (fresh.line = null));
    known.set(page, fresh);
    kept = fresh;
  }
  kept.line ??= json(`${page.api}/main-line`);
  const asked = kept;
  return asked.line?.catch(() => ((asked.line = null), null)) ?? Promise.resolve(null);
}

/** The text that End leads to from a slot by a marked main line; "" if the slot is not above its end.
 * @param {TreePage} page @param {number} slot */
export async function endOfMainLine(page, slot) {
  const line = await mainLine(page);
  if (line?.how !== "marked" || !page.store) return "";
  const end = page.store.slotOf(line.node);
  const isAbove = end !== null && end !== slot && page.store.pathTo(line.node).includes(slot);
  return isAbove ? page.store.selected(end) : "";
}
