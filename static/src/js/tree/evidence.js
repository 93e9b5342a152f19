// @ts-check
// Words that the reader selects in a text of the tree, or the current text, become evidence.

import { CiteMenu, quotable } from "../claims/cite-menu.js";
import { act } from "./actions.js";

/** The element of the one text that a selection is in. @param {Range} range */
function textOf(range) {
  const common = range.commonAncestorContainer;
  const element = common instanceof Element ? common : common.parentElement;
  return element?.closest(".text")?.closest("[data-id]") ?? null;
}

/** @typedef {import("../claims/cite-menu.js").Chosen} Chosen */

/** The selected words of one text of a buffer, whose editor has them. @param {Range} range @returns {Chosen | null} */
function inBuffer(range) {
  const book = /** @type {import("../elements/loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer[data-on]"));
  const editor = book?.editor;
  if (!editor?.view.dom.contains(range.commonAncestorContainer)) return null;
  const { from, to } = editor.view.state.selection.main;
  const { id } = editor.stretchAt(from);
  if (!id || editor.stretchAt(Math.max(from, to - 1)).id !== id) return null;
  const words = quotable(editor.view.state.sliceDoc(from, to));
  return words ? { ref: id, words, box: range.getBoundingClientRect() } : null;
}

/** The selected words and the id of the one text they are in. @returns {Chosen | null} */
function selected() {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  if (document.querySelector("loom-buffer[data-on] .cm-content")?.contains(range.commonAncestorContainer)) return inBuffer(range);
  const ref = textOf(range)?.getAttribute("data-id");
  const words = quotable(selection.toString());
  return ref && words ? { ref, words, box: range.getBoundingClientRect() } : null;
}

/** All of a text, else of the one that has the focus, or of the position.
 * @param {import("./page.js").TreePage} page @param {Element | null} named @returns {Chosen | null} */
function current(page, named) {
  const focused = named ?? document.activeElement?.closest(".stretch [data-id]");
  const host = focused ?? document.querySelector(`#n-${CSS.escape(page.position)}`);
  const ref = host?.getAttribute("data-id") ?? page.position;
  const box = (host?.querySelector(".text") ?? host ?? document.body).getBoundingClientRect();
  return ref ? { ref, words: "", box } : null;
}

act("cite", ({ host }) => void document.dispatchEvent(new CustomEvent("cite-here", { detail: host })));

/** @param {import("./page.js").TreePage} page @param {AbortSignal} signal */
export function offerEvidence(page, signal) {
  /** @type {Element | null} */
  let named = null; // the text whose button was pressed
  const menu = new CiteMenu(
    {
      tree: page.settings.tree,
      chosen: (isAsked) => (page.can.write ? (selected() ?? (isAsked ? current(page, named) : null)) : null),
      run: (what) => page.say(what, { quiet: true, follow: false }),
    },
    signal,
  );
  document.addEventListener("cite-here", (event) => {
    named = /** @type {CustomEvent<Element | null>} */ (event).detail ?? null;
    if (menu.start()) event.preventDefault();
  }, { signal });
}
