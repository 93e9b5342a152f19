// @ts-check
// Bringing a tree in: drop a file anywhere on the page or choose one; progress, stop, report.

import { json, Refused, send } from "../live/api.js";
import { make } from "../tree/forms.js";
import { language, t } from "../t.js";

const ENDED = new Set(["done", "failed", "stopped"]);

export class LoomImport extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.said = /** @type {HTMLElement} */ (this.querySelector("[data-said]"));
    this.input = /** @type {HTMLInputElement} */ (this.querySelector('input[type="file"]'));
    this.input.addEventListener("change", () => this.take(this.input?.files), { signal });
    window.addEventListener("dragover", (event) => this.over(event, true), { signal });
    window.addEventListener("dragleave", (event) => this.over(event, false), { signal });
    window.addEventListener("drop", (event) => {
      this.over(event, false);
      this.take(event.dataTransfer?.files);
    }, { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  /** @param {DragEvent} event @param {boolean} on */
  over(event, on) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.querySelector(".drop")?.classList.toggle("over", on);
  }

  /** @param {FileList | null | undefined} files */
  async take(files) {
    const file = files?.[0];
    if (!file || this.busy) return;
    this.busy = true;
    this.draw(make("span", { textContent: t("Sending {name}", { name: file.name }) }), make("progress"));
    const form = new FormData();
    form.append("file", file);
    form.append("grove", this.dataset.grove ?? "");
    try {
      const { id } = await send("/api/import", form);
      await this.watch(id, file.name);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(file.name, error.message, error.hint);
    } finally {
      this.busy = false;
      if (this.input) this.input.value = "";
    }
  }

  /** @param {string} id @param {string} name */
  async watch(id, name) {
    const bar = /** @type {HTMLProgressElement} */ (make("progress", { max: 1 }));
    bar.setAttribute("aria-label", t("Importing {name}", { name }));
    const words = make("span", { textContent: t("Reading {name}", { name }) });
    const stop = make("button", { type: "button", className: "button small", textContent: t("Stop") });
    stop.addEventListener("click", () => void json(`/api/imports/${id}/stop`, { method: "POST", body: {} }).catch(() => {}));
    this.draw(words, bar, stop);
    for (;;) {
      const state = await json(`/api/imports/${id}`);
      if (state.total) bar.value = state.done / state.total;
      if (state.done) words.textContent = state.total ? t("{name}: {done} of {total}", { name, done: state.done.toLocaleString(language()), total: state.total.toLocaleString(language()) }) : `${name}: ${state.done.toLocaleString(language())}`;
      if (ENDED.has(state.status)) return this.ended(state, name);
      await new Promise((done) => (this.timer = setTimeout(done, 400)));
    }
  }

  /** @param {any} state @param {string} name */
  ended(state, name) {
    if (state.status !== "done") return this.refuse(name, state.error?.message ?? t("The import was stopped, and nothing was added."), state.error?.hint ?? "");
    const report = state.report ?? {};
    const facts = make("dl", {}, ...this.facts(report));
    const open = make("a", { className: "button primary", href: `/trees/${state.tree}`, textContent: t("Open the tree") });
    this.draw(make("div", { className: "report" }, make("b", { textContent: t("{name} has been imported", { name }) }), facts, open));
    open.focus();
  }

  /** The report as pairs. @param {any} report */
  facts(report) {
    const listed = (/** @type {any} */ value) => (Array.isArray(value) ? value.join(", ") : value && typeof value === "object" ? Object.entries(value).map(([key, count]) => `${key} ${count}`).join(", ") : String(value ?? ""));
    const rows = [[t("Format"), report.format], [t("Nodes"), report.nodes?.toLocaleString?.(language())], [t("Kept"), report.kept], [t("Kept as extra data"), report.unknown], [t("Left out"), report.dropped], [t("Notes"), report.warnings]];
    return rows.filter(([, value]) => listed(value)).flatMap(([label, value]) => [make("dt", { className: "soft", textContent: String(label) }), make("dd", { textContent: listed(value) })]);
  }

  /** @param {string} name @param {string} message @param {string} hint */
  refuse(name, message, hint) {
    const words = make("p", { className: "refusal" }, make("b", { textContent: `${name}: ` }), message, make("span", { className: "hint", textContent: hint }));
    words.setAttribute("role", "alert");
    this.draw(words);
  }

  /** @param {...Node} parts */
  draw(...parts) {
    this.said?.replaceChildren(...parts);
  }
}
