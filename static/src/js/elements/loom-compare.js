// @ts-check
// Two to four nodes or versions side by side, words that differ from the first marked. One is
// taken by its button or number; all of them stay in the tree. A click on a sentence takes that one
// alone, and several of them become a new text beside these, in which each keeps its authors.

import { called } from "../tree/called.js";
import { call } from "../live/calls.js";
import { part, Refused } from "../live/api.js";
import { perform } from "../tree/actions.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { changes } from "../tree/compare.js";
import { withImages } from "../tree/images.js";
import { sentencesOf, together } from "../tree/sentences.js";
import { t } from "../t.js";

const MOST = 4;
const LISTED = 24;

/** @param {string} words @param {string} act @param {string} [more] */
const button = (words, act, more = "button small") => {
  const element = make("button", { type: "button", className: more, textContent: words });
  element.setAttribute("data-act", act);
  return element;
};

/** A text with its images in it. @param {string} text */
const drawn = (text) => withImages(text).map((piece) => (typeof piece === "string" ? piece : make("img", { ...piece, loading: "lazy" })));

/** A piece of a text, marked if it differs. @param {import("../tree/compare.js").Piece} piece */
function marked({ text, changed }) {
  const end = text.trimEnd().length;
  const [words, blanks] = [drawn(text.slice(0, end)), text.slice(end)];
  return changed && end ? [make("mark", {}, ...words), blanks] : [...words, blanks];
}

/** The pieces of a text in its sentences, each of which can be pressed. @param {string} text @param {import("../tree/compare.js").Piece[]} pieces */
function inSentences(text, pieces) {
  let [piece, done] = [0, 0]; // what is left of the pieces
  return sentencesOf(text).map((sentence, at) => {
    const span = make("span", { className: "sentence", tabIndex: at ? -1 : 0 });
    Object.entries({ role: "button", "aria-pressed": "false", "data-sentence": String(at) }).forEach(([name, value]) => span.setAttribute(name, value));
    for (let left = sentence.length; left > 0; ) {
      const { text: words, changed } = pieces[piece];
      const part = words.slice(done, done + left);
      span.append(...marked({ text: part, changed }));
      [left, done] = [left - part.length, done + part.length];
      if (done === words.length) [piece, done] = [piece + 1, 0];
    }
    return span;
  });
}

