// @ts-check
// The windows of the reader's own workspace, or of an agent's: read, ordered by hand, opened and
// stashed here; tree/window-list.js draws them.

import { asBody, call, callOf } from "../live/calls.js";
import { json, Newest, Refused, told } from "../live/api.js";
import { Keys } from "../live/outbox.js";
import { composer } from "../tree/actions.js";
import { called } from "../tree/called.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { openingOf } from "../tree/refs.js";
import { drawAgain, revisionRow, windowList } from "../tree/window-list.js";
import { toast } from "./loom-toast.js";
import { t } from "../t.js";

const SOON_MS = 200;
const TITLES_MS = 30_000; // for which the titles of documents are offered as they were
const CHANGES = 3; // of a document, that its window shows
const WORDS = 6; // of a stash, that name it
const LONGEST_LABEL = 60;

export class LoomWindows extends HTMLElement {
  choices = new Newest();
  draws = new Newest();
  keys = new Keys();
  /** @type {Promise<string[]> | undefined} */
  offered;
  /** @type {{text: string, label: string, isOnWay: boolean} | undefined} what was stashed last here */
  last;

  connectedCallback() {
    this.page = pageOf();
    this.own = this.dataset.workspace ?? "";
    this.workspace = this.own;
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.list = /** @type {HTMLSelectElement} */ (this.querySelector("select"));
    this.list.addEventListener("change", () => this.choose(), { signal });
    this.form = /** @type {HTMLFormElement | null} */ (this.querySelector("form[data-open]"));
    this.addEventListener("submit", (event) => this.sent(event), { signal });
    this.form?.addEventListener("focusin", () => void this.titles(), { signal });
    // A button that is pressed leaves the selection where it is.
    this.addEventListener("mousedown", (event) => /** @type {Element} */ (event.target).closest("[data-do]") && event.preventDefault(), { signal });
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    this.page.addEventListener("said", () => this.soon(), { signal });
    this.page.addEventListener("event", (event) => /^(turn|node\.flagged)/.test(/** @type {CustomEvent} */ (event).detail.kind) && this.soon(), { signal });
    for (const kind of ["dragstart", "dragover", "drop", "dragend"]) this.addEventListener(kind, (event) => this.dragged(/** @type {DragEvent} */ (event)), { signal });
    this.addEventListener("keydown", (event) => this.pressed(/** @type {KeyboardEvent} */ (event)), { signal });
    document.addEventListener("click", (event) => this.openRef(event), { signal });
    document.addEventListener("cast", () => this.fill(), { signal });
    document.addEventListener("pane", () => this.soon(), { signal });
    this.fill();
    this.soon();
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
    clearTimeout(this.forgetting);
  }

  fill() {
    const agents = [...(this.page?.cast.values() ?? [])].filter((who) => who.is_agent && !who.is_archived);
    const chosen = this.list?.value ?? "";
    this.list?.replaceChildren(this.list.options[0], ...agents.map((who) => make("option", { value: who.id, textContent: who.name })));
    if (this.list) this.list.value = agents.some((who) => who.id === chosen) ? chosen : "";
  }

  async choose() {
    const whose = this.list?.value;
    const number = this.choices.ask();
    const asked = `/api/workspaces?tree=${this.page?.settings.tree}&participant=${whose}`;
    try {
      const workspace = whose ? (await json(asked)).id : this.own;
      if (this.choices.isPast(number)) return;
      this.workspace = workspace;
    } catch (error) {
      return void this.refuse(error);
    }
    for (const part of this.querySelectorAll("[data-own]")) /** @type {HTMLElement} */ (part).hidden = this.workspace !== this.own;
    if (this.form) this.form.hidden = this.workspace !== this.own && !this.page?.settings.can.write;
    this.dispatchEvent(new CustomEvent("workspace", { bubbles: true, detail: this.workspace }));
    await this.draw();
  }

