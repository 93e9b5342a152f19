// @ts-check
// The memory, the author's note and the rules of lore of a tree, which are sent to subjects. What
// somebody else changes comes into the fields that are not being written in.

import { json, Refused } from "../live/api.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

/** @typedef {HTMLInputElement | HTMLTextAreaElement} Field */

/** @param {Field} field */
const shownIn = (field) => (field.type === "number" ? Number(field.value) : field.value);

export class LoomSteering extends HTMLElement {
  /** the fields as the tree had them when they were read or saved last, by name
   * @type {Map<string, string | number>} */
  seen = new Map();
  /** what others saved last, by name @type {Map<string, unknown>} */
  told = new Map();

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = /** @type {HTMLFormElement} */ (this.querySelector("form"));
    this.form.addEventListener("submit", (event) => this.submitted(event), { signal });
    this.form.addEventListener("input", (event) => this.typed(/** @type {HTMLInputElement} */ (event.target)), { signal });
    for (const field of this.fields()) this.seen.set(field.name, shownIn(field));
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
    const status = this.querySelector("[data-said]");
    if (status) status.textContent = words;
  }

  /** @param {Record<string, unknown>} changed */
  heard(changed) {
    for (const field of this.fields()) {
      if (!(field.name in changed)) continue;
      this.told.set(field.name, changed[field.name]);
      if (!("dirty" in field.dataset)) this.put(field, changed[field.name]);
    }
  }

  /** @param {Field} field @param {unknown} value as the tree has it */
  put(field, value) {
    field.value = String(value);
    this.seen.set(field.name, shownIn(field));
  }

  /** @param {SubmitEvent} event */
  async submitted(event) {
    event.preventDefault();
    // One after another: the second builds on what came of the first.
    if (this.saving) return void (this.isAgain = true);
    this.saving = true;
    try {
      await this.save();
    } finally {
      this.saving = false;
    }
    if (this.isAgain) this.form?.requestSubmit();
    this.isAgain = false;
  }

  async save() {
    const dirty = this.fields().filter((field) => "dirty" in field.dataset);
    const body = Object.fromEntries(dirty.map((field) => [field.name, shownIn(field)]));
    if (!dirty.length) return this.say(t("saved"));
    try {
      if (this.page?.isPast) throw new Refused({ code: "REJECTED", message: t("You are viewing an earlier state of the tree.") }, 409);
      const seen = Object.fromEntries(dirty.map(({ name }) => [name, this.seen.get(name) ?? ""]));
      await json(this.page?.api ?? "", { method: "PATCH", body: { ...body, seen } });
      for (const field of dirty) this.saved(field, body[field.name], seen[field.name]);
      this.others();
      this.say(t("saved"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(`${error.message} ${error.code === "CONFLICT" ? t("Your text is still in the field: save again to keep it.") : error.hint}`.trim());
      if (error.code === "CONFLICT") this.others(dirty, await json(this.page?.api ?? "").catch(() => ({})));
    }
  }

  /** A field was saved. Somebody may have saved another value after that, and the word of it come
   * before the answer. @param {Field} field @param {string | number} value @param {string | number} before */
  saved(field, value, before) {
    this.seen.set(field.name, value);
    if (shownIn(field) !== value) return;
    delete field.dataset.dirty;
    const told = this.told.get(field.name) ?? value;
    if (told !== value && told !== before) this.put(field, told);
  }

  /** Shows what somebody else saved in the fields that are being written in, each to be taken in
   * place of one's own. @param {Field[]} [dirty] @param {Record<string, string | number>} [now] */
  others(dirty = [], now = {}) {
    for (const element of this.querySelectorAll("[data-theirs]")) element.remove();
    for (const field of dirty) {
      const theirs = now[field.name];
      if (theirs === undefined || theirs === this.seen.get(field.name)) continue;
      this.seen.set(field.name, theirs);
      const take = make("button", { type: "button", className: "button small", textContent: t("Use this instead") });
      take.addEventListener("click", () => this.take(field, theirs));
      const box = make("div", { className: "theirs" }, make("p", { className: "soft", textContent: t("Saved by somebody else in the meantime:") }), make("pre", { dir: "auto", textContent: String(theirs) || t("empty") }), take);
      box.dataset.theirs = field.name;
      (field.closest("label") ?? field).after(box);
    }
  }

  /** @param {Field} field @param {string | number} theirs */
  take(field, theirs) {
    field.value = String(theirs);
    delete field.dataset.dirty;
    this.querySelector(`[data-theirs="${field.name}"]`)?.remove();
    this.say(t("saved"));
    field.focus();
  }
}
