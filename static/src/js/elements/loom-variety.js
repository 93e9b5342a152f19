// @ts-check
// Says beside the candidates how many different ones they are, and leads to the page on which they
// are skimmed. Says nothing where that page does not exist.

import { json, Refused } from "../live/api.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

const LEAST = 3; // candidates
const REST_MS = 500;

export class LoomVariety extends HTMLElement {
  isThere = true;
  said = { key: "", words: "" };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  later;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    this.page.addEventListener("weave", () => this.look(), { signal: this.stop.signal });
    this.look();
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.later);
  }

  weave() {
    return /** @type {HTMLElement | null} */ (document.querySelector("[data-weave]"));
  }

  /** What is shown now, by the ids of its cards. */
  key() {
    const cards = [...(this.weave()?.querySelectorAll(".card[data-id], .alike [data-go]") ?? [])];
    const ids = cards.map((card) => card.getAttribute("data-id") ?? card.getAttribute("data-go"));
    return ids.length < LEAST ? "" : `${this.weave()?.dataset.point} ${ids.join(" ")}`;
  }

  look() {
    clearTimeout(this.later);
    const key = this.key();
    if (!this.isThere || !key) return;
    if (key === this.said.key) this.put();
    else this.later = setTimeout(() => void this.ask(key), REST_MS);
  }

  /** @param {string} key */
  async ask(key) {
    try {
      const { said } = await json(`${this.address()}?said=1`, { signal: this.stop?.signal });
      this.said = { key, words: said };
      if (key === this.key()) this.put();
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof Refused)) throw error;
      this.isThere = error.status !== 404;
    }
  }

  address() {
    return `${this.page?.web}/candidates/${this.weave()?.dataset.point}`;
  }

  put() {
    const head = this.weave()?.querySelector(".weave-head");
    if (!head || !this.said.words) return;
    const link = head.querySelector("a.weave-variety") ?? head.insertBefore(document.createElement("a"), head.querySelector("h2")?.nextSibling ?? null);
    link.className = "weave-variety";
    link.setAttribute("href", this.address());
    link.setAttribute("title", t("Skim them side by side"));
    if (link.textContent !== this.said.words) link.textContent = this.said.words;
    // Those that have no card here are on that page as well.
    const rest = this.weave()?.querySelector("[data-act=outline]");
    if (!rest) return;
    // The paragraph stays where the cards become those of another point.
    const old = rest.parentElement?.querySelector("a");
    if (old) return old.setAttribute("href", this.address());
    const all = Object.assign(document.createElement("a"), { textContent: t("Skim them side by side") });
    all.setAttribute("href", this.address());
    rest.after(" ", all);
  }
}
