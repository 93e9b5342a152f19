// @ts-check
// Where two tabs or devices of one person have different texts in one place, he says which.

import { t } from "../t.js";
import { make } from "./forms.js";

/** @typedef {import("../live/shelf.js").Place} Place */

/** @param {string} text */
const start = (text) => (text ? `“${text.slice(0, 120)}${text.length > 120 ? "…" : ""}”` : t("nothing: the text was sent or deleted"));

/**
 * Asks at the top of `host` for the places it is about.
 * @param {import("../live/drafts.js").Drafts} drafts @param {Element} host @param {(place: Place) => boolean} isHere
 * @param {AbortSignal} signal
 */
export function askWhich(drafts, host, isHere, signal) {
  drafts.addEventListener("contested", (event) => {
    const { slot, kind, theirs } = /** @type {CustomEvent} */ (event).detail;
    if (!isHere({ slot, kind })) return;
    host.querySelector(".contest")?.remove();
    const words = make("span", { textContent: t("Another tab or device of yours has a different text here: {text}.", { text: start(theirs) }) });
    const choose = (/** @type {"mine" | "theirs"} */ which, /** @type {string} */ label) => {
      const button = make("button", { type: "button", className: "button small", textContent: label });
      button.addEventListener("click", () => {
        drafts.decide({ slot, kind }, which);
        box.remove();
      });
      return button;
    };
    const box = make("p", { className: "contest", role: "alert" }, words, choose("mine", t("Keep this one")), choose("theirs", t("Use that one")));
    host.prepend(box);
  }, { signal });
}
