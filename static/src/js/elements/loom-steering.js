// @ts-check
// The memory, the author's note and the rules of lore of a tree, which are sent to subjects. What
// somebody else changes comes into the fields that are not being written in.

import { json, Refused } from "../live/api.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

export class LoomSteering extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = /** @type {HTMLFormElement} */ (this.querySelector("form"));
    this.form.addEventListener("submit", (event) => this.submitted(event), { signal });
    this.form.addEventListener("input", (event) => this.typed(/** @type {HTMLInputElement} */ (event.target)), { signal });
    this.off = this.page.events.on("tree.changed", ({ payload }) => this.heard(payload));
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.off?.();
  }

  fields() {
    return /** @type {(HTMLInputElement | HTMLTextAreaElement)[]} */ ([...(this.form?.querySelectorAll("[name]") ?? [])]);
  }

  /** @param {HTMLInputElement} field */
  typed(field) {
    field.dataset.dirty = "";
    this.say(t("not saved yet"));
  }

  /** @param {string} words */
  say(words) {
    const said = this.querySelector("[data-said]");
    if (said) said.textContent = words;
  }

  /** @param {Record<string, unknown>} changed */
  heard(changed) {
    for (const field of this.fields()) {
      if (field.name in changed && !("dirty" in field.dataset)) field.value = String(changed[field.name]);
    }
  }

  /** @param {SubmitEvent} event */
  async submitted(event) {
    event.preventDefault();
    const dirty = this.fields().filter((field) => "dirty" in field.dataset);
    const body = Object.fromEntries(dirty.map((field) => [field.name, field.type === "number" ? Number(field.value) : field.value]));
    if (!dirty.length) return this.say(t("saved"));
    try {
      if (this.page?.isPast) throw new Refused({ code: "REJECTED", message: t("You are viewing an earlier state of the tree.") }, 409);
      await json(this.page?.api ?? "", { method: "PATCH", body });
      for (const field of dirty) if (field.value === String(body[field.name])) delete field.dataset.dirty;
      this.say(t("saved"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(`${error.message} ${error.hint}`.trim());
    }
  }
}
