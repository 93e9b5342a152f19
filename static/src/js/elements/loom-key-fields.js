// @ts-check
// The settings of keys: a press in a field becomes its combo, and two of one kind are told.

import { t } from "../t.js";
import { comboOf } from "../tree/combos.js";

// These keep their own meaning in a form: going on, and sending it.
const KEPT = new Set(["Tab", "Enter"]);

export class LoomKeyFields extends HTMLElement {
  connectedCallback() {
    this.addEventListener("keydown", (event) => this.pressed(event));
    this.addEventListener("input", () => this.look());
    this.look();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || KEPT.has(event.key)) {
      if (!(field instanceof HTMLInputElement) || !(event.ctrlKey || event.metaKey)) return;
    }
    const combo = event.key === "Backspace" && !event.ctrlKey ? "" : comboOf(event);
    if (!combo && event.key !== "Backspace") return;
    event.preventDefault();
    field.value = combo;
    this.look();
  }

  /** Says which actions would have the same key. */
  look() {
    /** @type {Map<string, HTMLInputElement[]>} */
    const held = new Map();
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (this.querySelectorAll("input[name][data-first]"))) {
      field.classList.toggle("own", field.value !== field.dataset.first);
      field.setAttribute("aria-invalid", "false");
      if (field.value) held.set(field.value, [...(held.get(field.value) ?? []), field]);
    }
    const clashes = [...held].filter(([, fields]) => fields.length > 1);
    for (const field of clashes.flatMap(([, fields]) => fields)) field.setAttribute("aria-invalid", "true");
    const said = this.querySelector("[data-said]");
    if (!said) return;
    said.textContent = clashes.map(([combo, fields]) => t("{combo} would mean: {actions}.", { combo, actions: fields.map(wordsOf).join(", ") })).join("\n");
    said.toggleAttribute("hidden", !clashes.length);
  }
}

/** @param {HTMLInputElement} field */
function wordsOf(field) {
  return field.labels?.[0]?.querySelector("span")?.textContent ?? field.name;
}
