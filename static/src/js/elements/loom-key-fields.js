// @ts-check
// The settings of keys: a press in a field becomes its combo, drawn as the caps that are on the
// keyboard, and two of one kind are told. What is sent is the combo, in a field that is not seen.

import { t } from "../t.js";
import { capsOf, shortcutOf } from "../tree/shortcuts.js";
import { make } from "../tree/forms.js";

// These keep their own meaning in a form: going on, and sending it.
const KEPT = new Set(["Tab", "Enter"]);

export class LoomKeyFields extends HTMLElement {
  connectedCallback() {
    /** @type {Map<HTMLInputElement, HTMLInputElement>} what is seen, and what is sent */
    this.sent = new Map();
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (this.querySelectorAll("input[name][data-first]"))) this.cap(field);
    this.addEventListener("keydown", (event) => this.pressed(event));
    this.addEventListener("input", (event) => this.typed(event));
    this.addEventListener("change", () => this.look());
    this.look();
  }

  /** @param {HTMLInputElement} field */
  cap(field) {
    const sent = /** @type {HTMLInputElement} */ (make("input", { type: "hidden", name: field.name, value: field.value }));
    field.removeAttribute("name");
    field.after(sent);
    this.sent?.set(field, sent);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const sent = this.sent?.get(/** @type {HTMLInputElement} */ (event.target));
    if (!sent || (KEPT.has(event.key) && !event.ctrlKey && !event.metaKey)) return;
    const combo = event.key === "Backspace" && !event.ctrlKey ? "" : shortcutOf(event);
    if (!combo && event.key !== "Backspace") return;
    event.preventDefault();
    sent.value = combo;
    this.look();
  }

  /** Where no key says which it is, as on most phones, what is written is the combo. @param {Event} event */
  typed(event) {
    const field = /** @type {HTMLInputElement} */ (event.target);
    const sent = this.sent?.get(field);
    if (sent) sent.value = field.value.trim();
  }

  /** Draws the caps, and says which actions would have the same key. */
  look() {
    /** @type {Map<string, HTMLInputElement[]>} */
    const held = new Map();
    for (const [field, { value }] of this.sent ?? []) {
      field.value = drawn(value);
      field.classList.toggle("own", value !== field.dataset.first);
      field.setAttribute("aria-invalid", "false");
      if (value) held.set(value, [...(held.get(value) ?? []), field]);
    }
    const clashes = [...held].filter(([, fields]) => fields.length > 1);
    for (const field of clashes.flatMap(([, fields]) => fields)) field.setAttribute("aria-invalid", "true");
    const status = this.querySelector("[data-said]");
    if (!status) return;
    status.textContent = clashes.map(([combo, fields]) => t("{combo} is used for several actions: {actions}.", { combo: drawn(combo), actions: fields.map(wordsOf).join(", ") })).join("\n");
    status.toggleAttribute("hidden", !clashes.length);
  }
}

/** @param {string} combo */
const drawn = (combo) => capsOf(combo).join(" ");

/** @param {HTMLInputElement} field */
function wordsOf(field) {
  return field.labels?.[0]?.querySelector("span")?.textContent ?? field.dataset.first ?? "";
}
