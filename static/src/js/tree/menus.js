// @ts-check
// Menus stay within what is seen: they open to the side with more room, and scroll when long.

import { toast } from "../elements/loom-toast.js";
import { json, part, Refused } from "../live/api.js";
import { asBody, call } from "../live/calls.js";
import { t } from "../t.js";
import { act } from "./actions.js";
import { continueCall } from "./asking.js";

const GAP = 8;
const LEAST = 96;

/** What clips a menu: the nearest box that scrolls, within the window. @param {Element} menu */
function boundsOf(menu) {
  const box = menu.closest(".thread, [role='tabpanel']")?.getBoundingClientRect();
  const top = Math.max(box?.top ?? 0, 0);
  return { top, bottom: Math.min(box?.bottom ?? innerHeight, innerHeight) };
}

/** @param {HTMLDetailsElement} menu */
function place(menu) {
  const items = /** @type {HTMLElement | null} */ (menu.querySelector(".menu-items"));
  const button = menu.querySelector("summary")?.getBoundingClientRect();
  if (!items || !button) return;
  items.style.maxBlockSize = "";
  items.classList.remove("upwards");
  const bounds = boundsOf(menu);
  const box = items.getBoundingClientRect();
  const below = bounds.bottom - box.top - GAP;
  // Those of the composer open upwards by their style.
  const rises = box.top < button.top;
  const above = (rises ? box.bottom : button.top) - bounds.top - GAP;
  const upwards = rises || (below < box.height && above > below);
  items.classList.toggle("upwards", upwards && !rises);
  items.style.maxBlockSize = `${Math.max(upwards ? above : below, LEAST)}px`;
}

/** Closes a menu; the focus does not stay on what is hidden now. @param {Element} menu */
export function shut(menu) {
  const held = menu.querySelector(".menu-items")?.contains(document.activeElement);
  menu.removeAttribute("open");
  if (held) menu.querySelector("summary")?.focus({ preventScroll: true });
}

/** @param {Element} target what was pressed: other menus close, and its own when it was a choice */
export function shutAround(target) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(target)) menu.removeAttribute("open");
  }
  const chosen = target.closest(".menu-items > :is(a, button)");
  if (chosen) chosen.closest("details.menu")?.removeAttribute("open");
}

/** Places each menu when it opens, and again when the window changes. @param {AbortSignal} signal */
export function keepMenusInSight(signal) {
  const opened = (/** @type {Event} */ event) => {
    const menu = event.target;
    if (menu instanceof HTMLDetailsElement && menu.open && menu.matches(".menu")) place(menu);
  };
  // A toggle does not bubble.
  document.addEventListener("toggle", opened, { capture: true, signal });
  window.addEventListener("resize", () => {
    for (const menu of document.querySelectorAll("details.menu[open]")) place(/** @type {HTMLDetailsElement} */ (menu));
  }, { signal });
}

// What a node's menu adds to the acts beside it: ask again, go back here, what hangs below.

/** @typedef {import("./page.js").TreePage} TreePage */

/** Runs at once if the tab is there, else when the path to it is drawn.
 * @param {TreePage} page @param {string} id @param {() => void} run */
function whenAt(page, id, run) {
  if (page.position === id) return run();
  // Whoever has gone on meanwhile is not called back.
  document.addEventListener("drawn", () => page.position === id && run(), { once: true });
  page.go(id);
}

/** Another answer of the same model, beside this one. */
act("again", async ({ page, id, button }) => {
  const parent = page.store?.parents[page.store.slotOf(id) ?? -1];
  if (page.store && parent !== null && parent !== undefined) page.go(page.store.selected(parent));
  const from = page.store && parent !== null && parent !== undefined ? page.store.selected(parent) : "";
  if (from) await page.say(continueCall(from, { n: "1", using: [button?.getAttribute("data-name") ?? ""] }));
});

act("here", ({ page, id }) => page.go(id));

