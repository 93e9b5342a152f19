// @ts-check
// The moment when the editor takes the place of the text that the server drew.

import { toast } from "../elements/loom-toast.js";
import { t } from "../t.js";
import { styleNonce } from "../tree/editor-loader.js";
import { takeImages } from "../tree/images.js";
import { placeAt } from "../tree/page-drafts.js";

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {import("../editor/open.js").BufferEditor} BufferEditor */
/** @typedef {import("../elements/loom-buffer.js").LoomBuffer} LoomBuffer */

/**
 * Puts an editor where the drawn text was: what is being read stays where it is, and the caret
 * where it was typed.
 * @param {LoomBuffer} host @param {TreePage} page @param {typeof import("../editor/open.js").BufferEditor} Editor
 * @param {import("../editor/document-state.js").Leaf[]} leaves
 */
export function takePlace(host, page, Editor, leaves) {
  const drawn = /** @type {HTMLElement} */ (host.querySelector(".stretch"));
  const isTyping = document.activeElement === document.getElementById("composer-text");
  const read = placeRead(drawn, /** @type {HTMLElement} */ (host.closest("main")));
  const parent = Object.assign(document.createElement("div"), { className: "book" });
  host.prepend(parent);
  const editor = new Editor({
    parent,
    nonce: styleNonce(),
    me: page.settings.me,
    cast: page.cast,
    label: t("The text, and what you write next"),
    asks: t("Start writing here. Everything you write can branch."),
    leaves,
    tail: page.drafts.of(placeAt(page, "buffer")),
    heard: heardBy(host, page),
  });
  const say = (/** @type {string} */ words, /** @type {boolean | undefined} */ bad) => toast().show(words, { bad });
  takeImages(parent, page.api, (text, event) => editor.putAt(text, event), say, /** @type {AbortController} */ (host.stop).signal);
  drawn.hidden = true;
  drawn.replaceChildren();
  const view = /** @type {import("../elements/loom-path.js").LoomPath | null} */ (host.closest("loom-path"))?.view;
  if (read) editor.showAt(read.fromEnd, read.top, (lacks) => view?.hold(view.thread.scrollTop + Math.round(lacks)));
  host.dataset.on = "";
  const isNew = !leaves.length && document.activeElement === document.body;
  if (isTyping || isNew) editor.focus();
  return editor;
}

/** A place of the drawn text that is seen, and where: its end, or else the first line.
 * @param {HTMLElement} drawn @param {HTMLElement} thread @returns {{fromEnd: number, top: number} | null} top: below the thread's top */
function placeRead(drawn, thread) {
  const box = drawn.getBoundingClientRect();
  const seen = thread.getBoundingClientRect();
  const rest = document.createRange();
  rest.selectNodeContents(drawn);
  rest.collapse(false);
  if (box.bottom > seen.bottom) {
    const first = document.caretRangeFromPoint?.(box.left + 1, Math.max(box.top, seen.top) + 1);
    if (!first || !drawn.contains(first.startContainer)) return null;
    rest.setStart(first.startContainer, first.startOffset);
  }
  const line = lineOf(rest, drawn);
  return line && { fromEnd: rest.toString().length, top: line.top - seen.top };
}

/** Where the line that a range starts on is drawn. @param {Range} range @param {HTMLElement} drawn */
function lineOf(range, drawn) {
  const walk = document.createTreeWalker(drawn, NodeFilter.SHOW_TEXT);
  let text = range.startContainer;
  if (range.collapsed) while (walk.nextNode()) text = walk.currentNode;
  const length = text instanceof Text ? text.data.length : 0;
  if (!length) return null;
  const at = range.collapsed ? length - 1 : Math.min(range.startOffset, length - 1);
  const letter = document.createRange();
  letter.setStart(text, at);
  letter.setEnd(text, at + 1);
  return letter.getBoundingClientRect();
}

/** What the editor tells, and who listens. @param {LoomBuffer} host @param {TreePage} page @returns {import("../editor/open.js").Heard} */
function heardBy(host, page) {
  return {
    typed: (isTurned) => host.typed(isTurned),
    placed: () => host.placed(),
    pointed: (id) => /** @type {any} */ (document.querySelector("loom-tree"))?.details(id, false),
    follow: (id) => page.go(id),
    untake: (depth) => host.untake(depth),
    isTypedLast: (now) => page.acts.isTypedLast(now),
    isTypingNext: (now) => page.acts.isTypingNext(now),
    undo: () => void page.acts.undo(t("There is nothing to undo in this text.")),
    redo: () => void page.acts.redo(t("There is nothing to redo in this text.")),
    continue: () => void host.go("continue"),
    save: () => void host.save(),
    take: () => host.wheel?.take(),
    pasted: (what) => host.writing?.tell(what),
    pick: (step) => host.wheel?.pick(step),
    isComing: () => document.querySelector("loom-weave .card.coming") !== null,
    still: (change) => host.still(change),
    reached: () => host.wheel?.showKeys(),
  };
}
