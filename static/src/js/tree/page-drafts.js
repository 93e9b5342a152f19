// @ts-check
// A page's drafts: where they lie, and what makes them go out, come in and come back.

import { Refused } from "../live/api.js";
import { draftsAt } from "../live/draft-storage.js";
import { Drafts } from "../live/draft-sync.js";
import { isReaderHere } from "../live/kept-trees.js";
import { t } from "../t.js";
import { make } from "./forms.js";

const PATIENCE_MS = 300;

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {import("../live/draft-storage.js").Place} Place */
/** @typedef {import("../live/draft-storage.js").Carried} Carried */

/** The drafts of the page's person in its tree. @param {import("./page.js").Settings} settings @param {import("../live/outbox.js").Outbox} outbox */
export function openDrafts(settings, outbox) {
  const inHand = outbox.left().flatMap(({ draft }) => draft ?? []);
  const name = `${settings.me}.${settings.tree}`;
  const mayKeep = (/** @type {Place} */ place) => mayWriteAt(settings.can, place);
  const drafts = new Drafts(draftsAt(settings.workspace), { store: localStorage, name, inHand, mayKeep });
  outbox.addEventListener("answered", (event) => {
    const { draft, ran } = /** @type {CustomEvent} */ (event).detail;
    for (const carried of [draft ?? []].flat()) drafts.release(carried, ran);
  });
  return drafts;
}

/** Follows the other tabs, and the other devices when the page is looked at.
 * @param {Drafts} drafts @param {AbortSignal} signal */
export function follow(drafts, signal) {
  const load = () => drafts.load().catch((error) => {
    if (!(error instanceof Refused)) throw error;
  });
  const turned = () => (document.visibilityState === "hidden" ? drafts.flushAll() : load());
  // Signing out in another tab takes what the server has out of this browser; it stays in the fields.
  window.addEventListener("storage", (event) => isReaderHere() && drafts.heard(event), { signal });
  window.addEventListener("pagehide", () => drafts.flushAll(), { signal });
  window.addEventListener("online", () => drafts.flushAll(), { signal });
  document.addEventListener("visibilitychange", turned, { signal });
  return load();
}

/** Whether a person may write what a draft is for, so that the server keeps it: whoever may only
 * read has drafts of the time before. @param {Record<string, boolean>} can @param {Place} place */
export const mayWriteAt = (can, { kind }) => can.write || (can.comment && kind === "note");

/** Where a draft at a node lies: with its slot, whichever version is selected there.
 * @param {TreePage} page @param {import("../live/draft-storage.js").Kind} kind @param {string} [id] @returns {Place} */
export function placeAt(page, kind, id = page.position) {
  const slot = page.store?.slotOf(id);
  if (page.store && slot !== null && slot !== undefined) return { kind, slot: page.store.ids[slot] };
  return { kind, slot: id === page.settings.node ? page.settings.slot : id };
}

/** Gives the texts of drafts to a line that will carry them: kept until the line is answered. The
 * server should know them first, so that their end and the new node are one change.
 * @param {Drafts} drafts @param {Carried | Carried[]} places */
export async function handOver(drafts, places) {
  const all = [places].flat();
  const carried = all.map((place) => drafts.hold(place));
  const patience = new Promise((done) => setTimeout(done, PATIENCE_MS));
  await Promise.race([Promise.all(all.map((place) => drafts.flush(place))), patience]);
  return Array.isArray(places) ? carried : carried[0];
}

// Where two tabs or devices of one person have different texts in one place, they say which.

/** @param {string} text */
const start = (text) => (text ? `“${text.slice(0, 120)}${text.length > 120 ? "…" : ""}”` : t("nothing: the text was sent or deleted"));

/**
 * Asks at the top of `host` for the places it is about.
 * @param {import("../live/draft-sync.js").Drafts} drafts @param {Element} host @param {(place: Place) => boolean} isHere
 * @param {AbortSignal} signal
 */
export function askWhich(drafts, host, isHere, signal) {
  drafts.addEventListener("contested", (event) => {
    const { slot, kind, theirs } = /** @type {CustomEvent} */ (event).detail;
    if (!isHere({ slot, kind })) return;
    host.querySelector(".contest.which")?.remove();
    const words = make("span", { textContent: t("Another tab or device of yours has a different text here: {text}.", { text: start(theirs) }) });
    const choose = (/** @type {"mine" | "theirs"} */ which, /** @type {string} */ label) => {
      const button = make("button", { type: "button", className: "button small", textContent: label });
      button.addEventListener("click", () => {
        drafts.decide({ slot, kind }, which);
        box.remove();
      });
      return button;
    };
    const box = make("p", { className: "contest which", role: "alert" }, words, choose("mine", t("Keep this one")), choose("theirs", t("Use that one")));
    host.prepend(box);
  }, { signal });
}
