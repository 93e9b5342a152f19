// @ts-check
// The outline: the tree as a list for keyboard and screen reader, only the rows in sight drawn.

import { verbOf } from "../live/calls.js";
import { json, Newest, Refused } from "../live/api.js";
import { make } from "../tree/forms.js";
import { itemOf, rowsOf } from "../tree/outline.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

const HEIGHT = 28;
const SPARE = 8;
const CHANGES = new Set(["find", "open", "expand", "collapse", "tree", "back"]); // commands that may change the outline

/** @typedef {{expanded: string[], collapsed: string[], scores: Record<string, number>}} Left */

export class LoomOutline extends HTMLElement {
  /** @type {Set<number>} the slots that are unfolded */
  open = new Set();
  /** @type {Set<number>} those that are folded out of what a filter shows */
  shut = new Set();
  /** @type {import("../tree/outline.js").Row[]} */
  rows = [];
  active = 0;
  /** the position to which the way is unfolded */
  followed = "";
  stale = true;
  wanted = true;
  /** @type {Left} how lines have left the outline: what was expanded, collapsed and found */
  left = { expanded: [], collapsed: [], scores: {} };
  reads = new Newest();

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.list = make("div", { className: "outline" });
    this.list.setAttribute("role", "tree");
    this.list.setAttribute("aria-label", t("Outline of the tree"));
    this.replaceChildren(this.list);
    const pane = /** @type {HTMLElement} */ (this.parentElement);
    pane.addEventListener("scroll", () => this.paint(), { signal, passive: true });
    this.size = new ResizeObserver(() => this.seen());
    this.size.observe(pane);
    this.page.addEventListener("store", () => this.follow(), { signal });
    this.page.addEventListener("store", () => this.read(), { signal, once: true });
    this.page.addEventListener("said", (event) => CHANGES.has(verbOf(/** @type {CustomEvent} */ (event).detail.answer.canonical)) && this.read(), { signal });
    this.page.addEventListener("moved", () => this.follow(), { signal });
    this.page.addEventListener("outline", () => this.enter(), { signal });
    this.page.addEventListener("changed", () => (this.followed === this.page?.position ? this.rebuildSoon() : this.follow()), { signal });
    this.page.filter.addEventListener("filter", () => this.filtered(), { signal });
    this.page.marks.addEventListener("marks", () => this.page?.filter.isOn && this.rebuildSoon(), { signal });
    this.page.excerpts.addEventListener("excerpts", () => this.paint(), { signal });
    this.list.addEventListener("click", (event) => this.clicked(event), { signal });
    this.list.addEventListener("keydown", (event) => this.pressed(event), { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.size?.disconnect();
    clearTimeout(this.timer);
  }

  get isSeen() {
    return !(/** @type {HTMLElement} */ (this.parentElement).hidden) && this.checkVisibility();
  }

  /** Expands the way to the reader's position, and shows it. */
  follow() {
    const store = this.page?.store;
    if (!store || !this.page) return;
    // The place of a node that was just made is known only after its event.
    if (store.slotOf(this.page.position) !== null) this.followed = this.page.position;
    for (const slot of store.pathTo(this.page.position)) this.open.add(slot);
    this.stale = true;
    this.wanted = true;
    this.seen();
  }

  /** Brings the outline into sight, with the reader's position unfolded and focused. */
  enter() {
    /** @type {import("./loom-tree.js").LoomTree | null} */ (this.closest("loom-tree"))?.show("map");
    document.getElementById("tab-outline")?.click();
    this.follow();
    this.focusActive();
  }

  /** Unfolds what was expanded, and the way to what was found; folds what was collapsed. */
  async read() {
    const number = this.reads.ask();
    try {
      const left = await json(`/api/workspaces/${this.page?.settings.workspace}/outline`);
      if (this.reads.isPast(number)) return;
      this.left = left;
    } catch (error) {
      if (error instanceof Refused) return;
      throw error;
    }
    const store = this.page?.store;
    if (!store) return;
    const slot = (/** @type {string} */ id) => store.slotOf(id) ?? -1;
    for (const id of Object.keys(this.left.scores)) for (const above of store.pathTo(id).slice(0, -1)) this.open.add(above);
    for (const id of this.left.expanded) this.open.add(slot(id));
    for (const id of this.left.collapsed) this.open.delete(slot(id));
    this.stale = true;
    this.seen();
  }

  seen() {
    if (!this.isSeen) return;
    if (this.stale) this.rebuild();
    if (this.wanted) this.show(this.indexOf(this.page?.position ?? ""));
    this.wanted = false;
    this.paint();
  }

  filtered() {
    this.shut.clear();
    this.stale = true;
    this.wanted = true;
    this.seen();
  }

  rebuildSoon() {
    this.stale = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.seen(), 150);
  }

