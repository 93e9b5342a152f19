// @ts-check
// The field below a question that somebody asked the reader.

import { json, Refused, told } from "../live/api.js";
import { call } from "../live/calls.js";
import { toast } from "./loom-toast.js";
import { writerOf } from "../tree/called.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

export class LoomAnswer extends HTMLElement {
  connectedCallback() {
    const page = pageOf();
    if (this.dataset.asks !== page.settings.me || !page.settings.can.comment || this.firstChild) return;
    const note = this.dataset.note ?? "";
    const field = /** @type {HTMLTextAreaElement} */ (make("textarea", { rows: 2, required: true, dir: "auto", ariaLabel: t("Your answer to {name}", { name: writerOf(this.closest("[data-note]")) }) }));
    const form = make("form", { className: "answer" }, field, " ", make("button", { className: "button small", textContent: t("Answer") }));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!field.value.trim()) return;
      const { by, node } = { by: this.closest("[data-note]")?.querySelector("header [data-by]")?.getAttribute("data-by") ?? "", node: this.closest("article[data-id], .details[data-id]")?.getAttribute("data-id") ?? page.position };
      const answer = await page.say(call("annotate", { ref: note, content: field.value }), { quiet: true }).catch(() => null);
      if (answer?.did?.answered === "late") offerToGoOn(page, by, node);
    });
    this.append(form);
  }

  /** Moves the reader to the field. */
  focus() {
    this.querySelector("textarea")?.focus();
  }
}

/** The answer came after the turn that asked: offers to let the agent go on with it.
 * @param {import("../tree/page.js").TreePage} page @param {string} participant @param {string} node */
function offerToGoOn(page, participant, node) {
  const name = page.cast.get(participant)?.name ?? "";
  if (!page.can.continue || !name) return;
  const goOn = async () => {
    try {
      const turn = await json(`${page.api}/turns`, { method: "POST", body: { participant, node, input: "", as: "continuation" } });
      page.go(turn.answers_below);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      toast().show(told(error), { bad: true });
    }
  };
  toast().show(t("{name} asked in a turn that has ended.", { name }), { act: t("Let {name} go on with the answer", { name }), onAct: () => void goOn(), stay: 60_000 });
}