  soon(ms = SOON_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), ms);
  }

  async draw() {
    const box = this.querySelector("[data-shown]");
    if (!box || !this.checkVisibility()) return;
    const from = this.workspace;
    const number = this.draws.ask();
    try {
      const { results, drawn } = await json(`${this.page?.web}/windows?of=${from}`);
      if (from === this.workspace && !this.draws.isPast(number)) drawAgain(box, windowList(results, drawn, this.viewer));
    } catch (error) {
      this.refuse(error);
    }
  }

  /** What the list needs to know of its reader. @returns {import("../tree/window-list.js").Viewer} */
  get viewer() {
    const { store, settings } = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    return { store, mode: settings.mode, isOwn: this.workspace === this.own, onChanges: (list, document) => this.fillChanges(list, document) };
  }

  /** @param {HTMLElement} list @param {string} document */
  async fillChanges(list, document) {
    try {
      const { results } = await json(`/api/documents/${document}/revisions?limit=${CHANGES}`);
      const differences = await Promise.all(results.map((/** @type {{number: number}} */ revision) => json(`/api/documents/${document}/revisions/${revision.number}/difference`)));
      list.replaceChildren(
        ...differences.map(({ pieces }, at) => {
          const authors = results[at].authors.map((/** @type {string} */ id) => this.page?.cast.get(id)?.name ?? id);
          return revisionRow(results[at].number, authors, pieces);
        }),
      );
    } catch (error) {
      this.refuse(error);
    }
  }

  /** @param {DragEvent} event */
  dragged(event) {
    const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("li[data-number]"));
    if (event.type === "dragstart" && row) {
      this.moving = row;
      event.dataTransfer?.setData("text/plain", `#${row.dataset.number}`);
      event.dataTransfer?.setDragImage(row, 0, 0);
      return;
    }
    if (event.type === "dragend") return void (this.moving = undefined);
    if (!this.moving || !row || row.parentElement !== this.moving.parentElement) return;
    event.preventDefault();
    if (event.type !== "drop") return;
    const rows = [...(row.parentElement?.children ?? [])];
    row[rows.indexOf(this.moving) < rows.indexOf(row) ? "after" : "before"](this.moving);
    void this.keepOrder();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const grip = /** @type {Element} */ (event.target).closest(".grip");
    const row = grip?.closest("li");
    if (!row || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const other = event.key === "ArrowUp" ? row.previousElementSibling : row.nextElementSibling;
    if (!other) return;
    other[event.key === "ArrowUp" ? "before" : "after"](row);
    /** @type {HTMLElement} */ (grip).focus();
    void this.keepOrder();
  }

  /** Keeps the windows in the order in which they are listed. */
  async keepOrder() {
    const order = [...this.querySelectorAll("li[data-number]")].map((row) => Number(/** @type {HTMLElement} */ (row).dataset.number));
    try {
      await json(`/api/workspaces/${this.workspace}`, { method: "PATCH", body: { settings: { order } } });
      this.refuse(null);
    } catch (error) {
      this.refuse(error);
    }
  }

  /** @param {Event} event */
  clicked(event) {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-do], [data-call], [data-take]"));
    if (!button) return;
    const { do: what, take } = button.dataset;
    const named = callOf(button);
    if (what === "pin") this.run(call("open", { ref: this.page?.position, keep: true }));
    else if (what === "open") this.run(call("open", { ref: this.page?.position }));
    else if (what === "stash") this.stash();
    else if (take !== undefined) this.take(take);
    else if (named) this.run(named);
  }

  /** Opens what an answer names in a window of the reader's own. @param {MouseEvent} event */
  async openRef(event) {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-open-ref]"));
    if (!button) return;
    this.show();
    if (this.list && this.workspace !== this.own) {
      this.list.value = "";
      await this.choose();
    }
    await this.run(call("open", { ref: button.dataset.openRef, keep: true }));
  }

  /** Offers the documents of the grove, by their titles. @returns {Promise<string[]>} */
  titles() {
    if (!this.offered) this.forgetting = setTimeout(() => (this.offered = undefined), TITLES_MS);
    return (this.offered ??= this.offer().catch((error) => (this.refuse(error), [])));
  }

  async offer() {
    const { results } = await json(`/api/documents?grove=${this.page?.settings.grove}`);
    const titles = results.map((/** @type {{title: string}} */ document) => document.title);
    this.form?.querySelector("datalist")?.replaceChildren(...titles.map((/** @type {string} */ value) => make("option", { value })));
    return titles;
  }

  /** Opens what was typed. @param {Event} event */
  async sent(event) {
    event.preventDefault();
    if (!this.form || event.target !== this.form) return;
    const field = /** @type {HTMLInputElement} */ (this.form.elements.namedItem("what"));
    const typed = field.value;
    const what = openingOf(typed, await this.titles());
    const refs = await this.run(what);
    if (!refs) return;
    // What was typed meanwhile stays.
    if (field.value === typed) field.value = "";
    if (what.command === "find_open" && !refs.length) this.refuse(new Refused({ message: t("Nothing was found.") }, 0));
  }

  /** Runs a command in the workspace that is shown; what it made or found, false where it was refused.
   * @param {import("../live/calls.js").Call} what */
  async run(what) {
    const url = `/api/workspaces/${this.workspace}/commands`;
    const body = { ...asBody(what), ...(this.workspace === this.own ? { at: this.page?.position } : {}) };
    try {
      const { refs } = await this.keys.send(url, what, (key) => json(url, { method: "POST", body: { ...body, key } }));
      this.refuse(null);
      await this.draw();
      return refs;
    } catch (error) {
      return this.refuse(error);
    }
  }

  /** Shows why a line was refused, and hides it again. @param {unknown} error */
  refuse(error) {
    const box = /** @type {HTMLElement | null} */ (this.querySelector("[data-refused]"));
    if (error && !(error instanceof Refused)) throw error;
    if (!box) return false;
    box.hidden = !error;
    box.textContent = error instanceof Refused ? told(error) : "";
    return false;
  }

  /** Puts what is selected aside; false where nothing is. */
  stash() {
    const field = /** @type {HTMLTextAreaElement} */ (document.activeElement);
    const inField = field?.matches?.("textarea") ? field.value.slice(field.selectionStart, field.selectionEnd) : "";
    const text = inField || String(getSelection() ?? "");
    if (!text.trim()) {
      this.refuse(new Refused({ message: t("Select some text first.") }, 0));
      return false;
    }
    const words = text.trim().split(/\s+/).slice(0, WORDS).join(" ").replaceAll('"', "'").slice(0, LONGEST_LABEL);
    this.show();
    void this.stashOnce(text, words);
    return true;
  }

  /** Puts a text aside under a name that no other has, and says so; pressed again, it is one still.
   * @param {string} text @param {string} words of its name */
  async stashOnce(text, words) {
    const names = [...this.querySelectorAll("[data-call][data-label]")].map((button) => button.getAttribute("data-label"));
    const { last } = this;
    if (last?.text === text && (last.isOnWay || names.includes(last.label))) {
      if (!last.isOnWay) toast().show(t("{text} is stashed already.", { text: called(text) }));
      return;
    }
    let label = words;
    for (let n = 2; names.includes(label); n++) label = `${words} ${n}`;
    const stash = { text, label, isOnWay: true };
    this.last = stash;
    const refs = await this.run(call("stash", { label, content: text }));
    stash.isOnWay = false;
    if (refs) toast().show(t("Stashed: {text}", { text: called(text) }));
  }

  show() {
    document.getElementById("tab-desk")?.click();
  }

  /** @param {string} text */
  take(text) {
    const book = /** @type {import("./loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer[data-on]"));
    const field = composer()?.text;
    if (book) return book.write(text);
    if (!field) return;
    field.focus();
    field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
