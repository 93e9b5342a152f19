// @ts-check
// Tells the reader what others ask them, with a way to the field for the answer.

import { toast } from "../elements/loom-toast.js";
import { t } from "../t.js";
import { isAsked } from "./questions.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const SOON_MS = 500; // until a note that was not shown is there

/** Shows a question to the reader as a toast that leads to its field.
 * @param {TreePage} page @param {any} node @param {string} actor */
function tellQuestion(page, node, actor) {
  const { me, cast } = page.settings;
  const name = cast.find((one) => one.id === me)?.name ?? "";
  if (actor === me || !isAsked(node, name)) return;
  const who = cast.find((one) => one.id === actor)?.name ?? node.author.name;
  const answer = async () => {
    const field = () => /** @type {HTMLElement | null} */ (document.querySelector(`loom-answer[data-note="${node.id}"]`));
    if (!field()?.checkVisibility()) await page.go(node.parent);
    setTimeout(() => field()?.focus(), SOON_MS);
  };
  toast().show(t("{who} asks: {text}", { who, text: node.text.slice(name.length + 2, 200) }), { act: t("Answer"), onAct: () => void answer(), stay: 20_000 });
}

/** Follows the questions to the reader until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function followQuestions(page, signal) {
  const told = (/** @type {Event} */ event) => {
    const { kind, actor, payload } = /** @type {CustomEvent} */ (event).detail;
    if (kind === "node.added") tellQuestion(page, payload.node, actor);
  };
  page.addEventListener("event", told, { signal });
}
