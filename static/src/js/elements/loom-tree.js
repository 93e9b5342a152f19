// @ts-check
// The root of a tree page: makes what its parts share, and hears links, history and tabs.

import { TreePage } from "../tree/page.js";

export class LoomTree extends HTMLElement {
  connectedCallback() {
    const settings = document.getElementById("tree-settings");
    this.page = new TreePage(JSON.parse(settings?.textContent ?? "{}"));
    this.stop = new AbortController();
    const { signal } = this.stop;
    history.replaceState({ node: this.page.position }, "");
    document.addEventListener("click", (event) => this.clicked(event), { signal });
    window.addEventListener("popstate", (event) => this.popped(event), { signal });
    this.page.addEventListener("moved", () => this.show("thread"), { signal });
    this.page.start();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.page?.stop();
  }

  /** Links to nodes of this tree move the tab instead of loading the page. @param {MouseEvent} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const pane = target.closest("[data-pane]");
    if (pane) return this.show(pane.getAttribute("data-pane") ?? "thread");
    const link = target.closest("[data-go]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    this.page?.go(link.getAttribute("data-go") ?? "");
  }

  /** @param {PopStateEvent} event */
  popped(event) {
    const node = event.state?.node ?? new URL(location.href).searchParams.get("node");
    if (node) this.page?.go(node, { history: false });
  }

  /** On a phone, which of the three panes is seen. @param {string} pane */
  show(pane) {
    this.dataset.shown = pane;
    for (const button of document.querySelectorAll(".pane-tabs [data-pane]")) {
      button.toggleAttribute("aria-current", false);
      if (button.getAttribute("data-pane") === pane) button.setAttribute("aria-current", "true");
    }
    this.dispatchEvent(new CustomEvent("pane", { detail: pane, bubbles: true }));
  }
}
