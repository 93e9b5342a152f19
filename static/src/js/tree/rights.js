// @ts-check
// What happens on an open page when what its reader may do in the tree changes, by a right or because
// the tree is archived or restored, or by another role in the grove: they are told, and led to the list of trees if they may no longer
// see it, else to the page as they may use it now.

import { toast } from "../elements/loom-toast.js";
import { t } from "../t.js";

const NOT_YOURS = "not yours"; // the reason of a socket that was closed with 4404
const TYPED = ".composer textarea, .node textarea, .note textarea";

/** @typedef {{participant?: string, role?: string, right?: string}} Rights */

/** Whether something was typed that leaving the page would take out of sight. */
const hasTyped = () => [...document.querySelectorAll(TYPED)].some((field) => /** @type {HTMLTextAreaElement} */ (field).value.trim() !== "");

/** Leads somewhere at once, or offers it where something was typed or `isOffer`. @param {string} address @param {string} words @param {string} act */
function lead(address, words, act, isOffer = false) {
  const go = () => (address ? location.assign(address) : location.reload());
  const isOffered = [...document.querySelectorAll("loom-toast [data-lasting] > span")].some((offer) => offer.textContent === words);
  if (isOffered) return;
  if (isOffer || hasTyped()) toast().show(words, { bad: true, act, onAct: go, lasting: true });
  else go();
}

/** @param {import("./page.js").TreePage} page @param {AbortSignal} signal */
export function followRights(page, signal) {
  const { grove, me } = page.settings;
  const leave = () => lead(`/groves/${grove}?lost=1`, t("You can no longer see this tree. What you typed is still here: copy it first."), t("To the list"));
  page.addEventListener("state", (event) => {
    const { state, reason } = /** @type {CustomEvent} */ (event).detail;
    if (state === "gone" && reason === NOT_YOURS) leave();
  }, { signal });
  const change = () => lead("", t("What you may do in this tree has changed. Reload the page once you have sent or copied what you typed."), t("Reload"));
  // Of a change of somebody's role in the grove the tree has no event.
  let role = page.settings.role;
  page.addEventListener("role", (event) => {
    const { detail } = /** @type {CustomEvent} */ (event);
    if (detail === role) return;
    role = detail;
    change();
  }, { signal });
  const off = page.events.on("tree.changed", ({ actor, payload }) => {
    if (payload.archived_at !== undefined) {
      const words = payload.archived_at ? t("This tree was archived and can only be read now. Reload the page once you have copied what you typed.") : t("This tree was restored. Reload the page to write in it.");
      // Who ends a sandbox here is led on by the answer, which a reload would cut off.
      lead("", words, t("Reload"), actor === me);
    }
    const rights = /** @type {Rights | undefined} */ (payload.rights);
    if (!rights?.right && !rights?.participant && !rights?.role) return;
    // Owners may do everything, whatever a tree says; of a role the server knows whose it is.
    if (page.can.share || (rights.participant && rights.participant !== me)) return;
    if (rights.participant === me && rights.right === "hidden") return leave();
    change();
  });
  signal.addEventListener("abort", off);
}
