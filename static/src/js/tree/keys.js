// @ts-check
// The keys of a tree page: which action a press means, by the table that came with the page.

import { leave, rest } from "../focus.js";
import { composer, perform } from "./actions.js";
import { openFind } from "./finding.js";
import { shut } from "./menus.js";
import { toggleMode } from "./modes.js";
import { bookmarkBy, MOVES, moveBy } from "./navigation.js";
import { ratedBy } from "./ratings.js";
import { shortcutOf } from "./shortcuts.js";
import { isTyping, wantsText } from "./typing.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {{id: string, combo: string, where: "free" | "typing" | "any", words: string}} Key */

const FORMS = new Set(["edit", "annotate", "link", "split"]);

/** The node that keys act on: the one with the focus, else the reader's position. @param {TreePage} page @param {string} [name] of the act, which may open a form */
function subject(page, name = "") {
  const focused = document.activeElement?.closest(".stretch [data-id], .details[data-id]");
  const id = focused?.getAttribute("data-id") ?? page.position;
  const host = focused ?? document.querySelector(`#n-${CSS.escape(id)}`);
  const isText = host?.matches("article, .details");
  // In a buffer a form opens at the passage that it is about.
  const atPassage = FORMS.has(name) && !host?.matches("article") ? book()?.formAt(id) : undefined;
  return { page, id, host: /** @type {Element} */ (atPassage ?? (isText ? host : document.querySelector(".details"))), button: null };
}

/** @returns {import("../elements/loom-weave.js").LoomWeave | null} */
const weave = () => document.querySelector("loom-weave");

/** @returns {import("../elements/loom-turns.js").LoomTurns | null} */
const turns = () => document.querySelector("loom-turns");

/** The text of a buffer, once it is in an editor. @returns {import("../elements/loom-buffer.js").LoomBuffer | null} */
const book = () => document.querySelector("loom-buffer[data-on]");

/** @param {string} name @returns {(page: TreePage) => boolean} */
const act = (name) => (page) => {
  if (!page.can[name === "annotate" ? "comment" : "write"] || (isEmpty() && name !== "respond")) return false;
  const what = subject(page, name);
  // A form waits for its text, which the key before led to.
  if (FORMS.has(name) && !what.host) {
    document.addEventListener("drawn", () => perform(name, subject(page, name)), { once: true });
    return true;
  }
  return perform(name, what);
};

/** Whether the tree holds no text yet: there is nothing that a key could be about. */
const isEmpty = () => document.querySelector("loom-weave .empty") !== null;

/** What each action of the table does; false where it means nothing now.
 * @type {Record<string, (page: TreePage) => unknown>} */
export const ACTIONS = {
  find: (page) => openFind(page) === undefined,
  cite: () => !document.dispatchEvent(new CustomEvent("cite-here", { cancelable: true })),
  command: () => /** @type {any} */ (document.querySelector("loom-command"))?.open() === undefined,
  keys: () => /** @type {any} */ (document.querySelector("loom-keys"))?.open() === undefined,
  send: () => Boolean(composer()?.ask()),
  ask: () => Boolean(composer()?.askAgent()),
  stop: () => stopOrLeave(isTyping(document.activeElement)),
  undo: (page) => weave()?.untake() || book()?.untype() || Boolean(page.acts.undo()),
  redo: (page) => book()?.retype() || Boolean(page.acts.redo()),
  ...Object.fromEntries(Object.keys(MOVES).flatMap((name) => [name, `${name}-typing`].map((id) => [id, moveBy(name)]))),
  "bookmark-before": bookmarkBy(-1),
  "bookmark-after": bookmarkBy(1),
  map: () => document.dispatchEvent(new CustomEvent("map-full")),
  hoist: (page) => document.dispatchEvent(new CustomEvent("hoist", { detail: page.position })),
  ...Object.fromEntries(["continue", "edit", "respond", "annotate", "link", "prune", "split"].map((name) => [name, act(name)])),
  ...Object.fromEntries(["pin", "open"].map((name) => [name, (/** @type {TreePage} */ page) => !isEmpty() && perform(name, subject(page))])),
  stash: () => /** @type {import("../elements/loom-windows.js").LoomWindows | null} */ (document.querySelector("loom-windows"))?.stash() ?? false,
  compare: (page) => !isEmpty() && perform("compare", subject(page)),
  bookmark: toggleBookmark,
  "rate-plus": (page) => !isEmpty() && ratedBy(page, subject(page).id, "plus"),
  "rate-minus": (page) => !isEmpty() && ratedBy(page, subject(page).id, "minus"),
  focus: () => toggleMode("focus"),
  read: () => toggleMode("read"),
  more: (page) => page.can.write && !isEmpty() && weave()?.more() === undefined,
  alike: () => weave()?.unfold() ?? false,
  ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => [`take-${number}`, () => weave()?.takeKey(number) ?? false])),
};

/** @param {TreePage} page */
function toggleBookmark(page) {
  if (isEmpty()) return false;
  const what = subject(page);
  const isSet = what.host?.classList.contains("bookmarked");
  return page.can.comment && perform(isSet ? "unbookmark" : "bookmark", what);
}

/** Stops candidates and turns that run. True where there were some. */
function stopRunning() {
  const [candidates, agents] = [weave()?.haltAll(), turns()?.halt()];
  return candidates || agents;
}

/** Shuts menus, else stops what runs, else leaves a text. Who stops candidates from an empty composer leaves it too: the
 * number pressed next takes one, and is not typed. @param {boolean} typing */
function stopOrLeave(typing) {
  const open = document.querySelectorAll("details.menu[open]");
  for (const menu of open) shut(menu);
  if (open.length) return true;
  const here = /** @type {Element} */ (document.activeElement);
  const isEmptyComposer = here.matches("loom-composer textarea") && !(/** @type {HTMLTextAreaElement} */ (here).value);
  const isStopped = stopRunning();
  if (typing && (!isStopped || isEmptyComposer)) leave(here);
  return isStopped || typing;
}

/** The action that a press means now. @param {Key[]} table @param {KeyboardEvent} event */
export function meant(table, event) {
  const combo = shortcutOf(event);
  const typing = isTyping(event.target);
  const fits = (/** @type {Key} */ key) => key.combo === combo && (key.where === "any" || (key.where === "typing") === typing);
  return combo ? table.find(fits) : undefined;
}

/** Listens for the keys of the page until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function listenForKeys(page, signal) {
  const table = page.settings.keys.flatMap((group) => group.keys).filter((key) => ACTIONS[key.id]);
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
      const key = meant(table, event);
      if (!key || belongsTo(event) || (isLetter(event) && wantsText(event.target))) return;
      if (!ACTIONS[key.id]?.(page)) return;
      event.preventDefault();
      // From here on Tab, Page Down and a screen reader know where the reader is.
      if (document.activeElement === document.body) rest();
    },
    { signal },
  );
}

/** A key that would be a letter, were it pressed in a text. @param {KeyboardEvent} event */
function isLetter(event) {
  return /^\p{L}$/u.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey;
}

/** Lists, tabs and the map have these keys for themselves. @param {KeyboardEvent} event */
function belongsTo(event) {
  const isInside = /** @type {Element} */ (event.target).closest('[role="tree"], [role="tablist"], canvas');
  return Boolean(isInside) && !event.ctrlKey && !event.metaKey && /^(Arrow|Home|End|Page)/.test(event.key);
}
