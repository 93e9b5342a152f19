// @ts-check
// The windows of the reader's own workspace, or of an agent's: what is pinned, open, hidden or
// stashed, and what may be done with it.

import { asBody, call, callOf, putCall } from "../live/calls.js";
import { json, Newest, Refused } from "../live/api.js";
import { composer } from "../tree/actions.js";
import { quoted } from "../tree/asking.js";
import { make } from "../tree/forms.js";
import { parsed } from "../tree/morph.js";
import { pageOf } from "../tree/page.js";
import { openingOf, withRefs } from "../tree/refs.js";
import { t } from "../t.js";

/** @typedef {{number: number, kind: "node" | "result" | "stash", visible: boolean, keep: boolean, ref: string, label: string, text: string, before: string[], after: string[], as: "diff" | "prose" | null, open: boolean, current: string | null, document: string | null, revision: number | null}} Shown */

/** Lines around a window, which it does not own. @param {string[]} lines */
const around = (lines) => (lines.length ? [make("span", { className: "soft around", textContent: lines.join("\n") })] : []);

/** A text as the path draws it. @param {string} markup */
const drawnText = (markup) => make("div", { className: "text window-text" }, parsed(markup));

/** The beginning of a text, by which a folded one is known. @param {string} text */
const beginning = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN).trimEnd()}…` : text);

/** What was added and removed, marked. @param {string} text */
function difference(text) {
  const lines = text.split("\n").map((line) => make(line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span", { textContent: line }));
  return make("pre", { className: "diff", dir: "auto" }, ...lines);
}

/** A piece of a change: what stayed only at its ends. @param {{kind: "same" | "old" | "new", text: string}} piece */
function changed({ kind, text }) {
  if (kind !== "same") return make(kind === "new" ? "ins" : "del", { textContent: text });
  return text.length <= 3 * AROUND ? text : `${text.slice(0, AROUND)} … ${text.slice(-AROUND)}`;
}

/** An eye, drawn: not every machine has a font with one. */
function eye() {
  const drawing = document.createElementNS(SVG, "svg");
  for (const [name, value] of [["class", "eye"], ["viewBox", "0 0 20 14"], ["aria-hidden", "true"], ["focusable", "false"]]) drawing.setAttribute(name, value);
  const lines = document.createElementNS(SVG, "path");
  lines.setAttribute("d", "M1 7c4.5-7.5 13.5-7.5 18 0-4.5 7.5-13.5 7.5-18 0zM10 4.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6z");
  drawing.append(lines);
  return drawing;
}

const SVG = "http://www.w3.org/2000/svg";
const SOON_MS = 200;
const TITLES_MS = 30_000; // for which the titles of documents are offered as they were
const CHANGES = 3; // of a document, that its window shows
const AROUND = 60; // characters on each side of a change
const WORDS = 6; // of a stash, that name it
const LONG = 600; // characters of a text that folds
const SHOWN = 80; // characters of a folded text
const LONGEST_LABEL = 60;

export class LoomWindows extends HTMLElement {
  choices = new Newest();
  draws = new Newest();
  /** @type {Promise<string[]> | undefined} */
  offered;

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
    for (const one of this.querySelectorAll("[data-own]")) /** @type {HTMLElement} */ (one).hidden = this.workspace !== this.own;
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
      if (from === this.workspace && !this.draws.isPast(number)) box.replaceChildren(...this.drawn(results, drawn));
    } catch (error) {
      this.refuse(error);
    }
  }

  /** @param {Shown[]} all @param {Record<string, string>} markup of texts, as the path draws them, by number */
  drawn(all, markup) {
    const groups = [
      { words: t("Open"), rows: all.filter((one) => one.visible) },
      { words: t("Stashed"), rows: all.filter((one) => !one.visible && one.kind === "stash") },
      { words: t("Hidden"), rows: all.filter((one) => !one.visible && one.kind !== "stash") },
    ];
    const parts = groups.filter(({ rows }) => rows.length).flatMap(({ words, rows }) => [make("h2", { textContent: words }), make("ul", { className: "list" }, ...rows.map((one) => this.row(one, markup[one.number])))]);
    return parts.length ? parts : [make("p", { className: "soft", textContent: t("Nothing is open. Pin a text to keep it beside the path, or stash words to use them later.") })];
  }

  /** @param {Shown} one @param {string} [markup] */
  row(one, markup) {
    const head = make("p", { className: "window-head" }, make("code", { className: "id", textContent: `#${one.number}` }), " ", ...this.named(one), " ");
    const marks = [one.document ? t("revision {number}", { number: one.revision ?? 0 }) : "", one.keep && one.visible ? t("pinned") : "", one.label && one.kind !== "stash" ? one.label : "", one.current ? t("stale, now [{id}]", { id: one.current }) : ""];
    head.append(make("span", { className: "soft", textContent: marks.filter(Boolean).join(" · ") }));
    const text = one.as === "diff" ? difference(one.text) : this.text(one, markup);
    const body = one.visible && one.text.length <= LONG ? text : make("details", {}, make("summary", { textContent: beginning(one.text) || t("empty") }), text);
    const row = make("li", { className: one.visible ? "" : "hidden-window" }, head, this.buttons(one), ...this.changes(one), one.open ? body : make("p", { className: "soft", textContent: one.text }));
    row.dataset.number = String(one.number);
    const grip = make("button", { type: "button", className: "quiet grip", textContent: "⠿", draggable: true, title: t("Drag to move, or press the arrow keys") });
    grip.setAttribute("aria-label", t("Move #{number} up or down", { number: one.number }));
    head.prepend(grip, " ");
    return row;
  }

  /** What a window shows: as the path draws it, else as it is. @param {Shown} one @param {string} [markup] */
  text(one, markup) {
    const words = markup ? [drawnText(markup)] : this.linked(one.text, one.kind === "result");
    const values = { dir: "auto", ...(one.text.length > LONG ? { tabIndex: 0 } : {}) };
    return make(markup ? "div" : "pre", values, ...around(one.before), ...words, ...around(one.after));
  }

  /** What a window shows, as a link to it where there is one. @param {Shown} one */
  named(one) {
    if (one.document) return [make("a", { href: `/documents/${one.document}`, textContent: one.ref })];
    return this.linked(one.ref, one.kind !== "stash");
  }

  /** The words, with what opens each text that they name. @param {string} words @param {boolean} isNaming */
  linked(words, isNaming) {
    return isNaming ? withRefs(words, this.page?.store) : [words];
  }

  /** The last changes of the document that a window shows, read when they are asked for. @param {Shown} one */
  changes(one) {
    if (!one.document || !one.revision) return [];
    const list = make("ul", { className: "list" });
    const box = make("details", {}, make("summary", { textContent: t("Last changes") }), list);
    box.addEventListener("toggle", () => box.open && !list.childElementCount && this.fillChanges(list, one.document ?? ""));
    return [box];
  }

  /** @param {HTMLElement} list @param {string} document */
  async fillChanges(list, document) {
    try {
      const { results } = await json(`/api/documents/${document}/revisions?limit=${CHANGES}`);
      const all = await Promise.all(results.map((/** @type {{number: number}} */ one) => json(`/api/documents/${document}/revisions/${one.number}/difference`)));
      list.replaceChildren(
        ...all.map(({ pieces }, at) => {
          const by = results[at].authors.map((/** @type {string} */ id) => this.page?.cast.get(id)?.name ?? id).join(", ");
          const head = make("p", { className: "soft", textContent: [t("revision {number}", { number: results[at].number }), by].filter(Boolean).join(" · ") });
          return make("li", {}, head, make("p", { className: "change", dir: "auto" }, ...pieces.map(changed)));
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
    const order = [...this.querySelectorAll("li[data-number]")].map((one) => Number(/** @type {HTMLElement} */ (one).dataset.number));
    try {
      await json(`/api/workspaces/${this.workspace}`, { method: "PATCH", body: { settings: { order } } });
      this.refuse(null);
    } catch (error) {
      this.refuse(error);
    }
  }

  /** @param {Shown} one */
  buttons(one) {
    const isOwn = this.workspace === this.own;
    const button = (/** @type {import("../live/calls.js").Call | null} */ what, /** @type {string} */ words, values = {}, hasEye = false) => {
      const made = make("button", { type: "button", className: "quiet", ...values }, ...(hasEye ? [eye(), " "] : []), words);
      if (what) putCall(made, what);
      return made;
    };
    const made = [];
    if (one.visible) {
      if (!one.keep) made.push(button(call("open", { ref: `#${one.number}`, keep: true }), t("Pin")));
      made.push(button(call("hide", { windows: [`#${one.number}`] }), t("Hide"), { ariaPressed: "true" }, one.kind === "result"));
    } else if (one.kind === "stash") {
      made.push(button(call("recall", { label: one.label }), t("Recall")));
    } else {
      made.push(button(call("show", { windows: [`#${one.number}`] }), t("Show"), { ariaPressed: "false" }, one.kind === "result"));
    }
    if (isOwn && one.open) {
      const take = button(null, this.page?.settings.mode === "buffer" ? t("Insert into the text") : t("Insert into the composer"));
      take.dataset.take = one.text;
      made.push(take);
    }
    if (one.kind === "stash") {
      const drop = button(call("drop", { ref: `stash:${quoted(one.label)}` }), t("Drop"));
      drop.dataset.label = one.label;
      made.push(drop);
    } else made.push(button(call("close", { windows: [`#${one.number}`] }), t("Close")));
    return make("span", { className: "window-do" }, ...made);
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
    if (!this.offered) setTimeout(() => (this.offered = undefined), TITLES_MS);
    return (this.offered ??= this.offer().catch((error) => (this.refuse(error), [])));
  }

  async offer() {
    const { results } = await json(`/api/documents?grove=${this.page?.settings.grove}`);
    const titles = results.map((/** @type {{title: string}} */ one) => one.title);
    this.form?.querySelector("datalist")?.replaceChildren(...titles.map((/** @type {string} */ value) => make("option", { value })));
    return titles;
  }

  /** Opens what was typed. @param {Event} event */
  async sent(event) {
    event.preventDefault();
    if (!this.form || event.target !== this.form) return;
    const field = /** @type {HTMLInputElement} */ (this.form.elements.namedItem("what"));
    const what = openingOf(field.value, await this.titles());
    const refs = await this.run(what);
    if (!refs) return;
    field.value = "";
    if (what.command === "find_open" && !refs.length) this.refuse(new Refused({ message: t("Nothing was found.") }, 0));
  }

  /** Runs a command in the workspace that is shown; what it made or found, false where it was refused.
   * @param {import("../live/calls.js").Call} what */
  async run(what) {
    const body = { ...asBody(what), key: crypto.randomUUID(), ...(this.workspace === this.own ? { at: this.page?.position } : {}) };
    try {
      const { refs } = await json(`/api/workspaces/${this.workspace}/commands`, { method: "POST", body });
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
    box.textContent = error instanceof Refused ? `${error.message} ${error.hint}`.trim() : "";
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
    const names = [...this.querySelectorAll("[data-call][data-label]")].map((one) => one.getAttribute("data-label"));
    let label = words;
    for (let n = 2; names.includes(label); n++) label = `${words} ${n}`;
    this.show();
    this.run(call("stash", { label, content: text }));
    return true;
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
