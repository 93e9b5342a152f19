// @ts-check
// The path being read: follows the tab's position, and redraws what events have touched.

import { part, Refused } from "../live/api.js";
import { drawFolds } from "../tree/folds.js";
import { pageOf } from "../tree/page.js";
import { Stick } from "../tree/stick.js";
import { morph, parsed } from "../tree/morph.js";
import { slotsTouched } from "../tree/touched.js";

const keyOf = (/** @type {Element} */ child) => child.getAttribute("data-id") ?? "";

export class LoomPath extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.busy = false;
    this.again = false;
    this.page.addEventListener("moved", (event) => this.moved(/** @type {CustomEvent} */ (event).detail.from), { signal });
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("redraw", () => this.refresh(), { signal });
    this.page.addEventListener("folded", () => this.mark(), { signal });
    this.addEventListener("click", (event) => this.above(event), { signal });
    const thread = /** @type {HTMLElement} */ (this.closest("main"));
    this.stick = new Stick(thread, /** @type {Element} */ (this.parentElement));
    this.page.addEventListener("said", (event) => {
      if (/** @type {CustomEvent} */ (event).detail.answer.generations?.length) this.stick?.toEnd();
    }, { signal });
    this.mark();
    this.toEnd();
  }

  disconnectedCallback() {
    this.stick?.stop();
    this.stop?.abort();
    this.move?.abort();
    clearTimeout(this.timer);
  }

  nodes() {
    return [...this.querySelectorAll(".stretch > [data-id]")];
  }

  /** Where an editor holds the text, only what hangs below it is drawn here. */
  get what() {
    return this.stretch().hidden ? "weave" : "path";
  }

  stretch() {
    return /** @type {HTMLElement} */ (this.querySelector(".stretch"));
  }

  /** Draws the path to the new position: only what differs from the old one is asked for.
   * @param {string} from */
  async moved(from) {
    this.move?.abort();
    const move = (this.move = new AbortController());
    const thread = this.closest("main");
    thread?.setAttribute("aria-busy", "true");
    try {
      const shared = this.shared();
      const url = (/** @type {string} */ after) => `${this.page?.web}/${this.what}?node=${this.page?.position}${after ? `&after=${after}` : ""}`;
      let markup;
      try {
        markup = await part(url(shared), move.signal);
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 409) throw error;
        markup = await part(url(""), move.signal);
        this.stretch().replaceChildren();
      }
      this.draw(markup, shared);
      this.toEnd();
      this.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: { from } }));
    } catch (error) {
      if (error instanceof Refused) this.page?.emit("refused", error);
    } finally {
      if (this.move === move) thread?.removeAttribute("aria-busy");
    }
  }

  /** The last drawn node that the old and the new path share; "" where none is known. */
  shared() {
    const store = this.page?.store;
    if (!store || !this.page) return "";
    const path = new Set(store.pathTo(this.page.position).map((slot) => store.standing(slot)));
    if (!path.has(this.page.position)) return "";
    let shared = "";
    for (const node of this.nodes()) {
      if (!path.has(keyOf(node))) break;
      shared = keyOf(node);
    }
    return shared;
  }

  /** @param {string} markup @param {string} after draw below this node; "": all */
  draw(markup, after) {
    const fresh = parsed(markup);
    const nodes = [...fresh.querySelectorAll(".stretch > [data-id]")];
    const stretch = this.stretch();
    if (stretch.hidden) return this.drawWeave(fresh);
    const drawn = this.nodes();
    // What was read above the fresh stretch stays, as long as it joins on.
    const joint = after ? drawn.findIndex((node) => keyOf(node) === after) + 1 : drawn.findIndex((node) => nodes.length && keyOf(node) === keyOf(nodes[0]));
    const kept = drawn.slice(0, Math.max(0, joint));
    const above = (kept.length ? stretch : fresh).querySelector(":scope > .above, .stretch > .above");
    morph(stretch, kept.length ? nodes : above ? [above, ...nodes] : nodes, { kept: kept.length && above ? [above, ...kept] : kept });
    this.drawWeave(fresh);
    this.mark();
  }

  /** @param {DocumentFragment} fresh */
  drawWeave(fresh) {
    const weave = fresh.querySelector("[data-weave]");
    const drawn = /** @type {import("./loom-weave.js").LoomWeave | null} */ (this.querySelector("loom-weave"));
    if (weave) drawn?.draw(weave);
  }

  mark() {
    const nodes = this.nodes();
    nodes.forEach((node, at) => node.classList.toggle("last", at === nodes.length - 1));
    if (this.page) drawFolds(nodes, this.page.folds);
  }

  /** Shows the end of the path, with what hangs below it. */
  toEnd() {
    const thread = this.closest("main");
    if (!thread) return;
    requestAnimationFrame(() => {
      const last = this.nodes().at(-1);
      if (last && this.stick?.isTooLong(last, this)) {
        this.stick?.release();
        last.scrollIntoView({ block: "start" });
      } else this.stick?.toEnd();
    });
  }

  /** @param {any} event */
  heard(event) {
    const store = this.page?.store;
    const slots = store ? slotsTouched(store, event) : [];
    const path = store && this.page ? new Set(store.pathTo(this.page.position)) : new Set();
    const kinds = ["node.added", "generation.started", "generation.ended"];
    if (slots.some((slot) => path.has(slot)) || (!store && kinds.includes(event.kind))) this.refresh();
  }

  /** Asks for the path again soon; many events make few requests. */
  refresh() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetchAgain(), 80);
  }

  async fetchAgain() {
    if (this.busy) return void (this.again = true);
    this.busy = true;
    const position = this.page?.position;
    try {
      const markup = await part(`${this.page?.web}/${this.what}?node=${position}`);
      if (position === this.page?.position) this.draw(markup, "");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    } finally {
      this.busy = false;
      if (this.again) this.refresh();
      this.again = false;
    }
  }

  /** Loads the stretch above; what is on the screen stays where it is. @param {MouseEvent} event */
  async above(event) {
    const link = /** @type {Element} */ (event.target).closest("[data-load-above]");
    const thread = this.closest("main");
    if (!link || !thread) return;
    event.preventDefault();
    const before = link.getAttribute("data-load-above");
    const markup = await part(`${this.page?.web}/above?node=${this.page?.position}&before=${before}`);
    const height = thread.scrollHeight;
    const fresh = parsed(markup);
    link.closest(".above")?.replaceWith(fresh);
    this.mark();
    thread.scrollTop += thread.scrollHeight - height;
  }
}
