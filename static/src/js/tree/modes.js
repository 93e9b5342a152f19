// @ts-check
// Two ways to be alone with the text: focus hides all but the text and what writes it, reading
// hides that, too. A tab keeps its mode.

import { t } from "../t.js";
import { make } from "./forms.js";

/** @typedef {"" | "focus" | "read"} Mode */

/** @returns {Mode} */
export function modeNow() {
  return /** @type {Mode} */ (document.body.dataset.mode ?? "");
}

/** @param {Mode} mode */
function enter(mode) {
  if (mode) document.body.dataset.mode = mode;
  else delete document.body.dataset.mode;
  sessionStorage.setItem("heddle.mode", mode);
  const leave = document.querySelector(".leave-mode");
  if (leave) leave.textContent = mode === "read" ? t("Leave reading mode") : t("Leave focus mode");
  document.dispatchEvent(new Event("mode"));
  return true;
}

/** Enters a mode, or leaves it. @param {Mode} mode */
export function toggleMode(mode) {
  return enter(modeNow() === mode ? "" : mode);
}

/** Listens for the buttons of the modes, and for Esc, which leaves them. @param {AbortSignal} signal */
export function followModes(signal) {
  const leave = make("button", { type: "button", className: "button small leave-mode" });
  leave.addEventListener("click", () => enter(""), { signal });
  document.body.append(leave);
  document.addEventListener(
    "click",
    (event) => {
      const mode = /** @type {Element} */ (event.target).closest("[data-mode-of]")?.getAttribute("data-mode-of");
      if (mode) toggleMode(/** @type {Mode} */ (mode));
    },
    { signal },
  );
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape" && modeNow() && !event.defaultPrevented && !document.querySelector("dialog[open]")) enter("");
    },
    { signal },
  );
  const kept = sessionStorage.getItem("heddle.mode");
  if (kept === "focus" || kept === "read") enter(kept);
}
