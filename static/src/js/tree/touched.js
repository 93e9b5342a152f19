// @ts-check
// Which slots an event touches: those whose drawing it changes.

/** @typedef {import("./store.js").TreeStore} TreeStore */

/** @param {TreeStore} store @param {string} id @returns {number[]} */
function around(store, id) {
  const slot = store.slotOf(id);
  if (slot === null) return [];
  const parent = store.parents[slot];
  const touched = parent === null ? [slot] : [slot, parent];
  // A reply hangs below a note, and the note is drawn with its text.
  const above = parent === null || store.kinds[parent] === "text" ? null : store.parents[parent];
  return above === null || above === undefined ? touched : [...touched, above];
}

/** @type {Record<string, (store: TreeStore, payload: any) => number[]>} */
const TOUCHES = {
  "node.added": (store, { node }) => around(store, node.id),
  "node.flagged": (store, { node }) => around(store, node),
  "annotation.resolved": (store, { node }) => around(store, node),
  "annotation.reopened": (store, { node }) => around(store, node),
  "mark.added": (store, { mark }) => around(store, mark.item),
  "mark.removed": (store, { mark }) => around(store, mark.item),
  "link.added": (store, { link }) => [link.source, link.target].flatMap((end) => around(store, String(end))),
  "link.removed": (store, { link }) => [link.source, link.target].flatMap((end) => around(store, String(end))),
  "generation.started": (store, { generation }) => around(store, generation.point),
};

/** The slots that must be drawn anew after an event. A new sibling changes those beside it,
 * which are drawn when their parent is. @param {TreeStore} store @param {{kind: string, payload?: any}} event */
export function slotsTouched(store, event) {
  return TOUCHES[event.kind]?.(store, event.payload) ?? [];
}
