// @ts-check
// The list of keys, opened with ? on a tree page.

import { isTyping } from "../tree/keys.js";
import { make } from "../tree/forms.js";

const KEYS = [
  ["Ctrl K", "search and commands"],
  ["Ctrl Enter", "send and continue"],
  ["1 … 9", "take a candidate"],
  [".", "more like these"],
  ["Esc", "stop what is coming"],
  ["← →", "parent · the child last visited"],
  ["↑ ↓", "siblings"],
  ["Home End", "root · follow to the leaf"],
  ["[ ]", "bookmarks"],
  ["w", "random walk"],
  ["h", "hoist the map"],
  ["g e r", "continue · edit · write below"],
  ["a b", "annotate · bookmark"],
  ["s x", "split · prune"],
  ["Ctrl Z", "undo · with Shift redo"],
  ["Alt ↑ ↓ ← →", "move while typing"],
  ["?", "these keys"],
];

export class LoomKeys extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    const rows = KEYS.flatMap(([keys, words]) => [
      make("dt", {}, ...keys.split(" ").map((key) => make("kbd", { textContent: this.named(key) }))),
      make("dd", { textContent: words }),
    ]);
    const close = make("button", { type: "button", className: "button small", textContent: "Close" });
    this.dialog = /** @type {HTMLDialogElement} */ (make("dialog", { className: "sheet-dialog" }, make("h2", { textContent: "Keys" }), make("dl", { className: "keys" }, ...rows), make("p", {}, close)));
    this.dialog.setAttribute("aria-label", "Keys");
    this.replaceChildren(this.dialog);
    close.addEventListener("click", () => this.dialog?.close());
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    document.addEventListener("click", (event) => {
      if (/** @type {Element} */ (event.target).closest("[data-keys-open]")) this.dialog?.showModal();
    }, { signal });
    if (this.isMac) for (const kbd of document.querySelectorAll("kbd[data-mod]")) kbd.textContent = (kbd.textContent ?? "").replace("Ctrl", "⌘");
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  get isMac() {
    return /Mac|iPhone|iPad/.test(navigator.platform);
  }

  /** @param {string} key */
  named(key) {
    if (!this.isMac) return key;
    return key === "Ctrl" ? "⌘" : key === "Alt" ? "⌃⌥" : key;
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.key !== "?" || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    this.dialog?.showModal();
  }
}
