// @ts-check
// The command bar's dialog: a combobox over a list, and room for the answer.

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
  const said = make("div", { className: "command-answer" });
  said.setAttribute("role", "status");
  said.dataset.dry = t("Preview");
  const foot = make("p", { className: "command-foot" }, ...[t("↑ ↓ to select"), t("Tab to complete"), t("Enter to run"), t("Esc to close")].map((textContent) => make("span", { textContent })));
  const dialog = /** @type {HTMLDialogElement} */ (make("dialog", { className: "command" }, input, list, said, foot));
  dialog.setAttribute("aria-label", t("Search and commands"));
  return { dialog, input, list, said };
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
  const made = make("div", { id: `choice-${index}` }, ...parts);
  made.setAttribute("role", "option");
  if (choice.colour !== undefined) made.dataset.who = String(choice.colour);
  return made;
}
