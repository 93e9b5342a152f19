// @ts-check
// What a participant is taught before any call, fetched when somebody wants to see it.

import { json, Refused } from "../live/api.js";
import { t } from "../t.js";

export class LoomTaught extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("toggle", () => this.draw(), { signal, capture: true });
    this.addEventListener("change", () => this.draw(), { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  async draw() {
    const box = this.querySelector("[data-shown]");
    if (!box || !this.querySelector("details[open]")) return;
    try {
      const { instructions } = await json(`${this.dataset.src}?mode=${this.querySelector("select")?.value}`);
      box.textContent = instructions || t("Nothing: it is sent text only.");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      box.textContent = error.message;
    }
  }
}
