// @ts-check
// Portals: what a node is linked to opens in place; the address and the place read stay.

import { part, Refused } from "../live/api.js";

/** Fills portals when they are opened, until the signal says stop. @param {AbortSignal} signal */
export function listenForPortals(signal) {
  // `toggle` does not bubble: it is caught on its way down.
  document.addEventListener("toggle", (event) => {
    const portal = /** @type {Element} */ (event.target);
    if (portal instanceof HTMLDetailsElement && portal.dataset.portal && portal.open) fill(portal);
  }, { signal, capture: true });
}

/** @param {HTMLDetailsElement} portal */
async function fill(portal) {
  const room = portal.querySelector(":scope > .portal-in");
  if (!room || room.childElementCount) return;
  try {
    room.innerHTML = await part(portal.dataset.portal ?? "");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    room.textContent = error.message;
  }
}
