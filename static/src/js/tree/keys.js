// @ts-check
// The keys of a tree page. Plain letters only, never Alt + letter: those type on a Mac.

import { composer, perform } from "./actions.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {{page: TreePage, event: KeyboardEvent}} Press */

const IS_MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

/** Whether keys go into a text now. @param {EventTarget | null} target */
export function isTyping(target) {
  // A field in a dialog that has just closed keeps the focus for a moment.
  if (!(target instanceof HTMLElement) || !target.checkVisibility()) return false;
  return target.isContentEditable || target.matches("input:not([type=checkbox]), textarea, select");
}

/** The node that keys act on: the one with the focus, else where the reader stands. @param {TreePage} page */
function subject(page) {
  const focused = document.activeElement?.closest(".stretch [data-id], .details[data-id]");
  const id = focused?.getAttribute("data-id") ?? page.position;
  const host = focused ?? document.querySelector(`#n-${CSS.escape(id)}`);
  const isText = host?.matches("article, .details");
  return { page, id, host: isText ? host : document.querySelector(".details"), button: null };
}

/** Moves by the store; each answers the node to go to, or undefined. */
const MOVES = /** @type {Record<string, (page: TreePage) => string | undefined>} */ ({
  ArrowLeft: (page) => at(page, (store, slot) => store.parents[slot] ?? undefined),
  ArrowRight: (page) => at(page, (store, slot) => store.onward(slot)),
  ArrowUp: (page) => at(page, (store, slot) => store.sibling(slot, -1)),
  ArrowDown: (page) => at(page, (store, slot) => store.sibling(slot, 1)),
  Home: (page) => at(page, (store, slot) => store.pathTo(store.ids[slot])[0]),
  End: (page) => at(page, (store, slot) => store.leafBelow(slot)),
  w: (page) => at(page, (store, slot) => {
    const below = store.childrenOf(slot);
    return below.length ? below[Math.floor(Math.random() * below.length)] : store.pathTo(store.ids[slot])[0];
  }),
});

/** @param {TreePage} page @param {(store: import("./store.js").TreeStore, slot: number) => number | undefined} find */
function at(page, find) {
  const slot = page.store?.slotOf(page.position);
  if (!page.store || slot === null || slot === undefined) return undefined;
  const found = find(page.store, slot);
  return found === undefined ? undefined : page.store.standing(found);
}

const ACTS = /** @type {Record<string, string>} */ ({ e: "edit", a: "annotate", x: "prune", s: "split" });

/** @returns {import("../elements/loom-weave.js").LoomWeave | null} */
const weave = () => document.querySelector("loom-weave");

/** Keys that work when nothing is being typed. True where the key meant something. @param {Press} press */
function pressedFree({ page, event }) {
  const key = event.key;
  if (MOVES[key]) return move(page, key);
  if (/^[1-9]$/.test(key)) return weave()?.takeKey(Number(key)) ?? false;
  if (key === "[" || key === "]") return bookmark(page, key === "[" ? -1 : 1);
  if (key === "h") return document.dispatchEvent(new CustomEvent("hoist", { detail: page.position }));
  if (!page.can.write) return false;
  if (ACTS[key]) return perform(ACTS[key], /** @type {any} */ (subject(page)));
  if (key === "b") return toggleBookmark(page);
  if (key === "g" || key === "r") return perform(key === "g" ? "continue" : "respond", /** @type {any} */ (subject(page)));
  if (key === ".") return weave()?.more() === undefined;
  return false;
}

/** Moves now, or as soon as the shape of the tree is known. @param {TreePage} page @param {string} key */
function move(page, key) {
  if (page.store) return go(page, MOVES[key](page));
  page.addEventListener("store", () => go(page, MOVES[key](page)), { once: true });
  return true;
}

/** @param {TreePage} page @param {string | undefined} id */
function go(page, id) {
  if (id) page.go(id);
  return true;
}

/** @param {TreePage} page */
function toggleBookmark(page) {
  const what = subject(page);
  const isSet = what.host?.querySelector('[data-act="unbookmark"]');
  return perform(isSet ? "unbookmark" : "bookmark", /** @type {any} */ (what));
}

/** The next bookmark in the list. @param {TreePage} page @param {number} step */
function bookmark(page, step) {
  const ids = [...document.querySelectorAll("#panel-bookmarks [data-go]")].map((one) => one.getAttribute("data-go") ?? "");
  if (!ids.length) return false;
  const place = ids.indexOf(page.position);
  return go(page, ids[(place + step + ids.length) % ids.length]);
}

/** Listens for the keys of the page until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function listenForKeys(page, signal) {
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
      if (pressed(page, event)) event.preventDefault();
    },
    { signal },
  );
}

/** @param {TreePage} page @param {KeyboardEvent} event */
function pressed(page, event) {
  const control = event.ctrlKey || event.metaKey;
  const typing = isTyping(event.target);
  if (control && event.key === "Enter") return Boolean(composer()?.ask());
  if (event.key === "Escape") return escape(typing);
  const moving = IS_MAC ? event.ctrlKey && event.altKey : event.altKey && !control;
  if (typing && moving && /^(Arrow|Home|End)/.test(event.key)) return move(page, event.key);
  if (control && !typing && event.key.toLowerCase() === "z") return undo(page, event.shiftKey);
  if (typing || control || event.altKey) return false;
  const target = /** @type {Element} */ (event.target);
  if (target.closest('[role="tree"], [role="tablist"], canvas') && /^(Arrow|Home|End|Page)/.test(event.key)) return false;
  if (event.shiftKey && event.key !== "?") return false;
  return pressedFree({ page, event });
}

/** @param {boolean} typing */
function escape(typing) {
  if (weave()?.halt()) return true;
  const open = document.querySelectorAll("details.menu[open]");
  for (const menu of open) menu.removeAttribute("open");
  if (typing) /** @type {HTMLElement} */ (document.activeElement).blur();
  return open.length > 0 || typing;
}

/** @param {TreePage} page @param {boolean} again */
function undo(page, again) {
  page.say(again ? "redo" : "undo").catch(() => {});
  return true;
}
