// @ts-check
// The command bar's dialog: a combobox over a list, room for the answer, and the lines that were run.

import { make } from "../tree/forms.js";
import { t } from "../t.js";
import { spansOf } from "./match.js";

export function frame() {
  const input = /** @type {HTMLInputElement} */ (
    make("input", { type: "text", autocomplete: "off", spellcheck: false, placeholder: t("Search, or type → for a command") })
  );
  const attributes = {
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "command-choices",
    "aria-autocomplete": "list",
    "aria-label": t("Search or command"),
  };
  for (const [name, value] of Object.entries(attributes)) input.setAttribute(name, value);
  const list = make("div", { id: "command-choices" });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", t("Suggestions"));
  const answer = make("div", { className: "command-answer" });
  answer.setAttribute("role", "status");
  answer.dataset.dry = t("Preview");
  const foot = make("p", { className: "command-foot" }, ...[t("↑ ↓ to select"), t("Tab to complete"), t("Enter to run"), t("Esc to close")].map((textContent) => make("span", { textContent })));
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", { className: "command" }, input, list, answer, foot));
  dialog.setAttribute("aria-label", t("Search and commands"));
  return { dialog, input, list, answer };
}

/** A text with what was looked for marked. @param {string} text @param {string} query @returns {(Node | string)[]} */
function marked(text, query) {
  const spans = query ? (spansOf(text, query) ?? []) : [];
  const ends = [0, ...spans.flat(), text.length];
  return ends.slice(1).map((end, at) => {
    const words = text.slice(ends[at], end);
    return at % 2 ? make("mark", { textContent: words }) : words;
  });
}

/** One suggestion. @param {import("./choices.js").Choice} choice @param {number} index @param {string} [query] what is marked in it */
export function option(choice, index, query = "") {
  const parts = choice.parts.filter(({ text }) => text).map(({ kind, text }) => make(kind === "id" ? "code" : "span", { className: kind }, ...marked(text, query)));
  const element = make("div", { id: `choice-${index}` }, ...parts);
  element.setAttribute("role", "option");
  if (choice.colour !== undefined) element.dataset.who = String(choice.colour);
  return element;
}

// The lines that were run, newest last, to be recalled with the arrows.

const MOST = 50;

export class History {
  /** @param {Storage} store @param {string} name */
  constructor(store, name) {
    this.store = store;
    this.name = name;
    this.at = 0;
  }

  /** @returns {string[]} */
  lines() {
    try {
      return JSON.parse(this.store.getItem(this.name) ?? "[]");
    } catch {
      return [];
    }
  }

  /** @param {string} line */
  add(line) {
    const lines = [...this.lines().filter((kept) => kept !== line), line].slice(-MOST);
    this.store.setItem(this.name, JSON.stringify(lines));
    this.leave();
  }

  /** The line so many steps further back; undefined at the ends. @param {number} back */
  step(back) {
    const lines = this.lines();
    const at = Math.min(lines.length, Math.max(0, this.at + back));
    this.at = at;
    return at === 0 ? undefined : lines[lines.length - at];
  }

  leave() {
    this.at = 0;
  }
}
