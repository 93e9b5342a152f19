// @ts-check
// Bringing trees in: drop files anywhere on the page or choose them; progress, stop, what to choose, report.

import { json, Refused, sentence, upload } from "../live/api.js";
import { make } from "../tree/forms.js";
import { language, t, tn } from "../t.js";
import { chooser } from "./import-choices.js";

const ENDED = new Set(["done", "failed", "stopped"]);
const SOON_MS = 4000; // in which most files are read: they are asked about more often

export class LoomImport extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.status = /** @type {HTMLElement} */ (this.querySelector("[data-said]"));
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
    if (!files?.length || this.busy) return;
    this.busy = true;
    const name = files.length === 1 ? files[0].name : tn("{n} file", "{n} files", files.length);
    const bar = /** @type {HTMLProgressElement} */ (make("progress", { max: 1 }));
    bar.setAttribute("aria-label", t("Sending {name}", { name }));
    const halt = new AbortController();
    const stop = /** @type {HTMLButtonElement} */ (make("button", { type: "button", className: "button small", textContent: t("Stop") }));
    stop.addEventListener("click", () => halt.abort());
    this.draw(make("span", { textContent: t("Sending {name}", { name }) }), bar, stop);
    this.status?.scrollIntoView({ block: "nearest" });
    const form = new FormData();
    for (const file of files) form.append("file", file);
    form.append("grove", this.dataset.grove ?? "");
    try {
      const { id } = await upload("/api/import", form, (share) => {
        bar.value = share;
        stop.disabled = share === 1; // the server has it: from here on the import is stopped
      }, halt.signal);
      await this.watch(id, name);
    } catch (error) {
      if (halt.signal.aborted) this.refuse(name, t("The import was stopped, and nothing was added."), "");
      else if (error instanceof Refused) this.refuse(name, error.message, error.hint);
      else throw error;
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
    const stop = /** @type {HTMLButtonElement} */ (make("button", { type: "button", className: "button small", textContent: t("Stop") }));
    stop.addEventListener("click", () => void this.halt(id, stop));
    this.draw(words, bar, stop);
    const began = performance.now();
    for (let wait = 60; ; wait = Math.min(performance.now() - began < SOON_MS ? 120 : 400, wait * 1.5)) {
      const state = await this.state(id);
      if (state.total) bar.value = state.done / state.total;
      if (state.done) words.textContent = state.total ? t("{name}: {done} of {total}", { name, done: state.done.toLocaleString(language()), total: state.total.toLocaleString(language()) }) : `${name}: ${state.done.toLocaleString(language())}`;
      if (state.status === "waiting") return this.choose(state, name);
      if (ENDED.has(state.status)) return this.ended(state, name);
      await new Promise((done) => (this.timer = setTimeout(done, wait)));
    }
  }

  /** How the import is, once the server can be asked: it goes on where the connection is lost. @param {string} id */
  async state(id) {
    for (;;) {
      try {
        return await json(`/api/imports/${id}`);
      } catch (error) {
        if (!(error instanceof Refused && error.mayPass)) throw error;
        await new Promise((done) => (this.timer = setTimeout(done, 1000)));
      }
    }
  }

  /** Asks to stop, and says so until it has. @param {string} id @param {HTMLButtonElement} stop */
  async halt(id, stop) {
    stop.disabled = true;
    stop.textContent = t("Stopping");
    try {
      await json(`/api/imports/${id}/stop`, { method: "POST", body: {} });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      stop.disabled = false; // it may have ended just now; else it can be tried again
      stop.textContent = t("Stop");
    }
  }

  /** Shows what has to be chosen, and goes on with it. @param {any} state @param {string} name */
  async choose(state, name) {
    const choice = chooser(state, name);
    this.draw(choice.element);
    choice.focus();
    choice.element.scrollIntoView({ block: "nearest" });
    const chosen = await choice.made;
    const address = `/api/imports/${state.id}/${chosen ? "choose" : "stop"}`;
    await json(address, { method: "POST", body: chosen ?? {} });
    if (chosen) await this.watch(state.id, name);
    else {
      this.draw();
      this.input?.focus();
    }
  }

  /** @param {any} state @param {string} name */
  ended(state, name) {
    if (state.status !== "done") return this.refuse(name, state.error?.message ?? t("The import was stopped, and nothing was added."), state.error?.hint ?? "");
    const report = state.report ?? {};
    const open = state.tree ? make("a", { className: "button primary", href: `/trees/${state.tree}`, textContent: t("Open the tree") }) : make("a", { className: "button primary", href: "", textContent: t("Show the trees") });
    const close = make("button", { type: "button", className: "quiet close", textContent: "×", ariaLabel: t("Close") });
    close.addEventListener("click", () => this.draw());
    this.draw(make("div", { className: "report" }, close, make("b", { textContent: t("{name} has been imported", { name }) }), this.sentences(report), this.details(report), open));
    open.focus();
    // The list of trees on the same page waits for this.
    this.dispatchEvent(new CustomEvent("imported", { bubbles: true }));
  }

  /** What came, what is kept beside it, what was left out, and warnings. @param {any} report */
  sentences(report) {
    const words = report.says ?? {};
    const all = [...(words.came ?? []), ...(report.warnings ?? []), ...(words.beside ?? []), ...(words.left_out ?? [])];
    return make("ul", {}, ...all.map((textContent) => make("li", { textContent })));
  }

  /** The fields of the file by name, for those who want to know. @param {any} report */
  details(report) {
    const listed = (/** @type {Record<string, number>} */ value) => Object.entries(value ?? {}).map(([key, count]) => `${key} ${count}`).join(", ");
    const rows = [[t("Format"), report.format], [t("Kept"), listed(report.kept)], [t("Kept as extra data"), listed(report.unknown)], [t("Left out"), listed(report.dropped)]];
    const facts = rows.filter(([, value]) => value).flatMap(([label, value]) => [make("dt", { className: "soft", textContent: label }), make("dd", { textContent: value })]);
    return make("details", { className: "fold" }, make("summary", { textContent: t("Details") }), make("dl", {}, ...facts));
  }

  /** @param {string} name @param {string} message @param {string} hint */
  refuse(name, message, hint) {
    const words = make("p", { className: "refusal" }, make("b", { textContent: `${name}: ` }), message, make("span", { className: "hint", textContent: sentence(hint) }));
    words.tabIndex = -1;
    words.setAttribute("role", "alert");
    this.draw(words);
    // What had the focus may have gone with what was drawn before.
    if (document.activeElement === document.body) words.focus();
  }

  /** @param {...Node} parts */
  draw(...parts) {
    this.status?.replaceChildren(...parts);
  }
}
