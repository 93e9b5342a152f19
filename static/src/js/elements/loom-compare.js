// @ts-check
// Two to four continuations or versions side by side, words that differ from the first marked.

import { part } from "../live/api.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { changes } from "../tree/words.js";
import { t } from "../t.js";

const MOST = 4;

export class LoomCompare extends HTMLElement {
  /** @type {string[]} what may be chosen */
  ids = [];
  /** @type {string[]} what is shown, the first being what the others are compared with */
  chosen = [];

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    this.choices = make("div", { className: "compare-choices" });
    this.choices.setAttribute("role", "group");
    this.choices.setAttribute("aria-label", t("What is compared, two to four"));
    this.sheets = make("div", { className: "compare" });
    const close = make("button", { type: "button", className: "button small", textContent: t("Close") });
    const head = make("header", { className: "compare-head" }, make("h2", { textContent: t("Side by side") }), this.choices, close);
    this.dialog = /** @type {HTMLDialogElement} */ (make("dialog", { className: "sheet-dialog wide" }, head, this.sheets));
    this.dialog.setAttribute("aria-label", t("Compare"));
    this.replaceChildren(this.dialog);
    close.addEventListener("click", () => this.dialog?.close());
    this.choices.addEventListener("click", (event) => this.toggle(/** @type {Element} */ (event.target).closest("[data-choice]")));
    this.sheets.addEventListener("click", (event) => {
      if (/** @type {Element} */ (event.target).closest("[data-go]")) this.dialog?.close();
    });
    document.addEventListener("compare", (event) => this.open(/** @type {CustomEvent} */ (event).detail), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** @param {string[]} ids */
  open(ids) {
    this.ids = ids;
    this.chosen = ids.slice(0, MOST);
    this.dialog?.showModal();
    return this.draw();
  }

  /** @param {Element | null} button */
  toggle(button) {
    const id = button?.getAttribute("data-choice");
    if (!id) return;
    if (!this.chosen.includes(id)) this.chosen = [...this.chosen, id].slice(-MOST);
    else if (this.chosen.length > 2) this.chosen = this.chosen.filter((one) => one !== id);
    this.draw();
  }

  async draw() {
    this.choices?.replaceChildren(
      ...this.ids.map((id, at) => {
        const button = make("button", { type: "button", className: "pill", textContent: `${at + 1} ${id}` });
        button.setAttribute("data-choice", id);
        button.setAttribute("aria-pressed", String(this.chosen.includes(id)));
        return button;
      }),
    );
    const chosen = this.chosen;
    const texts = await Promise.all(chosen.map((id) => part(`${this.page?.web}/nodes/${id}/text`)));
    if (chosen !== this.chosen) return;
    this.sheets?.style.setProperty("--columns", String(chosen.length));
    this.sheets?.replaceChildren(...chosen.map((id, at) => this.sheet(id, texts[at], texts[0], at === 0)));
  }

  /** @param {string} id @param {string} text @param {string} first @param {boolean} isFirst */
  sheet(id, text, first, isFirst) {
    const store = this.page?.store;
    const place = store?.places.get(id);
    const who = store && place !== undefined ? this.page?.cast.get(store.authors[place]) : undefined;
    const pieces = isFirst ? [{ text, changed: false }] : changes(first, text);
    const body = make("p", {}, ...pieces.map((piece) => (piece.changed ? make("mark", { textContent: piece.text }) : piece.text)));
    const go = make("a", { className: "button small", href: `?node=${id}`, textContent: t("Take it") });
    go.setAttribute("data-go", id);
    const sheet = make("article", {}, make("header", {}, make("b", { className: "by", textContent: who?.name ?? "" }), " ", make("code", { className: "id", textContent: id })), body, go);
    sheet.dataset.who = String(who?.colour ?? 0);
    return sheet;
  }
}
