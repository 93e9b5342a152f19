// @ts-check
// Asks an agent to act: a turn at the position, with the text of the composer as its request.

import { json, Refused, told } from "../live/api.js";
import { composer } from "../tree/actions.js";
import { t } from "../t.js";
import { pageOf } from "../tree/page.js";

export class LoomAct extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.querySelector("[data-start]")?.addEventListener("click", () => this.start(), { signal });
    this.addEventListener("change", () => this.shape(), { signal });
    document.addEventListener("cast", () => this.shape(), { signal });
    this.shape();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** What is chosen: whom, within what, ending how. */
  asked() {
    const of = (/** @type {string} */ name) => /** @type {HTMLInputElement | null} */ (this.querySelector(name));
    return {
      participant: of('[name="actor"]:checked')?.value ?? "",
      budget: of('[name="act_budget"]')?.value ?? "",
      as: of('[name="act_aside"]')?.checked ? "aside" : "continuation",
    };
  }

  /** Shown where somebody can be asked; the budget left to the agent is named by its own. */
  shape() {
    this.hidden = !this.querySelector('[name="actor"]');
    const own = this.querySelector('[name="actor"]:checked')?.getAttribute("data-budget");
    const option = this.querySelector('[name="act_budget"] option[value=""]');
    if (option) option.textContent = t("default: {name}", { name: own ?? "standard" });
  }

  async start() {
    const field = composer();
    const input = field?.text?.value ?? "";
    const page = this.page;
    const button = /** @type {HTMLButtonElement | null} */ (this.querySelector("[data-start]"));
    if (!page || button?.disabled) return;
    if (button) button.disabled = true;
    const body = { ...this.asked(), node: page.position, input };
    try {
      const turn = await json(`${page.api}/turns`, { method: "POST", body });
      this.querySelector("details")?.removeAttribute("open");
      document.getElementById("composer-more")?.hidePopover();
      if (field?.text && field.text.value === input) {
        field.text.value = "";
        field.typed();
      }
      if (turn.as === "aside") this.showAsides();
      else page.go(turn.answers_below);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.querySelector("details")?.removeAttribute("open");
      field?.answer(told(error), true);
    } finally {
      if (button) button.disabled = false;
      // The button that was pressed is out of sight: the keyboard goes on where it was opened.
      if (document.activeElement === document.body) /** @type {HTMLElement | null} */ (document.querySelector("[popovertarget=composer-more]"))?.focus();
    }
  }

  showAsides() {
    document.getElementById("tab-trace")?.click();
    /** @type {import("./loom-tree.js").LoomTree | null} */ (document.querySelector("loom-tree"))?.show("side");
  }
}
