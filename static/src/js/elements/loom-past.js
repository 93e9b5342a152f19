// @ts-check
// The time slider: map, outline and path as they were at a seq, read only, and back to now.

import { json, part, Refused } from "../live/api.js";
import { showAges } from "../pages.js";
import { t } from "../t.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { nearest, storeAt } from "../tree/past.js";

// Sooner than this nobody needs to be told.
const LATE_MS = 150;
const MOST_TEXTS = 8; // of a tick

export class LoomPast extends HTMLElement {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  late = undefined;
  told = false;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("click", (event) => {
      const button = /** @type {Element} */ (event.target).closest("[data-past]");
      if (!button) return;
      button.closest("details.menu")?.removeAttribute("open");
      this.open(Number(button.getAttribute("data-past")) || this.page?.events.seq || 1);
    }, { signal });
    this.page.addEventListener("moved", () => this.range && this.draw(), { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
    clearTimeout(this.late);
  }

  /** Shows the tree as it was at a seq. @param {number} seq */
  open(seq) {
    const page = this.page;
    if (!page?.present) return;
    if (!this.range) {
      this.from = page.position;
      this.build();
      page.ceaseWriting(true);
      this.closest("loom-tree")?.setAttribute("data-past", "");
      /** @type {any} */ (this.closest("loom-tree"))?.show("thread");
    }
    if (!this.range) return;
    this.range.value = String(seq);
    this.range.focus();
    this.look();
  }

  build() {
    const head = this.page?.events.seq ?? 1;
    this.range = /** @type {HTMLInputElement} */ (make("input", { type: "range", min: "1", max: String(head), step: "1" }));
    this.range.setAttribute("aria-label", t("Point in the tree's history"));
    this.range.addEventListener("input", () => this.soon());
    const step = (/** @type {number} */ by, /** @type {string} */ sign, /** @type {string} */ name) => {
      const button = make("button", { type: "button", className: "quiet", textContent: sign });
      button.setAttribute("aria-label", name);
      button.addEventListener("click", () => this.step(by));
      return button;
    };
    const back = make("button", { type: "button", className: "button small primary", textContent: t("Back to now") });
    back.addEventListener("click", () => this.close());
    this.wait = make("progress", { className: "past-wait", hidden: true });
    this.wait.setAttribute("aria-label", t("Loading the tree at this point…"));
    this.status = make("p", { className: "past-said" });
    this.status.setAttribute("role", "status");
    this.text = make("div", { className: "past-text mode-dialogue" });
    this.ticks = make("div", { className: "past-ticks" });
    this.ticks.setAttribute("aria-hidden", "true"); // the history says the same in words
    const track = make("div", { className: "past-track" }, this.ticks, this.range);
    const bar = make("div", { className: "past-bar" }, step(-1, "‹", t("Previous change")), track, step(1, "›", t("Next change")), back, this.status, this.wait);
    bar.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.close();
    });
    this.replaceChildren(bar, this.text);
  }

  /** @param {number} by */
  step(by) {
    if (!this.range) return;
    this.range.value = String(Number(this.range.value) + by);
    this.look();
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), 90);
  }

  /** Asks what happened at the chosen seq, and shows everything as it was then. */
  async look() {
    const page = this.page;
    const seq = this.range?.value;
    if (!page?.present || !seq) return;
    this.told = false;
    this.busy();
    try {
      /** @type {import("../tree/past.js").Moment} */
      const moment = await json(`${page.web}/past?seq=${seq}${this.ticks?.childElementCount ? "" : "&ticks=1"}`);
      if (moment.ticks) this.mark(moment.ticks);
      // What was before is no longer kept.
      if (this.range) this.range.min = String(moment.floor + 1);
      if (this.range?.value !== seq) return;
      page.showStore(storeAt(page.present, moment));
      this.tell(moment);
      const there = nearest(page.present, /** @type {any} */ (page.store), this.from ?? page.position);
      if (there === page.position) await this.draw();
      else page.go(there, { replace: true });
    } catch (error) {
      this.rest();
      if (!(error instanceof Refused)) throw error;
      page.emit("refused", error);
    }
  }

  /** Marks along the slider who changed most, and how much of that were texts. @param {[string, number][]} ticks */
  mark(ticks) {
    this.ticks?.replaceChildren(...ticks.map(([who, texts]) => {
      const tick = make("i");
      tick.style.background = `var(--thread-${this.page?.cast.get(who)?.colour ?? 0})`;
      tick.style.blockSize = `${25 + (75 * texts) / MOST_TEXTS}%`;
      return tick;
    }));
  }

  /** Says that a moment is being read, where that takes longer than a look. */
  busy() {
    this.text?.setAttribute("aria-busy", "true");
    this.late ??= setTimeout(() => {
      this.wait?.toggleAttribute("hidden", false);
      if (this.status && !this.told) this.status.textContent = t("Loading the tree at this point…");
    }, LATE_MS);
  }

  rest() {
    clearTimeout(this.late);
    this.late = undefined;
    this.wait?.toggleAttribute("hidden", true);
    this.text?.removeAttribute("aria-busy");
  }

  /** @param {import("../tree/past.js").Moment} moment */
  tell({ seq, head, at, by, words, node }) {
    const when = new Date(at).toLocaleString(document.documentElement.lang || "en", { dateStyle: "medium", timeStyle: "short" });
    const what = [by, words, node].filter(Boolean).join(" ");
    const line = t("{seq} of {head}, {when}: {what}", { seq, head, when, what });
    this.told = true;
    if (this.status) this.status.textContent = line;
    this.range?.setAttribute("aria-valuetext", line);
  }

  async draw() {
    const page = this.page;
    const seq = this.range?.value;
    if (!page || !seq) return;
    const node = page.position;
    this.busy();
    try {
      const markup = await part(`${page.web}/past/path?seq=${seq}&node=${node}`);
      if (this.range?.value !== seq || page.position !== node || !this.text) return;
      this.text.innerHTML = markup;
      this.rest();
      showAges();
    } catch (error) {
      this.rest();
      if (this.text && error instanceof Refused) this.text.textContent = error.message;
      else throw error;
    }
  }

  /** Back to now, where the reader stood. */
  close() {
    const page = this.page;
    this.rest();
    this.range = undefined;
    this.replaceChildren();
    this.closest("loom-tree")?.removeAttribute("data-past");
    page?.ceaseWriting(false);
    if (page?.present) page.showStore(page.present);
    if (this.from) page?.go(this.from, { replace: true });
    page?.emit("redraw");
    document.getElementById("main")?.focus();
  }
}