act("continuations", ({ page, id }) => {
  whenAt(page, id, () => {
    const weave = document.querySelector("loom-weave");
    weave?.scrollIntoView({ block: "nearest" });
    /** @type {HTMLElement | null | undefined} */ (weave?.querySelector(".card"))?.focus({ preventScroll: true });
  });
});

act("copy", async ({ page, id }) => {
  await navigator.clipboard.writeText(await part(`${page.web}/nodes/${id}/text`));
  toast().show(t("The text of {id} has been copied.", { id }));
});

act("copy-link", async ({ page, id }) => {
  await navigator.clipboard.writeText(`${location.origin}${page.web}?node=${id}`);
  toast().show(t("The link to {id} has been copied.", { id }));
});

/** Keeps the addresses of exports at the position of the tab. @param {TreePage} page @param {AbortSignal} signal */
export function keepExports(page, signal) {
  page.addEventListener("moved", () => {
    for (const link of document.querySelectorAll("a[data-export]")) {
      const url = new URL(link.getAttribute("href") ?? "", location.href);
      url.searchParams.set("node", page.position);
      link.setAttribute("href", url.pathname + url.search);
    }
  }, { signal });
}

// Portals: what a node is linked to opens in place; the address and the place read stay.

const MOST_DEEP = 5; // portals inside portals

/** Fills portals when they are opened, until the signal says stop; each opening is a step of the reader.
 * @param {AbortSignal} signal @param {import("./page.js").TreePage} page */
export function listenForPortals(signal, page) {
  // `toggle` does not bubble: it is caught on its way down.
  document.addEventListener("toggle", (event) => {
    const portal = /** @type {Element} */ (event.target);
    if (portal instanceof HTMLDetailsElement && portal.dataset.portal && portal.open) void fill(portal, page);
  }, { signal, capture: true });
}

/** The types of the portals around one and its own, outermost first. @param {Element} portal */
function pathOf(portal) {
  const path = [];
  for (let at = portal.closest(".portal"); at; at = at.parentElement?.closest(".portal") ?? null) path.unshift(at.getAttribute("data-edge-type") ?? "");
  return path;
}

/** Collapsed → loading → expanded, or error with a button that tries again.
 * @param {HTMLDetailsElement} portal @param {import("./page.js").TreePage} page */
async function fill(portal, page) {
  const room = portal.querySelector(":scope > .portal-in");
  if (!room || room.querySelector(":scope > .portal-end")) return;
  const path = pathOf(portal);
  portal.dataset.portalPath = JSON.stringify(path);
  portal.dataset.depth = String(path.length);
  if (path.length > MOST_DEEP) {
    portal.dataset.state = "error";
    room.textContent = t("Portals lie at most {n} deep: {chain}", { n: MOST_DEEP, chain: path.join(" → ") });
    return;
  }
  portal.dataset.state = "loading";
  room.textContent = t("Loading…");
  try {
    room.innerHTML = await part(portal.dataset.portal ?? "");
    portal.dataset.state = "expanded";
    await noteOpened(portal, page);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    portal.dataset.state = "error";
    const again = document.createElement("button");
    again.type = "button";
    again.className = "button small";
    again.textContent = t("Try again");
    again.addEventListener("click", () => {
      room.replaceChildren();
      void fill(portal, page);
    });
    room.replaceChildren(error.message, " ", again);
  }
}

/** Makes the opening of a portal of this tree a step, from which a trail can be kept.
 * @param {HTMLDetailsElement} portal @param {import("./page.js").TreePage} page */
async function noteOpened(portal, page) {
  const found = new RegExp(`^${page.web}/nodes/([^/]+)/portal\\?type=(.+)$`).exec(portal.dataset.portal ?? "");
  if (!found || page.isPast) return;
  const what = call("expand", { type: decodeURIComponent(found[2]), ref: found[1], inline: true });
  try {
    await json(`${page.api}/commands`, { method: "POST", body: { ...asBody(what), at: page.position } });
  } catch (error) {
    if (!(error instanceof Refused)) throw error; // what is read needs no step
  }
}
