// @ts-check
// Texts that could not be sent yet are shown in their place, pale, until they are nodes.

import { make } from "./forms.js";
import { t } from "../t.js";

/** The text of a command that adds one; null for any other. @param {import("../live/calls.js").Said} said @returns {string | null} */
export function textOf(said) {
  return typeof said === "object" && said.command === "respond" ? (said.args.content ?? "") : null;
}

/** Draws what waits at a position behind the text that is there.
 * @param {Element} stretch @param {import("../live/outbox.js").Letter[]} letters what is not sent yet @param {string} position */
export function drawUnsent(stretch, letters, position) {
  for (const old of stretch.querySelectorAll(":scope > .unsent")) old.remove();
  for (const { said, at } of letters) {
    const text = textOf(said);
    if (text === null || at !== position) continue;
    const words = make("p", { className: "text", dir: "auto", textContent: text });
    const drawn = make("div", { className: "unsent" }, words, make("p", { className: "soft", textContent: t("not sent yet") }));
    drawn.setAttribute("data-own", "");
    stretch.append(drawn);
  }
}
