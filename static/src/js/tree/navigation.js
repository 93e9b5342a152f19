// @ts-check
// Where the moving keys lead, by what is known of the tree's shape; End by its main line, and the
// keys of bookmarks by the order in which the tree is read.

import { toast } from "../elements/loom-toast.js";
import { t } from "../t.js";
import { endOfMainLine } from "./main-line.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {import("./store.js").TreeStore} TreeStore */

/** The slot that a move leads to from a slot; undefined: it stays.
 * @type {Record<string, (store: TreeStore, slot: number) => number | undefined>} */
export const MOVES = {
  parent: (store, slot) => store.parents[slot] ?? undefined,
  child: (store, slot) => store.onward(slot),
  "sibling-before": (store, slot) => store.sibling(slot, -1),
  "sibling-after": (store, slot) => store.sibling(slot, 1),
  root: (store, slot) => store.pathTo(store.ids[slot])[0],
  leaf: (store, slot) => store.leafBelow(slot),
  walk: (store, slot) => {
    const below = store.childrenOf(slot);
    return below[Math.floor(Math.random() * below.length)];
  },
};

/** Moves now, or as soon as the shape of the tree is known. @param {string} name */
export function moveBy(name) {
  return (/** @type {TreePage} */ page) => {
    if (page.store) go(page, name);
    else page.addEventListener("store", () => go(page, name), { once: true });
    return true;
  };
}

/** @param {TreePage} page @param {string} name */
async function go(page, name) {
  const slot = page.store?.slotOf(page.position);
  if (!page.store || slot === null || slot === undefined) return;
  const end = name === "leaf" ? await endOfMainLine(page, slot) : "";
  if (end) return page.go(end, { isSpoken: true });
  const target = MOVES[name](page.store, slot);
  if (target !== undefined) page.go(page.store.selected(target), { isSpoken: true });
  else if (name === "walk") say(t("The path ends here."));
}

/** Moves to the next bookmark, or to the one before, as soon as the bookmarks are known. @param {-1 | 1} step */
export function bookmarkBy(step) {
  return (/** @type {TreePage} */ page) => {
    if (page.store && page.marks.isLoaded) goToBookmark(page, step);
    else page.marks.addEventListener("marks", () => bookmarkBy(step)(page), { once: true });
    return true;
  };
}

/** @param {TreePage} page @param {-1 | 1} step */
function goToBookmark(page, step) {
  const store = /** @type {TreeStore} */ (page.store);
  const target = nextBookmark(store, page.marks.items("bookmark"), page.position, step);
  if (target) page.go(target, { isSpoken: true });
  else say(t("There are no bookmarks in this tree."));
}

/** The bookmarked text that follows a text where the tree is read from its root, each branch to its end, or the one
 * before; after the last comes the first. "" where there is none.
 * @param {TreeStore} store @param {Set<string>} items @param {string} from @param {-1 | 1} step */
export function nextBookmark(store, items, from, step) {
  const texts = new Set([...items].map((id) => store.textOf(id)).filter((id) => store.slotOf(id) !== null));
  const places = [...texts].map((id) => ({ id, place: placeOf(store, id) })).sort((one, other) => compare(one.place, other.place));
  const here = placeOf(store, from);
  const next = step > 0 ? places.find(({ place }) => compare(place, here) > 0) : places.filter(({ place }) => compare(place, here) < 0).at(-1);
  const { id } = next ?? places.at(step > 0 ? 0 : -1) ?? { id: "" };
  const isHere = store.slotOf(id) === store.slotOf(from);
  return isHere ? from : id;
}

/** Where a text is: for each slot on its path, which child of the one above it is. @param {TreeStore} store @param {string} id */
function placeOf(store, id) {
  const path = store.pathTo(id);
  return path.slice(1).map((slot, at) => (store.below.get(path[at]) ?? []).indexOf(slot));
}

/** @param {number[]} one @param {number[]} other */
function compare(one, other) {
  const at = one.findIndex((place, index) => place !== other[index]);
  return at < 0 ? one.length - other.length : one[at] - (other[at] ?? -1);
}

/** Says why a key leads nowhere. @param {string} words */
const say = (words) => toast()?.show(words);
