// @ts-check
// Tabs: arrows move between them, the panel of the chosen one is seen.

export class LoomTabs extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("click", (event) => this.choose(this.tabOf(event.target)), { signal });
    this.addEventListener("keydown", (event) => this.pressed(event), { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
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