  rebuild() {
    const store = this.page?.store;
    if (!store || !this.list) return;
    const active = this.rows[this.active]?.slot;
    this.sieve = this.page?.filter.sieve(store, this.page.marks);
    const shut = this.sieve && this.shut;
    this.rows = rowsOf(store, (slot) => (shut ? !shut.has(slot) : this.open.has(slot)), this.sieve?.childrenOf);
    this.active = Math.max(0, this.rows.findIndex((row) => row.slot === active));
    this.list.style.blockSize = `${this.rows.length * HEIGHT}px`;
    this.stale = false;
  }

  /** @param {string} id */
  indexOf(id) {
    const slot = this.page?.store?.slotOf(id);
    return this.rows.findIndex((row) => row.slot === slot);
  }

  /** Scrolls a row into sight and makes it the one that keys act on. @param {number} index */
  show(index) {
    if (index < 0) return;
    this.active = index;
    const pane = /** @type {HTMLElement} */ (this.parentElement);
    const top = index * HEIGHT;
    if (top < pane.scrollTop) pane.scrollTop = top - HEIGHT;
    else if (top + HEIGHT > pane.scrollTop + pane.clientHeight) pane.scrollTop = top - pane.clientHeight / 2;
  }

  paint() {
    const store = this.page?.store;
    if (!store || !this.isSeen || !this.list || !this.page) return;
    const pane = /** @type {HTMLElement} */ (this.parentElement);
    const first = Math.max(0, Math.floor(pane.scrollTop / HEIGHT) - SPARE);
    const last = Math.min(this.rows.length, Math.ceil((pane.scrollTop + pane.clientHeight) / HEIGHT) + SPARE);
    const path = new Set(store.pathTo(this.page.position));
    const hadFocus = this.list.contains(document.activeElement);
    const drawn = [];
    for (let index = first; index < last; index += 1) drawn.push(this.item(index, store, path));
    // A row that is as it was stays: a press that began on it ends on it.
    const old = [...this.list.children];
    drawn.forEach((row, at) => {
      if (!old[at]) this.list?.append(row);
      else if (!old[at].isEqualNode(row)) old[at].replaceWith(row);
    });
    for (const rest of old.slice(drawn.length)) rest.remove();
    if (hadFocus) this.focusActive();
  }

  /** @param {number} index @param {import("../tree/store.js").TreeStore} store @param {Set<number>} path */
  item(index, store, path) {
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const row = this.rows[index];
    const isAside = this.sieve ? !this.sieve.matches.has(row.slot) : false;
    const score = this.left.scores[store.ids[row.slot]] ?? this.left.scores[store.selected(row.slot)];
    const item = itemOf(page, store, row, { isOnPath: path.has(row.slot), isAside, score });
    item.dataset.index = String(index);
    item.tabIndex = index === this.active ? 0 : -1;
    item.style.insetBlockStart = `${index * HEIGHT}px`;
    return item;
  }

  focusActive() {
    /** @type {HTMLElement | null} */ (this.list?.querySelector(`[data-index="${this.active}"]`))?.focus({ preventScroll: true });
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const item = /** @type {Element} */ (event.target).closest("[data-index]");
    if (!item) return;
    this.active = Number(item.getAttribute("data-index"));
    if (/** @type {Element} */ (event.target).closest(".twig")) this.fold(!this.rows[this.active].isOpen);
    else this.visit();
  }

  visit() {
    const row = this.rows[this.active];
    const store = this.page?.store;
    if (row && store) this.page?.go(store.selected(row.slot));
  }

  /** @param {boolean} isOpen */
  fold(isOpen) {
    const row = this.rows[this.active];
    if (!row) return;
    // What a filter shows is open but for what was folded; the rest is folded but for what was opened.
    const kept = this.sieve ? this.shut : this.open;
    if (isOpen === (kept === this.open)) kept.add(row.slot);
    else kept.delete(row.slot);
    this.rebuild();
    this.paint();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const row = this.rows[this.active];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity }[event.key];
    if (to !== undefined) this.step(to);
    else if (event.key === "ArrowRight") row.isOpen ? this.step(1) : this.fold(true);
    else if (event.key === "ArrowLeft") row.isOpen ? this.fold(false) : this.toParent(row);
    else if (event.key === "Enter" || event.key === " ") this.visit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} by */
  step(by) {
    this.show(Math.min(this.rows.length - 1, Math.max(0, this.active + by)));
    this.paint();
    this.focusActive();
  }

  /** @param {import("../tree/outline.js").Row} row */
  toParent(row) {
    const parent = this.page?.store?.parents[row.slot];
    const index = this.rows.findIndex((other) => other.slot === parent);
    if (index >= 0) this.step(index - this.active);
  }
}
