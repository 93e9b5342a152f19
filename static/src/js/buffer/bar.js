// @ts-check
// What is said of edits, at the passage: which wait and what they will mean, and why one was
// refused. And the line below the text: how much is written, and whether hairlines are drawn.

import { t, tn } from "../t.js";
import { make } from "../tree/forms.js";

const PATIENCE_MS = 1500;
const SEAMS = "heddle.hairlines";
const meanings = () => /** @type {[string, string][]} */ ([
  ["version", t("As a version; what follows stays")],
  ["fork", t("As a branch that continues from here")],
]);

/** @param {string} words @param {() => void} [run] */
function button(words, run = () => {}) {
  const element = make("button", { type: "button", className: "button small", textContent: words });
  element.addEventListener("click", run);
  return element;
}

export class EditBar {
  /** @param {HTMLElement} host @param {import("../editor/open.js").BufferEditor} editor */
  constructor(host, editor) {
    this.editor = editor;
    /** the node at whose passage the words are shown; "": below the text */
    this.slot = "";
    this.words = make("div", { className: "book-said", role: "status" });
    const seams = make("button", { type: "button", className: "quiet seams", textContent: t("Node boundaries") });
    const show = (/** @type {boolean} */ shown) => {
      seams.setAttribute("aria-pressed", String(shown));
      seams.title = shown ? t("Hide node boundaries") : t("Show node boundaries");
      host.classList.toggle("seamless", !shown);
    };
    seams.addEventListener("click", () => {
      const shown = seams.getAttribute("aria-pressed") !== "true";
      localStorage.setItem(SEAMS, shown ? "on" : "off");
      show(shown);
    });
    show(localStorage.getItem(SEAMS) !== "off");
    this.count = make("span", { className: "soft book-kept" });
    this.line = make("div", { className: "book-bar" }, this.words, this.count, seams);
    host.append(this.line);
    /** @type {any} */
    this.late = 0;
    /** @type {((way: string) => void) | null} */
    this.answer = null;
    this.isRefused = false;
  }

  /** How much is written here and kept; what is not on the server for a while is said.
   * @param {string} tail @param {boolean} isKept @param {boolean} [isRefused] by the server, for good */
  keep(tail, isKept, isRefused = false) {
    const words = tail.match(/\S+/g)?.length ?? 0;
    const say = (/** @type {string} */ how) => {
      this.count.textContent = words ? `${tn("{n} word", "{n} words", words)}, ${how}` : "";
    };
    clearTimeout(this.late);
    if (isKept) say(t("draft saved"));
    else if (isRefused) say(t("kept in this browser only"));
    else this.late = setTimeout(() => say(t("draft not saved yet")), PATIENCE_MS);
  }

  /** Says something at the passage of a node, or below the text. @param {string} slot @param {(Node | string)[]} parts */
  showAt(slot, ...parts) {
    this.words.replaceChildren(...parts);
    if (slot === this.slot && (slot === "" || this.words.closest(".passage"))) return;
    this.slot = slot;
    if (slot) return this.editor.sayAt(this.words, slot);
    this.line.prepend(this.words);
    this.editor.sayAt(null);
  }

  /** A button that goes when it is pressed; whoever pressed it writes on.
   * @param {string} words @param {() => void} run */
  leaving(words, run) {
    return button(words, () => {
      this.editor.focus();
      run();
    });
  }

  /** Whether what is said is seen: a passage far away is not drawn. */
  get isInView() {
    const { top, bottom } = this.words.getBoundingClientRect();
    return this.words.isConnected && bottom > 0 && top < innerHeight;
  }

  /** Puts the focus on the first way that is offered, once that is drawn. */
  focus() {
    requestAnimationFrame(() => this.words.querySelector("button")?.focus());
  }

  /** Nothing is left to say. */
  clear() {
    this.showAt("");
  }

  /** What edits wait. @param {{id: string, slot: string}[]} pending @param {{way: string, save: () => void, back: () => void}} may */
  tell(pending, { way, save, back }) {
    if (this.answer || (this.isRefused && pending.length)) return;
    this.isRefused = false;
    const names = pending.map(({ id }) => id).join(", ");
    if (!pending.length) return void (this.words.childElementCount && this.clear());
    if (this.words.dataset.names === `${names} ${way}` && this.words.childElementCount) return;
    this.words.dataset.names = `${names} ${way}`;
    const kept = way === "fork" ? t("will be saved as a branch when you leave") : t("will be saved as a version when you leave");
    const slot = pending.find((entry) => entry.slot === this.slot)?.slot ?? pending[0].slot;
    this.showAt(slot, `${tn("{n} passage changed:", "{n} passages changed:", pending.length)} `, make("span", { className: "soft", textContent: way ? kept : t("unsaved") }), " ", this.leaving(t("Save"), save), " ", this.leaving(t("Discard"), back));
  }

  /** What an edit shall mean; the answer is remembered by whoever asks.
   * @param {{slot: string}} stretch @returns {Promise<string>} */
  ask({ slot }) {
    return new Promise((done) => {
      const end = (/** @type {string} */ way) => {
        this.answer = null;
        this.clear();
        done(way);
      };
      this.answer?.("");
      this.answer = end;
      const choices = meanings().flatMap(([way, words]) => [" ", this.leaving(words, () => end(way))]);
      this.showAt(slot, t("How should this edit be saved?"), ...choices, " ", this.leaving(t("Later"), () => end("")));
      this.words.querySelector("button")?.focus();
    });
  }

  /** A text that unfolds; whoever clicks it writes on, and whoever works by keys stays at it. @param {string} text */
  toRead(text) {
    const summary = make("summary", { textContent: t("Read it") });
    summary.addEventListener("click", (/** @type {MouseEvent} */ { detail }) => detail && this.editor.focus());
    return make("details", { className: "book-other" }, summary, make("div", { textContent: text, dir: "auto" }));
  }

  /** Why an edit was not saved, and what can be done. @param {{slot: string}} stretch
   * @param {{message: string, hint: string}} why @param {{branch?: () => void, back?: () => void, other?: string}} may other: the text that
   * somebody else saved there, to be read before one decides */
  refuse({ slot }, { message, hint }, { branch, back, other }) {
    this.isRefused = true;
    this.words.dataset.names = "";
    const end = (/** @type {() => void} */ run) => () => {
      this.isRefused = false;
      this.clear();
      run();
    };
    const refusal = make("span", { className: "bad", textContent: `${message} ${hint}`.trim() });
    const ways = [branch && this.leaving(t("Save as a branch"), end(branch)), back && this.leaving(t("Discard"), end(back))];
    const text = other === undefined ? [] : [this.toRead(other)];
    this.showAt(slot, refusal, ...ways.flatMap((way) => (way ? [" ", way] : [])), ...text);
  }
}