export class LoomCompare extends HTMLElement {
  /** @type {string[]} what may be chosen */
  ids = [];
  /** @type {string[]} what is shown, the first being what the others are compared with */
  chosen = [];
  /** @type {{id: string, at: number, text: string, of: string}[]} sentences of a new text, in order */
  sentences = [];

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.choices = make("div", { className: "compare-choices" });
    this.choices.setAttribute("role", "group");
    this.choices.setAttribute("aria-label", t("Nodes to compare, two to four"));
    this.sheets = make("div", { className: "compare" });
    this.field = /** @type {HTMLInputElement} */ (make("input", { name: "other", size: 8, maxLength: 9, autocomplete: "off", spellcheck: false }));
    this.status = make("p", { className: "refusal", role: "alert", hidden: true });
    const other = make("form", { className: "compare-other" }, make("label", {}, t("Another node"), " ", this.field), " ", make("button", { className: "button small", textContent: t("Add") }));
    const close = button(t("Close"), "");
    const head = make("header", { className: "compare-head" }, make("h2", { textContent: t("Side by side") }), this.choices, other, close);
    this.built = make("section", { className: "built", hidden: true });
    this.built.setAttribute("aria-label", t("New text"));
    const words = this.page.can.write ? t("Accept one with its number, or click sentences to put a new text together. The others stay in the tree.") : t("Accept one with its number. The others stay in the tree.");
    const foot = make("p", { className: "soft", textContent: words });
    this.dialog = /** @type {HTMLDialogElement} */ (make("dialog", { className: "sheet-dialog wide" }, head, this.status, this.sheets, this.built, foot));
    this.dialog.setAttribute("aria-label", t("Compare"));
    this.replaceChildren(this.dialog);
    close.autofocus = true;
    close.addEventListener("click", () => this.dialog?.close());
    other.addEventListener("submit", (event) => this.add(event));
    this.choices.addEventListener("click", (event) => this.toggle(/** @type {Element} */ (event.target).closest("[data-choice]")));
    this.sheets.addEventListener("click", (event) => this.clicked(/** @type {Element} */ (event.target)));
    this.built.addEventListener("click", (event) => this.building(/** @type {Element} */ (event.target)));
    this.dialog.addEventListener("keydown", (event) => this.pressed(event));
    this.page.excerpts.addEventListener("excerpts", () => this.dialog?.open && this.list(), { signal });
    document.addEventListener("compare", (event) => this.open(/** @type {CustomEvent} */ (event).detail), { signal });
    // What was edited here has led somewhere.
    this.page.addEventListener("moved", () => this.dialog?.close(), { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** @param {string[]} ids */
  open(ids) {
    this.ids = ids;
    this.chosen = ids.slice(0, MOST);
    this.sentences = [];
    this.build();
    this.dialog?.showModal();
    return this.draw();
  }

  /** @param {Element | null} pill */
  toggle(pill) {
    const id = pill?.getAttribute("data-choice");
    if (!id) return;
    if (!this.chosen.includes(id)) this.choose(id);
    else if (this.chosen.length > 2) this.chosen = this.chosen.filter((chosen) => chosen !== id);
    this.draw();
  }

  /** Shows one more, in place of the last where there is no room; the first stays. @param {string} id */
  choose(id) {
    this.chosen = [...this.chosen.slice(0, MOST - 1), id];
  }

  /** Any other node of the tree, by its id. @param {SubmitEvent} event */
  add(event) {
    event.preventDefault();
    const id = (this.field?.value ?? "").trim().toLowerCase();
    const store = this.page?.store;
    const place = store?.places.get(id);
    const isText = store && place !== undefined && store.kinds[place] === "text" && store.lengths[place] > 0;
    if (!isText) return this.refuse(t("There is no node [{id}] in this tree.", { id }));
    if (!this.ids.includes(id)) this.ids = [id, ...this.ids];
    if (!this.chosen.includes(id)) this.choose(id);
    if (this.field) this.field.value = "";
    return this.draw();
  }

  /** @param {string} words */
  refuse(words) {
    if (!this.status) return;
    this.status.textContent = words;
    this.status.hidden = !words;
  }

  /** @param {Element} target */
  clicked(target) {
    const act = target.closest("[data-act]")?.getAttribute("data-act");
    const id = target.closest("article")?.getAttribute("data-id") ?? "";
    const sentence = target.closest("[data-sentence]");
    if (sentence && !target.closest("img")) return this.pick(id, sentence);
    if (act === "take") this.dialog?.close();
    if (act !== "measure") return;
    this.chosen = [id, ...this.chosen.filter((chosen) => chosen !== id)];
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /** @type {Element} */ (event.target).closest("input, textarea, select, form")) return;
    const sentence = /** @type {Element} */ (event.target).closest("[data-sentence]");
    if (sentence && this.along(sentence, event)) return event.preventDefault();
    const id = this.chosen[Number(event.key) - 1];
    const host = id && this.sheets?.querySelector(`[data-id="${CSS.escape(id)}"]`);
    if (!host || !this.page) return;
    event.preventDefault();
    this.dialog?.close();
    perform("take", { page: this.page, id, host, button: null });
  }

  // A new text from sentences.

  /** Keys on a sentence: arrows lead to the next, Enter and the space bar take it. @param {Element} sentence @param {KeyboardEvent} event */
  along(sentence, event) {
    if (event.key === "Enter" || event.key === " ") {
      this.pick(sentence.closest("article")?.getAttribute("data-id") ?? "", sentence);
      return true;
    }
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const every = [...(this.sheets?.querySelectorAll("[data-sentence]") ?? [])];
    const next = step && every[every.indexOf(sentence) + step];
    if (next instanceof HTMLElement) {
      sentence.setAttribute("tabindex", "-1");
      next.tabIndex = 0;
      next.focus();
    }
    return Boolean(step);
  }

  /** Takes a sentence into the new text, or out of it. @param {string} id @param {Element} sentence */
  pick(id, sentence) {
    const at = Number(sentence.getAttribute("data-sentence"));
    const place = this.sentences.findIndex((taken) => taken.id === id && taken.at === at);
    if (place >= 0) this.sentences.splice(place, 1);
    else {
      const of = this.texts?.get(id) ?? "";
      this.sentences.push({ id, at, text: sentencesOf(of)[at] ?? "", of });
    }
    this.build();
  }

  /** Draws the new text, and which sentences are in it. */
  build() {
    for (const element of this.sheets?.querySelectorAll("[data-sentence]") ?? []) {
      const id = element.closest("article")?.getAttribute("data-id");
      const place = this.sentences.findIndex((taken) => taken.id === id && taken.at === Number(element.getAttribute("data-sentence")));
      element.setAttribute("aria-pressed", String(place >= 0));
    }
    if (!this.built) return;
    this.built.hidden = !this.sentences.length;
    const text = make("p", { className: "text", dir: "auto" });
    this.sentences.forEach(({ id, text: words }, at) => {
      const piece = make("button", { type: "button", className: "built-piece", title: t("Take this sentence out"), textContent: words.trim() });
      piece.dataset.out = String(at);
      piece.dataset.who = String(this.who(id)?.colour ?? 0);
      text.append(piece, " ");
    });
    const save = button(t("Add this text"), "build", "button small primary");
    this.built.replaceChildren(make("h3", { textContent: t("New text") }), text, make("footer", {}, save, " ", button(t("Clear"), "unbuild")));
  }

  /** @param {Element} target */
  building(target) {
    const act = target.closest("[data-act]")?.getAttribute("data-act");
    const out = target.closest("[data-out]")?.getAttribute("data-out");
    if (out) this.sentences.splice(Number(out), 1);
    if (act === "unbuild") this.sentences = [];
    if (act === "build") return this.addText();
    this.build();
  }

  /** Stores the new text below the text that the first of its sentences is below. */
  async addText() {
    const { page, sentences } = this;
    const store = page?.store;
    const slot = store?.slotOf(sentences[0]?.id ?? "") ?? null;
    const parent = store && slot !== null ? store.parents[slot] : null;
    if (!page || !store || parent === null) return;
    const ref = store.ids[store.slots[parent]] && store.selected(store.slots[parent]);
    const sources = [...new Set(sentences.map((sentence) => sentence.id))];
    try {
      await page.say(call("respond", { ref, content: together(sentences), sources, role: "parts" }));
      this.sentences = [];
      this.build();
      this.dialog?.close();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(error.message);
    }
  }

  /** Who wrote a text. @param {string} id */
  who(id) {
    const store = this.page?.store;
    const place = store?.places.get(id);
    return store && place !== undefined ? this.page?.cast.get(store.authors[place]) : undefined;
  }

  async draw() {
    this.refuse("");
    this.list();
    const chosen = this.chosen;
    try {
      const texts = await Promise.all(chosen.map((id) => part(`${this.page?.web}/nodes/${id}/text`)));
      if (chosen !== this.chosen) return;
      this.texts = new Map(chosen.map((id, at) => [id, texts[at]]));
      this.list();
      this.sheets?.style.setProperty("--columns", String(chosen.length));
      this.sheets?.replaceChildren(...chosen.map((_, at) => this.sheet(at, texts)));
      this.build();
      if (chosen.length < 2) this.refuse(t("This node has no siblings. Choose another node to compare it with."));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(error.message);
    }
  }

  /** Lists what can be compared, by first words; what has the focus keeps it. */
  list() {
    const held = document.activeElement?.getAttribute("data-choice");
    const shown = this.ids.filter((id, at) => at < LISTED || this.chosen.includes(id));
    const pills = (this.ids.length > 2 ? shown : []).map((id) => this.pill(id));
    this.choices?.replaceChildren(...pills);
    if (held) pills.find((pill) => pill.dataset.choice === held)?.focus();
  }

  /** @param {string} id */
  pill(id) {
    const words = called(this.texts?.get(id) ?? this.page?.excerpts.of(id) ?? "");
    const pill = make("button", { type: "button", className: "pill", title: id, textContent: words, dir: "auto" });
    pill.setAttribute("data-choice", id);
    pill.setAttribute("aria-pressed", String(this.chosen.includes(id)));
    return pill;
  }

  /** The words of one text, marked where they differ from the first; of two, both are.
   * @param {number} at @param {string[]} texts */
  words(at, texts) {
    const other = at ? texts[0] : texts.length === 2 ? texts[1] : texts[0];
    const pieces = changes(other, texts[at]);
    const text = make("p", { className: "text", dir: "auto" }, ...(this.page?.can.write ? inSentences(texts[at], pieces) : pieces.flatMap(marked)));
    if (!texts[at]) text.append(make("i", { className: "soft", textContent: t("empty") }));
    return text;
  }

  /** @param {number} at @param {string[]} texts */
  sheet(at, texts) {
    const id = this.chosen[at];
    const who = this.who(id);
    const head = make("header", {}, make("kbd", { textContent: String(at + 1) }), " ", make("b", { className: "by", title: id, textContent: who?.name ?? "" }));
    if (this.chosen.length > 2) head.append(at ? button(t("Compare with this"), "measure", "quiet") : make("span", { className: "soft", textContent: t("Base") }));
    const foot = make("footer", {}, button(t("Accept"), "take", "button small primary"));
    if (this.page?.can.write) foot.append(button(t("Edit"), "edit"));
    const sheet = make("article", {}, head, this.words(at, texts), foot);
    Object.assign(sheet.dataset, { id, who: String(who?.colour ?? 0) });
    sheet.setAttribute("aria-label", t("Text {n}, {name}", { n: at + 1, name: who?.name ?? "" }));
    return sheet;
  }
}
