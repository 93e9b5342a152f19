// @ts-check
// A part of the side panes that is fetched when it is seen, and again when it may have changed.

import { part, Refused } from "../live/api.js";
import { showAges } from "../pages.js";
import { pageOf } from "../tree/page.js";

const SOON_MS = 150;
const REST_MS = 400; // after a move the text comes first, and says when it is drawn

export class LoomPanel extends HTMLElement {
  /** the node that is wanted, the one that is shown, and what was fetched for it */
  node = "";
  shown = "";
  drawn = "";

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.node = this.page.position;
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("moved", () => this.look(this.page?.position ?? "", REST_MS), { signal });
    document.addEventListener("drawn", () => this.dataset.ofNode !== undefined && this.soon(30), { signal });
    this.page.addEventListener("redraw", () => this.look(this.node), { signal });
    document.addEventListener("pane", () => this.soon(), { signal });
    this.closest("details")?.addEventListener("toggle", () => this.soon(0), { signal });
    this.soon();
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

  /** @param {{kind: string}} event */
  heard(event) {
    const on = this.dataset.on;
    if (on && on !== "any" && !event.kind.startsWith(on)) return;
    this.drawn = "";
    this.soon();
  }

  soon(ms = SOON_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), ms);
  }

  async draw() {
    const url = (this.dataset.src ?? "") + (this.dataset.ofNode === undefined ? "" : this.node);
    // What is open stays open while its node is shown; what is typed in a form is kept as a draft.
    const isInUse = this.querySelector("form, details[open]") !== null && (this.dataset.ofNode === undefined || this.shown === this.node);
    if (this.drawn === url || !this.checkVisibility() || isInUse) return;
    const { node } = this;
    try {
      const markup = await part(url);
      if (node !== this.node) return;
      this.drawn = url;
      this.shown = node;
      this.innerHTML = markup;
      showAges();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.textContent = error.message;
    }
  }
}
