// @ts-check
// What a link leads to: texts of the tree, documents, texts of other trees and whole trees, offered for
// the words that are typed and chosen by keys or a click. An id or a name in the language of lines does too.

import { json, Newest, Refused } from "../live/api.js";
import { t } from "../t.js";
import { make } from "./forms.js";

/** @typedef {{ref: string, kind: string, words: string, soft: string}} Target */

const ID = /^\[?([a-z]\d[a-z]\d[a-z\d]{0,4})\]?$/i;
const REF = /^(?:doc|tree):\S/i;
const SOON_MS = 150;
const LONGEST = 90; // characters of a target in the field

/** @typedef {() => Target[]} Nearby texts that may be meant before anything is typed */

/** The heading above targets of a kind. @param {string} kind */
function headingOf(kind) {
  return { here: t("In this tree"), documents: t("Documents"), elsewhere: t("In other trees"), trees: t("Trees") }[kind] ?? kind;
}

/** How a target is named in the field: `[a7x2] The lamp is lit.` @param {Target} target */
export function nameOf({ ref, kind, words }) {
  const name = kind === "here" ? `[${ref}] ${words}` : words;
  return name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name.trim();
}

/** What is meant without a choice: an id, or a name as lines write it; "" for words. @param {string} typed */
export function refOf(typed) {
  const text = typed.trim();
  return ID.exec(text)?.[1].toLowerCase() ?? (REF.test(text) ? text : "");
}

let pickers = 0;

export class LinkPicker {
  /** @type {Target[]} */
  targets = [];
  /** @type {Target | null} */
  chosen = null;
  active = -1;
  asked = new Newest();
  /** What was asked last, so that Enter can wait for it. @type {Promise<void>} */
  answer = Promise.resolve();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  /** @param {HTMLInputElement} field @param {string} address where targets are asked for @param {Nearby} nearby */
  constructor(field, address, nearby) {
    this.field = field;
    this.address = address;
    this.nearby = nearby;
    this.list = make("ul", { className: "link-targets", id: `link-targets-${++pickers}`, hidden: true });
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", t("What can be linked"));
    const attributes = { role: "combobox", autocomplete: "off", "aria-autocomplete": "list", "aria-controls": this.list.id, "aria-expanded": "false", placeholder: t("Words of a text, a document or a tree") };
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    const label = /** @type {HTMLElement} */ (field.closest("label"));
    const place = make("div", { className: "link-field" });
    label.replaceWith(place);
    place.append(label, this.list); // inside of the label it would be part of the field's name
    field.focus();
    field.addEventListener("input", () => this.typed());
    field.addEventListener("keydown", (event) => this.pressed(event));
    field.addEventListener("focus", () => this.typed());
    field.addEventListener("click", () => this.list.hidden && this.typed());
    field.addEventListener("blur", () => this.shut());
    // The field keeps the focus, and the list what was pressed in it.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const option = /** @type {HTMLElement} */ (event.target).closest("[role=option]");
      if (option) this.choose(this.targets[Number(option.getAttribute("data-at"))]);
    });
  }

  typed() {
    if (this.chosen && this.field.value === nameOf(this.chosen)) return;
    this.chosen = null;
    clearTimeout(this.timer);
    if (refOf(this.field.value)) return this.shut();
    this.answer = new Promise((done) => {
      this.timer = setTimeout(() => void this.ask().then(done), this.field.value.trim() ? SOON_MS : 0);
    });
  }

  async ask() {
    const words = this.field.value.trim();
    const number = this.asked.ask();
    try {
      const { targets } = await json(`${this.address}?q=${encodeURIComponent(words)}`);
      if (this.asked.isPast(number)) return;
      this.targets = words ? targets : [...this.nearby(), ...targets];
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.targets = []; // without a connection an id is written by hand
    }
    if (document.activeElement === this.field) this.draw(words);
  }

  /** @param {string} words */
  draw(words) {
    const rows = this.targets.flatMap((target, at) => {
      const isNew = target.kind !== this.targets[at - 1]?.kind;
      const heading = isNew ? [make("li", { className: "group", role: "presentation", textContent: headingOf(target.kind) })] : [];
      return [...heading, row(target, at, this.list.id)];
    });
    const none = make("li", { className: "soft", role: "presentation", textContent: words ? t("Nothing has these words") : t("Type words of what you look for") });
    this.list.replaceChildren(...(rows.length ? rows : [none]));
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
    this.mark(words && this.targets.length ? 0 : -1);
  }

  /** @param {number} at which option Enter takes; -1 for none */
  mark(at) {
    this.active = at;
    this.field.removeAttribute("aria-activedescendant");
    for (const option of this.list.querySelectorAll("[role=option]")) {
      const isActive = option.getAttribute("data-at") === String(at);
      option.setAttribute("aria-selected", String(isActive));
      if (!isActive) continue;
      this.field.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    }
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (this.list.hidden) return this.typed();
      const many = this.targets.length;
      if (many) this.mark((this.active + step + many + (this.active < 0 && step < 0 ? 1 : 0)) % many);
    } else if (event.key === "Escape" && !this.list.hidden && this.field.value) {
      event.stopPropagation();
      this.shut();
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !this.isSettled) {
      event.preventDefault();
      void this.answer.then(() => this.active >= 0 && this.choose(this.targets[this.active]));
    } else if (event.key === "Tab" && !event.shiftKey && this.active >= 0 && !this.list.hidden) {
      this.choose(this.targets[this.active]);
    }
  }

  /** Whether it is clear what is meant, so that Enter sends the form. */
  get isSettled() {
    return Boolean(this.chosen || refOf(this.field.value));
  }

  /** @param {Target | undefined} target */
  choose(target) {
    if (!target) return;
    this.chosen = target;
    this.field.value = nameOf(target);
    this.shut();
  }

  shut() {
    clearTimeout(this.timer);
    this.asked.ask(); // what is still under way comes too late
    this.list.hidden = true;
    this.active = -1;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  /** The target as lines name it: what was chosen, an id that was typed, or the only text with the words. */
  async ref() {
    if (this.chosen) return this.chosen.ref;
    const typed = this.field.value.trim();
    if (refOf(typed)) return refOf(typed);
    const { targets } = typed ? await json(`${this.address}?q=${encodeURIComponent(typed)}`) : { targets: [] };
    if (targets.length === 1) return targets[0].ref;
    const message = targets.length ? t("Several things have these words.") : typed ? t("Nothing has these words") : t("Nothing is chosen.");
    throw new Refused({ code: "NOT_FOUND", message, hint: t("Choose one from the list, or type an id.") }, 404);
  }
}

/** @param {Target} target @param {number} at @param {string} list */
function row(target, at, list) {
  const words = make("span", { className: "words", dir: "auto", textContent: target.words || "…" });
  const name = target.kind === "here" ? [make("code", { className: "id", textContent: `[${target.ref}]` }), " "] : [];
  const soft = target.soft ? [" ", make("span", { className: "soft", dir: "auto", textContent: target.soft })] : [];
  const option = make("li", { id: `${list}-${at}` }, ...name, words, ...soft);
  for (const [key, value] of Object.entries({ role: "option", "aria-selected": "false", "data-at": String(at) })) option.setAttribute(key, value);
  return option;
}
