// @ts-check
// The field below a question that somebody asked the reader.

import { call } from "../live/calls.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

export class LoomAnswer extends HTMLElement {
  connectedCallback() {
    const page = pageOf();
    if (this.dataset.asks !== page.settings.me || !page.settings.can.write || this.firstChild) return;
    const note = this.dataset.note ?? "";
    const field = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: 2, required: true, dir: "auto", ariaLabel: t("Your answer to {id}", { id: note }) }));
    const form = make("form", { className: "answer" }, field, " ", make("button", { className: "button small", textContent: t("Answer") }));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (field.value.trim()) await page.say(call("annotate", { ref: note, content: field.value }), { quiet: true }).catch(() => {});
    });
    this.append(form);
  }

  /** Moves the reader to the field. */
  focus() {
    this.querySelector("textarea")?.focus();
  }
}
