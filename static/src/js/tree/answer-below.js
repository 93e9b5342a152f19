// @ts-check
// An answer that comes below what is read moves nothing. A button above the composer leads to it,
// until enough of it is seen or the reader goes elsewhere.

import { t } from "../t.js";
import { make } from "./forms.js";

const LINES = 3; // of an answer that are seen: then nothing has to lead to it

/** Whether too little is seen of what begins at `top`. @param {number} top @param {number} line its height
 * @param {import("./in-view.js").Extent} room */
export function isBelow(top, line, room) {
  return top + LINES * line > room.bottom;
}

export class AnswerBelow {
  /** @param {import("../elements/loom-path.js").LoomPath} path @param {import("./page.js").TreePage} page */
  constructor(path, page) {
    this.path = path;
    this.page = page;
    this.stop = new AbortController();
  }

  /** Leads to a node once it is drawn, where it is below what is seen. @param {string} id */
  offer(id) {
    this.leave();
    const { signal } = (this.stop = new AbortController());
    document.addEventListener("drawn", () => this.show(id, signal), { signal, once: true });
  }

  /** @param {string} id @param {AbortSignal} signal */
  show(id, signal) {
    const node = this.path.querySelector(`.stretch > [data-id="${CSS.escape(id)}"]`);
    const composer = document.querySelector("loom-composer");
    if (this.page.position !== id || !node || !composer || !this.isBelow(node)) return;
    const button = make("button", { type: "button", className: "button to-answer", textContent: t("Answer below ↓") });
    button.addEventListener("click", () => this.bring(node));
    const look = () => !this.isBelow(node) && this.leave();
    this.path.closest("main")?.addEventListener("scroll", look, { signal, passive: true });
    this.page.addEventListener("moved", () => this.leave(), { signal });
    signal.addEventListener("abort", () => button.remove());
    composer.append(button);
  }

  /** @param {Element} node */
  isBelow(node) {
    const { view } = this.path;
    const line = parseFloat(getComputedStyle(node.querySelector(".text") ?? node).lineHeight) || 0;
    return Boolean(view && node.isConnected && isBelow(node.getBoundingClientRect().top, line, view.room));
  }

  /** @param {Element} node */
  bring(node) {
    this.leave();
    const { view } = this.path;
    view?.bring({ top: node.getBoundingClientRect().top, bottom: view.natural() });
    if (node instanceof HTMLElement) node.focus({ preventScroll: true });
  }

  leave() {
    this.stop.abort();
  }
}
