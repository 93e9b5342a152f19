// @ts-check
// The samplers of what is asked: fields for those that a chosen model takes, presets by name,
// the same as JSON, and what is pinned to the branch.

import { json, Newest, Refused, told } from "../live/api.js";
import { t } from "../t.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { filled, valuesOf } from "../tree/samplers.js";

/** @typedef {import("../tree/samplers.js").Values} Values */
/** @typedef {{id: string, name: string, body: Values, shared: boolean}} Preset */

export class LoomSamplers extends HTMLElement {
  pins = new Newest();

  connectedCallback() {
    this.page = pageOf();
    this.form = /** @type {HTMLFormElement} */ (this.closest("form"));
    this.kept = `heddle.samplers.${this.page.settings.tree}`;
    this.stop = new AbortController();
    const { signal } = this.stop;
    /** @type {Preset[]} */
    this.presets = [];
    this.form.addEventListener("change", (event) => this.changed(event), { signal });
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    this.querySelector("details")?.addEventListener("toggle", () => void this.load(), { signal });
    this.page.addEventListener("moved", () => void this.showPins(), { signal });
    this.off = this.page.events.on("settings.pinned", () => void this.showPins());
    this.put(this.read(localStorage.getItem(this.kept) ?? "{}") ?? {});
    this.fit();
    void this.showPins();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.off?.();
  }

  get fields() {
    return /** @type {HTMLInputElement[]} */ ([...this.querySelectorAll("[data-sampler]")]);
  }

  /** @param {string} name */
  box(name) {
    return /** @type {HTMLInputElement} */ (this.querySelector(`[data-${name}]`));
  }

  /** The settings of the fields that a chosen model takes. @returns {Values} */
  get values() {
    return valuesOf(this.fields.filter((field) => !(/** @type {HTMLElement} */ (field.parentElement).hidden)).map((field) => [field.dataset.sampler ?? "", field.value]));
  }

  /** Only what one of the chosen models takes is shown. */
  fit() {
    const chosen = [.../** @type {HTMLFormElement} */ (this.form).querySelectorAll('[name="using"]:checked')];
    const takes = new Set(chosen.flatMap((box) => (box.closest("[data-samplers]")?.getAttribute("data-samplers") ?? "").split(" ")));
    for (const field of this.fields) /** @type {HTMLElement} */ (field.parentElement).hidden = !takes.has(field.dataset.sampler ?? "");
    this.keep();
  }

  /** @param {Event} event */
  changed(event) {
    const target = /** @type {HTMLInputElement} */ (event.target);
    if (target === this.box("preset")) return this.take(target.value);
    if (target === this.box("json")) return this.parse(target.value);
    this.fit();
  }

  keep() {
    const { values } = this;
    const written = Object.keys(values).length ? JSON.stringify(values) : "";
    this.box("settings").value = written;
    this.box("json").value = written;
    this.box("shown").textContent = written ? t("Samplers ({n})", { n: Object.keys(values).length }) : t("Samplers");
    localStorage.setItem(this.kept ?? "", written || "{}");
  }

  /** @param {Values} values */
  put(values) {
    for (const field of this.fields) field.value = filled(values[field.dataset.sampler ?? ""]);
    for (const name of ["temperature", "tokens"]) {
      const field = /** @type {HTMLInputElement | null} */ (this.form?.elements.namedItem(name));
      if (field && values[name] !== undefined) field.value = String(values[name]);
    }
    this.keep();
  }

  /** @param {string} text @returns {Values | null} */
  read(text) {
    try {
      const value = JSON.parse(text || "{}");
      return value && typeof value === "object" && !Array.isArray(value) ? value : null;
    } catch {
      return null;
    }
  }

  /** @param {string} text */
  parse(text) {
    const values = this.read(text);
    this.tell(values ? "" : t("This is not a JSON object."));
    if (values) this.put(values);
  }

  /** @param {string} words */
  tell(words) {
    this.box("said").textContent = words;
  }

  /** All that is set here, with the length and the temperature of the composer. @returns {Values} */
  get everything() {
    const values = { ...this.values };
    for (const name of ["temperature", "tokens"]) {
      const field = /** @type {HTMLInputElement | null} */ (this.form?.elements.namedItem(name));
      if (field?.value) values[name] = Number(field.value);
    }
    return values;
  }

  get url() {
    return `/api/groves/${this.page?.settings.grove}/saved`;
  }

  async load() {
    this.presets = /** @type {Preset[]} */ ((await this.attempt(() => json(`${this.url}?kind=preset&limit=1000`)))?.results ?? []);
    const none = make("option", { value: "", textContent: t("Presets") });
    const chosen = this.box("preset").value;
    const options = this.presets.map((preset) => make("option", { value: preset.id, textContent: preset.shared ? t("{name} (everybody)", { name: preset.name }) : preset.name }));
    this.box("preset").replaceChildren(none, ...options);
    this.box("preset").value = this.presets.some((preset) => preset.id === chosen) ? chosen : "";
  }

  /** @param {string} id */
  take(id) {
    const preset = this.presets?.find((preset) => preset.id === id);
    if (!preset) return;
    this.box("name").value = preset.name;
    this.put(preset.body);
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const action = /** @type {Element} */ (event.target).closest("[data-do-sampler]")?.getAttribute("data-do-sampler");
    if (action === "save") return this.save();
    if (action === "remove") return this.remove();
    if (action === "clear") return this.put({});
    if (action === "pin") return this.pin(this.everything);
    if (action === "unpin") return this.pin({});
  }

  async save() {
    const body = { kind: "preset", name: this.box("name").value, body: this.everything, shared: this.box("shared").checked };
    const preset = await this.attempt(() => json(this.url, { method: "POST", body }));
    if (!preset) return;
    await this.load();
    this.box("preset").value = preset.id;
    this.tell(t("Saved as {name}.", { name: preset.name }));
  }

  async remove() {
    const id = this.box("preset").value;
    if (id && (await this.attempt(() => json(this.url, { method: "DELETE", body: { id } })))) await this.load();
  }

  /** @param {Values} settings */
  async pin(settings) {
    const node = this.page?.position;
    const done = await this.attempt(() => json(`${this.page?.api}/settings`, { method: "PUT", body: { node, settings } }));
    if (done) await this.showPins();
  }

  async showPins() {
    const number = this.pins.ask();
    const answer = await this.attempt(() => json(`${this.page?.api}/settings?node=${this.page?.position}`));
    if (!answer || this.pins.isPast(number)) return;
    const shown = answer.pins.map((/** @type {any} */ pin) => `[${pin.node}] ${Object.entries(pin.settings).map(([name, value]) => `${name} ${filled(/** @type {any} */ (value))}`).join(", ")}`);
    this.box("pins").textContent = shown.length ? t("Pinned on this path: {pins}", { pins: shown.join(" · ") }) : "";
  }

  /** What comes of a request; a refusal is said here. @param {() => Promise<any>} ask */
  async attempt(ask) {
    try {
      this.tell("");
      return await ask();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status) this.tell(told(error));
      return null;
    }
  }
}
