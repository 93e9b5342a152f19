// @ts-check
// Texts that could not be sent yet are shown in their place, pale, until they are nodes.

import { make } from "./forms.js";
import { t } from "../t.js";

/** The text of a line that adds one; null where it is another line. @param {string} line */
export function textOf(line) {
  if (line.startsWith("respond\n") && line.endsWith("\n←")) return line.slice("respond\n".length, -"\n←".length);
  const found = /^respond ("(?:[^"\\]|\\.)*")$/s.exec(line);
  return found ? JSON.parse(found[1]) : null;
}

/** Draws what waits at a position behind the text that is there.
 * @param {Element} stretch @param {import("../live/outbox.js").Letter[]} letters what is not sent yet @param {string} position */
export function drawUnsent(stretch, letters, position) {
  for (const old of stretch.querySelectorAll(":scope > .unsent")) old.remove();
  for (const { line, at } of letters) {
    const text = textOf(line);
    if (text === null || at !== position) continue;
    const words = make("p", { className: "text", dir: "auto", textContent: text });
    const drawn = make("div", { className: "unsent" }, words, make("p", { className: "soft", textContent: t("not sent yet") }));
    drawn.setAttribute("data-own", "");
    stretch.append(drawn);
  }
}
