// @ts-check
// The documents of a tree, in a pane beside it: listed, made, linked, read and written.

import { json, madePart, Newest, part, Refused, told } from "../live/api.js";
import { call } from "../live/calls.js";
import { showAges } from "../pages.js";
import { styleNonce } from "../tree/editor-loader.js";
import { giveBack, leave } from "../focus.js";
import { pageOf } from "../tree/page.js";
import { isTyping } from "../tree/typing.js";

const ABOUT = /^(link|document)/;

export class LoomDocuments extends HTMLElement {
  draws = new Newest();
  /** the document that is open; "" for the list */
  opened = "";
  /** @type {Element | null} what opened the pane, and gets the focus back */
  opener = null;
  /** a title that is being saved: the list is read after it @type {Promise<boolean> | undefined} */
  saving;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("click", (event) => this.asked(event), { signal });
    this.addEventListener("click", (event) => this.pressed(event), { signal });
    document.addEventListener("keydown", (event) => this.left(event), { signal });
    this.addEventListener("submit", (event) => this.submitted(/** @type {SubmitEvent} */ (event)), { signal });
    this.addEventListener("change", (event) => event.target instanceof HTMLInputElement && event.target.form?.matches("[data-documents-name]") && event.target.form.requestSubmit(), { signal });
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  get src() {
    return this.dataset.src ?? "";
  }

  /** The button of the bar, or the line of its menu; the one beside it makes a document at once. @param {MouseEvent} event */
  asked(event) {
    const link = /** @type {Element} */ (event.target).closest("[data-documents]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    link.closest("details")?.removeAttribute("open");
    const isNew = link.getAttribute("data-documents") === "new";
    if (!this.hidden && !isNew) return this.close();
    this.opener = link;
    if (isNew) {
      /** @type {HTMLElement} */ (link).blur(); // an empty document takes the focus that nobody has
      return void this.open(() => madePart(this.src));
    }
    void this.list();
  }

  /** @param {{kind: string}} event */
  heard({ kind }) {
    if (!this.hidden && !this.opened && ABOUT.test(kind)) void this.list({ isStill: true });
  }

  /** @param {MouseEvent} event */
  pressed(event) {
    const target = /** @type {Element} */ (event.target);
    const what = target.closest("[data-documents-do]")?.getAttribute("data-documents-do");
    if (what === "close") this.close();
    if (what === "list") void this.list();
    if (what === "new") void this.open(() => madePart(this.src));
    if (what === "link" || what === "unlink") void this.link(what, this.opened);
    const link = target.closest("[data-document-open]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void this.open(() => part(`${this.src}?document=${link.getAttribute("data-document-open")}`));
  }

  /** Esc leaves a text of the pane first, and then the pane. @param {KeyboardEvent} event */
  left(event) {
    const isOwn = event.key === "Escape" && !event.defaultPrevented && !this.hidden && this.contains(document.activeElement);
    if (!isOwn || this.contains(document.querySelector("dialog[open]"))) return;
    event.preventDefault();
    if (isTyping(event.target)) leave(/** @type {Element} */ (event.target));
    else this.close();
  }

  /** @param {SubmitEvent} event */
  async submitted(event) {
    const form = /** @type {HTMLFormElement} */ (event.target);
    if (!form.matches("[data-documents-link], [data-documents-name]")) return; // of the comments: their own
    event.preventDefault();
    const fields = new FormData(form);
    if (form.matches("[data-documents-link]")) return this.link("link", String(fields.get("document")));
    this.saving = this.tried(() => json(`/api/documents/${this.opened}`, { method: "PATCH", body: { title: fields.get("title") } }));
    await this.saving;
  }

  /** Links a document to this tree, or takes that link away. @param {string} verb @param {string} uid */
  async link(verb, uid) {
    const ends = { source: `doc:${uid}`, target: `tree:${this.page?.settings.tree}` };
    const isDone = await this.tried(() => this.page?.say(call(verb, ends), { follow: false, quiet: true }));
    if (isDone && this.opened) await this.open(() => part(`${this.src}?document=${uid}`));
    else if (isDone) await this.list({ isStill: true });
  }

  /** @param {{isStill?: boolean}} [how] isStill: the focus stays where it is */
  async list({ isStill = false } = {}) {
    const number = this.draws.ask();
    await this.tried(async () => {
      await this.saving;
      const markup = await part(this.src);
      if (this.draws.isPast(number)) return;
      this.opened = "";
      this.put(markup);
      const first = ["[data-documents-do=new]", "[data-document-open]", "button"].map((selector) => /** @type {HTMLElement | null} */ (this.querySelector(selector)));
      if (!isStill) first.find(Boolean)?.focus();
    });
  }

  /** @param {() => Promise<string>} asked */
  async open(asked) {
    const number = this.draws.ask();
    await this.tried(async () => {
      const [markup] = await Promise.all([asked(), import(this.dataset.module ?? "")]);
      if (this.draws.isPast(number)) return;
      this.put(markup);
      this.opened = this.querySelector("[data-of]")?.getAttribute("data-of") ?? "";
    });
  }

  /** @param {string} markup */
  put(markup) {
    this.hidden = false;
    const drawn = Object.assign(document.createElement("template"), { innerHTML: markup }).content;
    drawn.querySelector("loom-document")?.setAttribute("data-nonce", styleNonce()); // that of this page
    this.replaceChildren(drawn);
    showAges();
    this.dispatchEvent(new CustomEvent("documents", { bubbles: true }));
    const tree = /** @type {import("./loom-tree.js").LoomTree | null} */ (this.closest("loom-tree"));
    if (tree && getComputedStyle(tree).getPropertyValue("--is-narrow")) tree.show("side");
  }

  close() {
    this.hidden = true;
    this.opened = "";
    this.replaceChildren();
    giveBack(this.opener);
  }

  /** Says why something was refused, where it was asked for. @param {() => unknown} asked */
  async tried(asked) {
    const place = () => /** @type {HTMLElement | null} */ (this.querySelector("[data-refused]"));
    try {
      await asked();
      if (place()) /** @type {HTMLElement} */ (place()).hidden = true;
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.hidden = false;
      if (!place()) this.innerHTML = '<p class="refused" role="alert" data-refused></p>';
      const shown = /** @type {HTMLElement} */ (place());
      shown.textContent = told(error);
      shown.hidden = false;
      return false;
    }
  }
}
