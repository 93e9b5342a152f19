// @ts-check
// Watches the candidates below the position for what a person sees and opens of them.

import { Exposures } from "../tree/exposures.js";
import { pageOf } from "../tree/page.js";

export class LoomExposures extends HTMLElement {
  connectedCallback() {
    const page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const weave = () => /** @type {HTMLElement | null} */ (document.querySelector("[data-weave]"));
    const exposures = new Exposures(page.settings.tree, "tree", () => ({
      point: weave()?.dataset.point ?? "",
      order: "siblings",
      cards: [...(weave()?.querySelectorAll(".card[data-id]") ?? [])],
    }));
    const again = () => exposures.changed();
    page.addEventListener("weave", again, { signal });
    document.addEventListener("scroll", again, { signal, capture: true, passive: true });
    document.addEventListener("visibilitychange", again, { signal });
    document.addEventListener(
      "click",
      (event) => {
        const target = /** @type {Element} */ (event.target);
        const card = target.closest?.("a[data-go], [data-act='expand']")?.closest("[data-weave] .card[data-id]");
        if (card) void exposures.opened(card.getAttribute("data-id") ?? "");
      },
      { signal, capture: true },
    );
    signal.addEventListener("abort", () => exposures.stop());
    again();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }
}
