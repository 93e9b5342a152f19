// @ts-check
// The edge of a side pane: dragged, or moved by the arrow keys, it makes the pane wider or
// narrower. The width is remembered by this browser; a double click takes it back.

const LEAST = 180;
const MOST = 640;
const STEP = 16;
const KEPT = "heddle.panes";

export class LoomDivider extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.tabIndex = 0;
    this.setAttribute("role", "separator");
    this.setAttribute("aria-orientation", "vertical");
    this.setAttribute("aria-valuemin", String(LEAST));
    this.setAttribute("aria-valuemax", String(MOST));
    this.addEventListener("pointerdown", (event) => this.grab(event), { signal });
    this.addEventListener("pointermove", (event) => this.drag(event), { signal });
    for (const name of ["pointerup", "pointercancel"]) this.addEventListener(name, () => this.drop(), { signal });
    this.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.addEventListener("dblclick", () => this.set(0), { signal });
    this.set(this.kept()[this.side] ?? 0, false);
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  get side() {
    return this.dataset.side ?? "";
  }

  get pane() {
    return /** @type {HTMLElement} */ (this.parentElement);
  }

  /** Whether the pane is on the left of the window, also where the page runs from right to left. */
  get isLeft() {
    return (this.side === "left") === (document.documentElement.dir !== "rtl");
  }

  /** @returns {Record<string, number>} */
  kept() {
    try {
      return JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    } catch {
      return {};
    }
  }

  /** Makes the pane so wide; 0: as wide as it is by itself. @param {number} width @param {boolean} [keep] */
  set(width, keep = true) {
    const app = /** @type {HTMLElement | null} */ (this.closest(".app"));
    const name = `--pane-${this.side}`;
    const most = Math.min(MOST, Math.max(LEAST, innerWidth * 0.4));
    if (width) app?.style.setProperty(name, `${Math.round(Math.min(most, Math.max(LEAST, width)))}px`);
    else app?.style.removeProperty(name);
    this.setAttribute("aria-valuenow", String(Math.round(this.pane.getBoundingClientRect().width)));
    if (!keep) return;
    try {
      localStorage.setItem(KEPT, JSON.stringify({ ...this.kept(), [this.side]: width ? this.pane.getBoundingClientRect().width : 0 }));
    } catch {
      // A full store forgets the width, nothing else.
    }
  }

  /** @param {PointerEvent} event */
  grab(event) {
    event.preventDefault();
    this.focus();
    this.setPointerCapture(event.pointerId);
    this.from = { x: event.clientX, width: this.pane.getBoundingClientRect().width };
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (!this.from) return;
    const moved = event.clientX - this.from.x;
    this.set(this.from.width + (this.isLeft ? moved : -moved), false);
  }

  drop() {
    if (!this.from) return;
    const { width } = this.from;
    this.from = undefined;
    const now = this.pane.getBoundingClientRect().width;
    if (Math.abs(now - width) >= 1) this.set(now);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key !== "Home" && !way) return;
    event.preventDefault();
    event.stopPropagation();
    const width = this.pane.getBoundingClientRect().width;
    this.set(way ? width + way * STEP * (this.isLeft ? 1 : -1) : 0);
  }
}
