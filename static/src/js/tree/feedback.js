// @ts-check
// Messages after a command: a toast with an undo button, or the reason why it was refused.

import { verbOf } from "../live/calls.js";
import { toast } from "../elements/loom-toast.js";
import { told } from "../live/api.js";
import { isUndoable, statusText } from "./status-text.js";
import { t } from "../t.js";

/** @typedef {import("./page.js").TreePage} TreePage */

// What these do is seen at once where it happens.
const SEEN = new Set(["respond", "continue", "switch", "go", "focus", "merge"]);
const UNDONE = new Set(["undo", "redo"]);

/** Whether a panel beside the text is in view. @param {string} name */
const seen = (name) => Boolean(document.getElementById(`panel-${name}`)?.checkVisibility());

const capital = (/** @type {string} */ words) => words.charAt(0).toUpperCase() + words.slice(1);

/** @param {TreePage} page @param {AbortSignal} signal */
export function giveFeedback(page, signal) {
  page.addEventListener(
    "said",
    (event) => {
      const { answer, act: part } = /** @type {CustomEvent} */ (event).detail;
      const verb = verbOf(answer.canonical);
      const words = answer.reply.replace(/^✓ /, "");
      if (SEEN.has(verb)) return speak(words);
      if (verb === "open") return seen("desk") ? speak(words) : toast().show(statusText(verb, answer.did) || words);
      if (!answer.events.length && !UNDONE.has(verb)) return;
      const act = verb === "undo" ? t("Redo") : isUndoable(verb) ? t("Undo") : "";
      // Of several changes that are one, which Undo takes back as one, the whole is said.
      const plain = part?.doing ? capital(part.doing) : statusText(verb, answer.did);
      const [, turn] = /^→ undo turn:(\S+)/.exec(answer.canonical) ?? [];
      toast().show(plain || words, { act, exact: plain && words, onAct: () => void (turn ? page.acts.redoTurn(turn, "") : verb === "undo" ? page.acts.redo() : page.acts.undoNumber(answer.step)) });
    },
    { signal },
  );
  page.addEventListener(
    "refused",
    (event) => {
      const refused = /** @type {CustomEvent} */ (event).detail;
      if (refused.status === 401) return; // said with a link (signed-out.js)
      toast().show(told(refused), { bad: true });
    },
    { signal },
  );
}

// What a screen reader is told: one polite region, to which each message is added. A message
// that took another's place would keep it from being read.

const KEPT = 4;

/** @param {string} words */
export function speak(words) {
  const region = document.querySelector("[data-spoken]");
  if (!region || !words) return;
  const message = document.createElement("span");
  message.textContent = `${words} `;
  region.append(message);
  while (region.children.length > KEPT) region.firstElementChild?.remove();
}
