// @ts-check
// The composer: text that becomes a node, a question to models, or a → line. What is typed is
// a draft of its place until it was sent.

import { Refused } from "../live/api.js";
import { nameOf } from "../live/shelf.js";
import { bare, continueLine, isCommand, withText } from "../tree/lines.js";
import { askWhich } from "../tree/contest.js";
import { placeAt } from "../tree/desk.js";
import { pageOf } from "../tree/page.js";

export class LoomComposer extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.form = /** @type {HTMLFormElement} */ (this.querySelector("form"));
    this.text = /** @type {HTMLTextAreaElement} */ (this.querySelector("textarea"));
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.text.addEventListener("input", () => this.typed(), { signal });
    this.text.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.form.addEventListener("submit", (event) => this.submitted(event), { signal });
    this.form.addEventListener("change", () => this.keepSettings(), { signal });
    this.page.addEventListener("moved", () => this.moved(), { signal });
    this.place = placeAt(this.page, "buffer");
    this.page.drafts.addEventListener("draft", (event) => this.isAt(event) && this.loadDraft(), { signal });
    askWhich(this.page.drafts, this.form, (place) => nameOf(place) === this.name, signal);
    this.loadSettings();
    this.loadDraft();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** Which draft is in the field. */
  get name() {
    return this.place ? nameOf(this.place) : "";
  }

  /** @param {Event} event */
  isAt(event) {
    return nameOf(/** @type {CustomEvent} */ (event).detail) === this.name;
  }

  loadDraft() {
    if (this.text && this.page && this.place) this.text.value = this.page.drafts.of(this.place);
    this.shape();
  }

  typed() {
    if (this.place) this.page?.drafts.write(this.place, this.text?.value ?? "");
    this.answer("");
    this.shape();
  }

  /** The draft stays with its node, and the new place's own draft comes. */
  moved() {
    const at = /** @type {HTMLInputElement | null} */ (this.form?.elements.namedItem("at"));
    if (at) at.value = this.page?.position ?? "";
    if (this.page) this.place = placeAt(this.page, "buffer");
    this.loadDraft();
  }

  shape() {
    this.form?.classList.toggle("is-command", isCommand(this.text?.value ?? ""));
  }

  /** A line goes with Enter alone; texts go with the key that sends. @param {KeyboardEvent} event */
  pressed(event) {
    const isPlain = event.key === "Enter" && !event.isComposing && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (!isPlain || !isCommand(this.text?.value ?? "") || this.text?.value.includes("\n")) return;
    event.preventDefault();
    this.go("respond");
  }

  /** @param {SubmitEvent} event */
  submitted(event) {
    event.preventDefault();
    this.go(event.submitter?.getAttribute("data-do") ?? "continue");
  }

  /** What the fields ask for. */
  asking() {
    const data = new FormData(this.form);
    const of = (/** @type {string} */ name) => String(data.get(name) ?? "").trim();
    const agents = this.querySelectorAll('[name="using"]').length;
    const using = data.getAll("using").map(String);
    return { n: of("n"), tokens: of("tokens"), temperature: of("temperature"), using: agents ? using : [] };
  }

  /** Sends: a line as it is, a text as a node, and then asks for continuations.
   * @param {string} action "respond" or "continue" */
  async go(action) {
    const text = this.text?.value ?? "";
    const at = this.page?.position ?? "";
    if (!text && action === "respond") return this.text?.focus();
    const draft = text ? this.place : undefined;
    this.clear();
    try {
      if (isCommand(text)) {
        const answer = await this.page?.say(bare(text), { quiet: true, draft });
        this.answer(answer?.reply ?? "");
        return;
      }
      const written = text ? await this.page?.say(withText("respond", text), { quiet: true, draft }) : null;
      if (action === "continue") {
        await this.page?.say(continueLine("", this.asking()), { at: written?.position ?? at, quiet: true });
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.answer(error.reply, true);
    }
  }

  /** Empties the field; its text is on its way, and comes back where it is refused. */
  clear() {
    if (this.text) this.text.value = "";
    this.answer("");
    this.shape();
  }

  /** @param {string} words @param {boolean} [bad] */
  answer(words, bad = false) {
    const said = /** @type {HTMLElement} */ (this.querySelector("[data-answer]"));
    said.hidden = !words;
    said.textContent = words;
    said.classList.toggle("bad", bad);
  }

  /** Asks for continuations of the position with the settings of the fields. */
  ask() {
    return this.go("continue");
  }

  keepSettings() {
    const asking = this.asking();
    localStorage.setItem(`heddle.asking.${this.page?.settings.tree}`, JSON.stringify(asking));
    this.showAgents(asking.using);
  }

  loadSettings() {
    try {
      const kept = JSON.parse(localStorage.getItem(`heddle.asking.${this.page?.settings.tree}`) ?? "{}");
      for (const name of ["n", "tokens", "temperature"]) {
        const field = /** @type {HTMLInputElement | null} */ (this.form?.elements.namedItem(name));
        if (field && kept[name] !== undefined) field.value = kept[name];
      }
      const boxes = /** @type {NodeListOf<HTMLInputElement>} */ (this.querySelectorAll('[name="using"]'));
      if (kept.using?.length && [...boxes].some((box) => kept.using.includes(box.value))) {
        for (const box of boxes) box.checked = kept.using.includes(box.value);
      }
    } catch {
      // Settings of an older page: the defaults do.
    }
    this.showAgents(this.asking().using);
  }

  /** @param {string[]} using */
  showAgents(using) {
    const shown = this.querySelector("[data-agents-shown]");
    if (shown) shown.textContent = using.length ? using.join(", ") : "Whoever was last";
  }
}
