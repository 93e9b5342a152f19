// @ts-check
// A part of the side panes that is fetched when it is seen, and again when it may have changed. What
// the text beside it shows as well is taken from there: nobody has to be asked for it.

import { Newest, part, Refused } from "../live/api.js";
import { showAges } from "../pages.js";
import { make } from "../tree/forms.js";
import { letOwnResolve, morphOne } from "../tree/morph.js";
import { pageOf } from "../tree/page.js";

const SOON_MS = 150;
const REST_MS = 400; // after a move the text comes first, and says when it is drawn

export class LoomPanel extends HTMLElement {
  /** the node that is wanted, the one that is shown, and what was fetched for it */
  node = "";
  shown = "";
  drawn = "";
  /** how often it was told that this may have changed: what was asked for before is older */
  news = 0;
  draws = new Newest();
  /** whether a refusal stands where the answer belongs */
  isRefused = false;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.node = this.page.position;
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    if (this.dataset.ofNode === "drawn") this.page.addEventListener("drawn", (event) => this.received(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("moved", () => this.look(this.page?.position ?? "", REST_MS), { signal });
    document.addEventListener("drawn", () => this.dataset.ofNode !== undefined && this.soon(30), { signal });
    this.page.addEventListener("redraw", () => this.look(this.node), { signal });
    document.addEventListener("pane", () => this.soon(), { signal });
    this.page.addEventListener("state", (event) => /** @type {CustomEvent} */ (event).detail.state === "live" && this.isRefused && this.soon(0), { signal });
    this.closest("details")?.addEventListener("toggle", () => this.soon(0), { signal });
    this.addEventListener("click", (event) => {
      const more = /** @type {Element} */ (event.target).closest("[data-more]");
      if (more) void this.more(more);
    }, { signal });
    this.soon();
  }

  /** Puts the rows that follow in the place of the row that asks for them. @param {Element} button */
  async more(button) {
    try {
      const row = button.closest("li");
      const rows = await part(button.getAttribute("data-more") ?? "");
      if (!row?.isConnected) return;
      const [before, list] = [row.previousElementSibling, row.parentElement];
      row.outerHTML = rows;
      const first = before ? before.nextElementSibling : list?.firstElementChild;
      /** @type {HTMLElement | null | undefined} */ (first?.querySelector("a"))?.focus();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      button.textContent = error.message;
    }
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  /** Shows another node, where this panel is about one. @param {string} node @param {number} [ms] */
  look(node, ms) {
    if (this.dataset.ofNode === undefined) return;
    this.node = node;
    this.drawn = "";
    this.soon(ms);
  }

  /** @param {{kind: string, payload: any}} event */
  heard(event) {
    const on = this.dataset.on;
    if (on && on !== "any" && !event.kind.startsWith(on)) return;
    if (this.dataset.ofNode !== undefined && !this.isChangedBy(event)) return;
    this.again();
  }

  again() {
    this.drawn = "";
    this.news += 1;
    this.soon();
  }

  /** @param {{kind: string, payload: any}} event */
  isChangedBy(event) {
    const store = this.page?.store;
    const slot = store?.slotOf(this.node) ?? null;
    if (!store || slot === null) return true;
    if (this.dataset.ofNode === "drawn" && this.beside()) return store.isAbout(this.node, event);
    const payload = JSON.stringify(event.payload);
    return store.versionsOf(slot).some((version) => payload.includes(`"${store.ids[version]}"`));
  }

  /** The node of this panel as the path shows it, if it does. */
  beside() {
    return document.querySelector(`article#n-${CSS.escape(this.node)}`);
  }

  /** What was drawn for everybody. The path puts it in first.
   * @param {{nodes?: Record<string, string>, changed?: string[], beside?: string[], under?: string[], among?: string[], again?: boolean}} drawn */
  received({ nodes = {}, changed = [], beside = [], under = [], among = [], again }) {
    if (again || changed.includes(this.node) || this.isBelow(under)) this.again();
    else if (this.node in nodes || beside.includes(this.node) || this.isBelow(among)) setTimeout(() => this.mirror());
  }

  /** Whether the node of this panel is directly below one of these. @param {string[]} names */
  isBelow(names) {
    const store = this.page?.store;
    return store?.isBelow(store.slotOf(this.node), names) === true;
  }

  /** Takes over what the path shows of the node: its buttons, marks, versions and siblings. */
  mirror() {
    const [node, own] = [this.beside(), this.querySelector(":scope > .details")];
    if (!node || !own || own.getAttribute("data-id") !== this.node) return;
    for (const [there, here] of [[":scope > header > .tools", ":scope > .tools"], [":scope > footer", ":scope > footer"]]) {
      const [fresh, old] = [node.querySelector(there), own.querySelector(here)];
      if (fresh && old) morphOne(old, /** @type {Element} */ (fresh.cloneNode(true)));
    }
    for (const name of ["bookmarked", "reworded"]) own.classList.toggle(name, node.classList.contains(name));
  }

  soon(ms = SOON_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), ms);
  }

  /** What is open stays open while its node is shown; what is typed in a form is kept as a draft. */
  get isInUse() {
    return this.querySelector("form, details[open]") !== null && (this.dataset.ofNode === undefined || this.shown === this.node);
  }

  async draw() {
    const url = (this.dataset.src ?? "") + (this.dataset.ofNode === undefined ? "" : this.node);
    if (this.drawn === url || !this.checkVisibility() || this.isInUse) return;
    const { node, news } = this;
    const number = this.draws.ask();
    try {
      const markup = await part(url);
      if (node !== this.node || this.draws.isPast(number) || this.isInUse) return;
      this.drawn = news === this.news ? url : "";
      this.shown = node;
      this.isRefused = false;
      this.innerHTML = markup;
      letOwnResolve(this, this.page?.settings.me ?? "");
      showAges();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.draws.isPast(number)) return;
      this.drawn = "";
      this.isRefused = true;
      this.replaceChildren(make("p", { className: "empty", textContent: error.message }));
    }
  }
}
