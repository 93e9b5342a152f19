// @ts-check
// The grid of candidates: one is in focus, keys move on and act on it. While some are still being
// written the grid is drawn again and again.

import { call } from "../live/calls.js";
import { json, part, Refused } from "../live/api.js";
import { Exposures } from "../tree/exposures.js";
import { t } from "../t.js";

const AGAIN_MS = 1500;

export class LoomSkim extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.addEventListener("focusin", (event) => this.entered(/** @type {Element} */ (event.target)), { signal });
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    this.exposures = new Exposures(this.dataset.tree ?? "", "grid", () => this.shown());
    for (const name of ["scroll", "visibilitychange"]) document.addEventListener(name, () => this.exposures?.changed(), { signal, passive: true });
    this.exposures.changed();
    this.wait();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.exposures?.stop();
    clearTimeout(this.later);
  }

  /** What stands here, for the log of what was seen. */
  shown() {
    const { point = "", order = "nearness" } = /** @type {HTMLElement | null} */ (this.querySelector("[data-grid]"))?.dataset ?? {};
    return { point, order, cards: this.cells().filter((cell) => cell.dataset.id) };
  }

  /** @returns {HTMLElement[]} */
  cells() {
    return [...this.querySelectorAll(".skim-cell")].map((element) => /** @type {HTMLElement} */ (element));
  }

  current() {
    return this.cells().find((cell) => cell.tabIndex === 0) ?? this.cells()[0];
  }

  /** @param {Element} target */
  entered(target) {
    const cell = target.closest(".skim-cell");
    if (!cell) return;
    for (const other of this.cells()) other.tabIndex = other === cell ? 0 : -1;
  }

  /** @param {Event} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target);
    if (!target.closest("a, summary")) /** @type {HTMLElement | null} */ (target.closest(".skim-cell"))?.focus();
  }

  /** How many cells stand beside each other. */
  columns() {
    const cells = this.cells();
    const top = cells[0]?.offsetTop;
    return Math.max(1, cells.filter((cell) => cell.offsetTop === top).length);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const cells = this.cells();
    const at = cells.indexOf(/** @type {HTMLElement} */ (this.current()));
    const rtl = getComputedStyle(this).direction === "rtl" ? -1 : 1;
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: rtl, ArrowLeft: -rtl, ArrowDown: this.columns(), ArrowUp: -this.columns(), Home: -at, End: cells.length - 1 - at };
    const step = steps[event.key];
    const cell = cells[at];
    if (step !== undefined) cells[at + step]?.focus();
    else if (cell && event.key === "Enter" && !(/** @type {Element} */ (event.target).closest("a, summary"))) this.open(cell);
    else if (cell && event.key.toLowerCase() === "o") this.unfold(cell);
    else if (cell && event.key.toLowerCase() === "t") void this.take(cell);
    else if (cell && event.key.toLowerCase() === "b") void this.bookmark(cell);
    else if (cell && event.key.toLowerCase() === "x") void this.prune(cell);
    else return;
    event.preventDefault();
  }

  /** @param {HTMLElement} cell */
  open(cell) {
    if (cell.dataset.id) void this.exposures?.opened(cell.dataset.id);
    if (cell.dataset.id) location.assign(`/trees/${this.dataset.tree}?node=${cell.dataset.id}`);
  }

  /** Shows all of its text, or its beginning again. @param {HTMLElement} cell */
  unfold(cell) {
    if (cell.classList.toggle("open") && cell.dataset.id) void this.exposures?.opened(cell.dataset.id);
  }

  /** Moves there and opens it. @param {HTMLElement} cell */
  async take(cell) {
    if (cell.dataset.id && (await this.perform(call("switch", { ref: cell.dataset.id })))) this.open(cell);
  }

  /** @param {HTMLElement} cell */
  async bookmark(cell) {
    if (!this.mayWrite(cell)) return;
    const had = cell.hasAttribute("data-bookmarked");
    if (await this.perform(call(had ? "unbookmark" : "bookmark", { ref: cell.dataset.id }))) await this.draw();
  }

  /** @param {HTMLElement} cell */
  async prune(cell) {
    if (this.mayWrite(cell) && (await this.perform(call("prune", { ref: cell.dataset.id })))) await this.draw();
  }

  /** @param {HTMLElement} cell */
  mayWrite(cell) {
    return this.hasAttribute("data-may-write") && Boolean(cell.dataset.id);
  }

  /** Runs a command, and says its reply. @param {import("../live/calls.js").Call} what */
  async perform(what) {
    try {
      const done = await json(`/api/trees/${this.dataset.tree}/commands`, { method: "POST", body: what });
      this.say(done.reply);
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(error.message);
      return false;
    }
  }

  /** @param {string} words */
  say(words) {
    const status = document.querySelector("[data-said]");
    if (status) status.textContent = words;
  }

  /** Draws the grid as it is now; the focus stays at its candidate, or where it was. */
  async draw() {
    try {
      const fresh = new DOMParser().parseFromString(await part(location.pathname + location.search, this.stop?.signal), "text/html").querySelector("[data-grid]");
      const old = this.querySelector("[data-grid]");
      if (!fresh || !old) return;
      const cell = this.current();
      const at = cell ? this.cells().indexOf(cell) : 0;
      const id = cell?.dataset.id;
      const open = new Set(this.cells().flatMap((cell) => (cell.classList.contains("open") && cell.dataset.id ? [cell.dataset.id] : [])));
      const isHere = this.contains(document.activeElement);
      old.replaceWith(fresh);
      const cells = this.cells();
      for (const cell of cells) cell.classList.toggle("open", open.has(cell.dataset.id ?? ""));
      const now = cells.find((cell) => id && cell.dataset.id === id) ?? cells[Math.min(at, cells.length - 1)];
      if (now) this.entered(now);
      if (isHere) now?.focus();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(t("The candidates could not be fetched."));
    }
    this.exposures?.changed();
    this.wait();
  }

  /** Draws again soon if some are still being written. */
  wait() {
    clearTimeout(this.later);
    const coming = /** @type {HTMLElement | null} */ (this.querySelector("[data-grid]"))?.dataset.coming;
    if (coming && coming !== "0") this.later = setTimeout(() => void this.draw(), AGAIN_MS);
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  later;
}
