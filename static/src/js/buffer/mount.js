// @ts-check
// The moment when the editor takes the place of the text that the server drew.

import { t } from "../t.js";
import { styleNonce } from "../tree/editor-loader.js";

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
  const thread = /** @type {HTMLElement} */ (host.closest("main"));
  const isTyping = document.activeElement === document.getElementById("composer-text");
  const end = drawn.getBoundingClientRect().bottom;
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
    tail: "",
    heard: heardBy(host, page),
  });
  drawn.hidden = true;
  drawn.replaceChildren();
  thread.scrollTop += parent.getBoundingClientRect().bottom - end;
  host.dataset.on = "";
  const isNew = !leaves.length && document.activeElement === document.body;
  if (isTyping || isNew) editor.focus();
  return editor;
}

/** What the editor tells, and who listens. @param {LoomBuffer} host @param {TreePage} page @returns {import("../editor/open.js").Heard} */
function heardBy(host, page) {
  return {
    typed: () => host.typed(),
    placed: () => host.placed(),
    pointed: (id) => /** @type {any} */ (document.querySelector("loom-tree"))?.details(id, false),
    follow: (id) => page.go(id),
    continue: () => void host.go("continue"),
    save: () => void host.saving?.edits(),
    take: () => host.wheel?.take(),
    pasted: (what) => host.writing?.tell(what),
    pick: (step) => host.wheel?.pick(step),
  };
}
