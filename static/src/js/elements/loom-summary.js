// @ts-check
// The summary of a node, tree or document, with a button that asks for one, or for another one,
// and what became of it.

import { json, Refused, told } from "../live/api.js";
import { t } from "../t.js";

/** @typedef {{summary: string, open: number, failed: ({node?: string | null, error?: {message?: string}, message?: string})[]}} State */

const AGAIN_MS = 1000;
const MOST = 90; // looks, until what is asked for may take its time

export class LoomSummary extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.addEventListener("click", (event) => /** @type {Element} */ (event.target).closest("[data-summarise]") && this.ask(), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  /** @param {string} words */
  say(words) {
    const status = this.querySelector("[data-said]");
    if (status) status.textContent = words;
  }

  async ask() {
    const body = JSON.parse(this.dataset.body ?? "{}");
    try {
      this.say(t("Asking for a summary…"));
      await json(this.dataset.ask ?? "", { method: "POST", body });
      this.look(MOST);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(told(error));
    }
  }

  /** Looks until nothing is being made any more. @param {number} left */
  async look(left) {
    const state = /** @type {State} */ (await json(this.dataset.src ?? ""));
    if (state.open && left && this.isConnected) {
      this.timer = setTimeout(() => this.look(left - 1), AGAIN_MS);
      return;
    }
    const shown = this.querySelector("[data-shown]");
    if (shown) shown.textContent = state.summary;
    const own = state.failed.find((failure) => !("node" in failure) || (failure.node ?? "") === (this.dataset.node ?? ""));
    if (own) this.say(t("It failed: {why}", { why: own.error?.message ?? own.message ?? "" }));
    else this.say(state.summary ? "" : t("A short text is its own summary."));
    const button = this.querySelector("[data-summarise]");
    if (button && state.summary) button.textContent = t("Summarise again");
  }
}
