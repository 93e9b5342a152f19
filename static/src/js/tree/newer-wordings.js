// @ts-check
// A new wording of the text at which a reader stands, by somebody else or in another browser: the page goes to it, or
// offers it where the reader has chosen an older one or is in the middle of something.

import { t } from "../t.js";
import { chooseVersion } from "./actions.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const SOON_MS = 400; // what this page does itself, it follows by its answer
const TRIES = 20;
const OFFERED_MS = 20_000;

/** What a reader at `position` does about a new version: nothing, goes there, or is asked.
 * @param {import("./store.js").TreeStore} store @param {string} position @param {string} id of the version
 * @returns {"" | "go" | "offer"} */
export function aboutVersion(store, position, id) {
  const slot = store.slotOf(id);
  if (slot === null || position === id || store.selected(slot) !== id) {
    const isChosen = slot !== null && store.choices.has(store.ids[slot]) && store.pathTo(position).includes(slot);
    return isChosen && position !== id ? "offer" : "";
  }
  if (slot !== store.slotOf(position)) return "";
  const versions = store.versionsOf(slot).map((version) => store.ids[version]);
  // Who went to an older one on purpose stays there.
  return versions[versions.length - 2] === position ? "go" : "offer";
}

/** Whether the reader is in the middle of something there. @param {string} id */
function isBusyAt(id) {
  const article = document.getElementById(`n-${id}`);
  const book = /** @type {import("../elements/loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer[data-on]"));
  return Boolean(article?.querySelector("form") || book?.saving?.isBusy || book?.saving?.pending().length);
}

/** Follows the new wordings of texts until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function followWordings(page, signal) {
  /** Where the reader has been. Who has left a new wording again, by undo say, is not led back to it: until the page
   * hears of the undo, that wording is still the one that is read. @type {Set<string>} */
  const been = new Set([page.position]);
  page.addEventListener("moved", () => been.add(page.position), { signal });
  const look = (/** @type {string} */ id, /** @type {boolean} */ isOwn, tries = 0) => {
    const { store, position } = page;
    if (signal.aborted || !store || page.isPast || been.has(id)) return;
    const what = aboutVersion(store, position, id);
    if (!what) return;
    if (what === "go" && !isBusyAt(position)) return page.go(id, { replace: true, isStill: true });
    if (what === "go" && tries < TRIES) return void setTimeout(() => look(id, isOwn, tries + 1), SOON_MS);
    if (isOwn) return;
    const toast = /** @type {import("../elements/loom-toast.js").LoomToast | null} */ (document.querySelector("loom-toast"));
    const read = () => (store.choices.size ? void chooseVersion(page, id) : page.go(id, { replace: true }));
    toast?.show(t("There is a newer wording of a text that you read."), { act: t("Read it"), onAct: read, stay: OFFERED_MS });
  };
  page.addEventListener("event", (event) => {
    const { kind, payload, actor } = /** @type {CustomEvent} */ (event).detail;
    if (kind === "node.added" && payload.node.kind === "text" && payload.node.slot !== payload.node.id) setTimeout(() => look(payload.node.id, actor === page.settings.me), SOON_MS);
  }, { signal });
}
