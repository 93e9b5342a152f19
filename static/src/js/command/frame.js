// @ts-check
// The command bar's dialog: a combobox over a list, and room for the answer.

import { make } from "../tree/forms.js";
import { t } from "../t.js";



export function frame() {
  const input = /** @type {HTMLInputElement} */ (
    make("input", { type: "text", autocomplete: "off", spellcheck: false, placeholder: t("Search this tree, or type → for a command") })
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

/** One suggestion. @param {import("./choices.js").Choice} choice @param {number} index */
export function option(choice, index) {
  const parts = choice.parts.map(({ kind, text }) => make(kind === "id" ? "code" : "span", { className: kind, textContent: text }));
  const made = make("div", { id: `choice-${index}` }, ...parts);
  made.setAttribute("role", "option");
  if (choice.colour !== undefined) made.dataset.who = String(choice.colour);
  return made;
}
