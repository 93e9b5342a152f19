// @ts-check
// What this person has typed in the tree and not yet sent, wherever it is: a list that leads there.

import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { placeOf } from "../live/draft-storage.js";
import { t } from "../t.js";

const SOON_MS = 300;
const MOST = 120; // characters of a draft

export class LoomDrafts extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    for (const name of ["draft", "saved"]) this.page.drafts.addEventListener(name, () => this.soon(), { signal });
    for (const name of ["moved", "store"]) this.page.addEventListener(name, () => this.soon(), { signal });
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    this.draw();
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), SOON_MS);
  }

  draw() {
    const { page } = this;
    if (!page || this.contains(document.activeElement)) return;
    const rows = page.drafts.all().map(([name, text]) => this.row(name, text));
    this.replaceChildren(...(rows.length ? [make("ul", { className: "list" }, ...rows)] : [make("p", { className: "soft", textContent: t("What you type and have not sent is listed here.") })]));
  }

  /** @param {string} name @param {string} text */
  row(name, text) {
    const { slot, kind } = placeOf(name);
    const { store } = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const at = store?.slotOf(slot);
    const node = store && at !== null && at !== undefined ? store.selected(at) : slot;
    const kinds = { buffer: t("text"), edit: t("edit"), note: t("note") };
    const link = make("a", { href: `?node=${node}`, textContent: text.length > MOST ? `${text.slice(0, MOST)}…` : text, dir: "auto" });
    link.setAttribute("data-go", node);
    const drop = make("button", { type: "button", className: "quiet", textContent: t("Discard") });
    drop.setAttribute("aria-label", t("Discard: {text}", { text: text.slice(0, 40) }));
    drop.dataset.draft = name;
    return make("li", {}, link, " ", make("span", { className: "soft", textContent: kinds[kind] }), " ", drop);
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const name = /** @type {HTMLElement} */ (event.target).dataset.draft;
    if (!name || !this.page) return;
    this.page.drafts.discard(placeOf(name));
    /** @type {HTMLElement} */ (event.target).closest("li")?.remove();
    this.soon();
  }
}
