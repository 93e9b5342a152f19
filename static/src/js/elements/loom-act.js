// @ts-check
// The agents in the composer's picker: whoever is picked acts in a turn at the position, with the
// text of the composer as its request.

import { json } from "../live/api.js";
import { newKey } from "../live/outbox.js";
import { composer } from "../tree/actions.js";
import { t } from "../t.js";
import { pageOf } from "../tree/page.js";

export class LoomAct extends HTMLElement {
  /** @type {{same: string, key: string} | undefined} what was asked and never answered */
  unsure;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    composer()?.addEventListener("change", () => this.shape(), { signal });
    document.addEventListener("cast", () => this.shape(), { signal });
    this.shape();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** What is chosen: whom, within what, ending how. */
  asked() {
    const of = (/** @type {string} */ name) => /** @type {HTMLInputElement | null} */ (composer()?.querySelector(name) ?? null);
    return {
      participant: of('[name="actor"]:checked')?.value ?? "",
      budget: of('[name="act_budget"]')?.value ?? "",
      as: of('[name="act_aside"]')?.checked ? "aside" : "continuation",
    };
  }

  /** Shown where somebody can be asked; the budget left to the agent is named by its own. */
  shape() {
    this.hidden = !this.querySelector('[name="actor"]');
    const chosen = this.querySelector('[name="actor"]:checked');
    const option = composer()?.querySelector('[name="act_budget"] option[value=""]');
    if (option) option.textContent = t("default: {name}", { name: chosen?.getAttribute("data-budget") ?? "standard" });
  }

  /** Starts a turn of the agent that is picked. Raises Refused: then the words come back.
   * @param {string} input the reader's words @param {import("../live/draft-storage.js").Place} [draft] whose text they are
   * @param {string} [at] where it acts */
  async start(input, draft, at = this.page?.position ?? "") {
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const carried = draft && page.drafts.hold(draft);
    const body = { ...this.asked(), node: at, input };
    // Whoever asks the same again because the answer was lost asks for the same turn.
    const same = JSON.stringify(body);
    if (this.unsure?.same !== same) this.unsure = { same, key: newKey() };
    let turn;
    try {
      turn = await json(`${page.api}/turns`, { method: "POST", body: { ...body, key: this.unsure.key } });
      this.unsure = undefined;
    } finally {
      if (carried) page.drafts.release(carried, Boolean(turn));
    }
    if (turn.as === "aside") return this.showAsides();
    if (draft) page.carryBehind(draft, turn.answers_below, at);
    page.follow(turn.answers_below, at);
  }

  showAsides() {
    document.getElementById("tab-desk")?.click();
    /** @type {import("./loom-tree.js").LoomTree | null} */ (document.querySelector("loom-tree"))?.show("side");
  }
}
