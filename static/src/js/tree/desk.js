// @ts-check
// A page's drafts: where they lie, and what makes them go out, come in and come back.

import { Refused } from "../live/api.js";
import { Drafts } from "../live/drafts.js";
import { draftsAt } from "../live/workspace.js";

const PATIENCE_MS = 300;

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {import("../live/shelf.js").Place} Place */

/** The drafts of the page's person in its tree. @param {import("./page.js").Settings} settings @param {import("../live/outbox.js").Outbox} outbox */
export function openDrafts(settings, outbox) {
  const inHand = outbox.left().flatMap(({ draft }) => draft ?? []);
  const name = `${settings.me}.${settings.tree}`;
  const drafts = new Drafts(draftsAt(settings.workspace), { store: localStorage, name, inHand });
  outbox.addEventListener("answered", (event) => {
    const { draft, ran } = /** @type {CustomEvent} */ (event).detail;
    if (draft) drafts.release(draft, ran);
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
  window.addEventListener("storage", (event) => drafts.heard(event), { signal });
  window.addEventListener("pagehide", () => drafts.flushAll(), { signal });
  window.addEventListener("online", () => drafts.flushAll(), { signal });
  document.addEventListener("visibilitychange", turned, { signal });
  return load();
}

/** Where a draft at a node lies: with its slot, whichever version stands there.
 * @param {TreePage} page @param {import("../live/shelf.js").Kind} kind @param {string} [id] @returns {Place} */
export function placeAt(page, kind, id = page.position) {
  const slot = page.store?.slotOf(id);
  if (page.store && slot !== null && slot !== undefined) return { kind, slot: page.store.ids[slot] };
  return { kind, slot: id === page.settings.node ? page.settings.slot : id };
}

/** Gives a draft's text to a line that will carry it: kept until the line is answered. The
 * server should know it first, so that its end and the new node are one deed.
 * @param {Drafts} drafts @param {Place} place */
export async function handOver(drafts, place) {
  drafts.hold(place);
  const patience = new Promise((done) => setTimeout(done, PATIENCE_MS));
  await Promise.race([drafts.flush(place), patience]);
}
