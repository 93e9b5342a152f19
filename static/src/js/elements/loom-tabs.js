// @ts-check
// Tabs in one row: arrows move between them, the panel of the chosen one is seen. Where a pane is
// too narrow for all of them the row scrolls, and the side that has more of it fades.

const EDGE = 24; // pixels that fade

export class LoomTabs extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("click", (event) => this.choose(this.tabOf(event.target)), { signal });
    this.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.addEventListener("scroll", () => this.fade(), { signal, passive: true });
    this.size = new ResizeObserver(() => this.fade());
    for (const element of [this, ...this.tabs()]) this.size.observe(element);
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.size?.disconnect();
  }

  /** Marks the sides on which there are more tabs than are seen. */
  fade() {
    const hidden = this.scrollWidth - this.clientWidth;
    // Where the page runs from right to left, it begins at 0 and goes on below that.
    const left = getComputedStyle(this).direction === "rtl" ? hidden + this.scrollLeft : this.scrollLeft;
    this.classList.toggle("more-left", left > 1);
    this.classList.toggle("more-right", left < hidden - 1);
  }

  /** Scrolls the row, and nothing around it, until a tab is seen whole. @param {HTMLElement} tab */
  reveal(tab) {
    const [row, box] = [this.getBoundingClientRect(), tab.getBoundingClientRect()];
    if (box.left < row.left + EDGE) this.scrollLeft -= row.left + EDGE - box.left;
    if (box.right > row.right - EDGE) this.scrollLeft += box.right - row.right + EDGE;
  }

  tabs() {
    return /** @type {HTMLElement[]} */ ([...this.querySelectorAll('[role="tab"]')]);
  }

  /** @param {EventTarget | null} target */
  tabOf(target) {
    return /** @type {HTMLElement | null} */ (/** @type {Element} */ (target).closest('[role="tab"]'));
  }

  /** @param {HTMLElement | null | undefined} chosen */
  choose(chosen) {
    if (!chosen) return;
    for (const tab of this.tabs()) {
      const on = tab === chosen;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
      if (panel) panel.hidden = !on;
    }
    this.reveal(chosen);
    this.dispatchEvent(new CustomEvent("pane", { bubbles: true, detail: chosen.id }));
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const tabs = this.tabs();
    const at = tabs.indexOf(/** @type {HTMLElement} */ (event.target));
    if (!step || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = tabs[(at + step + tabs.length) % tabs.length];
    this.choose(next);
    next.focus();
  }
}
