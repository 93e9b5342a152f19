// @ts-check
// Portals: what a text names or is linked to opens in place, on every page; the address and the place
// read stay. An embed is a portal that is open from the start. A change of what is inside is a
// suggestion on its source.

import { called } from "./called.js";
import { toast } from "../elements/loom-toast.js";
import { json, part, Refused, told } from "../live/api.js";
import { asBody, call } from "../live/calls.js";
import { t } from "../t.js";
import { make, openForm } from "./forms.js";

/** @typedef {{web: string, api: string, position: string, isPast: boolean}} Page of a tree, whose steps are kept */

/** Fills portals when they are opened; each opening in a tree is a step of the reader. */
export function listenForPortals() {
  // `toggle` does not bubble: it is caught on its way down.
  document.addEventListener("toggle", (event) => {
    const portal = event.target;
    if (portal instanceof HTMLDetailsElement && portal.dataset.portal && portal.open) void fill(portal, pageOf(portal));
  }, { capture: true });
  document.addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("[data-suggest]");
    if (button instanceof HTMLButtonElement) void suggest(button);
  });
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) if (node instanceof Element) openEmbeds(node);
  }).observe(document.body, { childList: true, subtree: true });
  openEmbeds(document.body);
}

const EMBEDS = "details.embedded[open]:not([data-state])";

/** Embeds are seen without being opened: each is fetched when it comes into view. @param {Element} within */
function openEmbeds(within) {
  if (within.matches(EMBEDS)) watcher.observe(within);
  for (const element of within.querySelectorAll(EMBEDS)) watcher.observe(element);
}

const watcher = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    if (target instanceof HTMLDetailsElement && target.open) void fill(target, null);
  }
}, { rootMargin: "200px" });

/** The page of the tree in which a portal is, whose reader leaves steps. @param {Element} portal @returns {Page | null} */
function pageOf(portal) {
  const tree = /** @type {(Element & {page?: Page}) | null} */ (portal.closest("loom-tree"));
  return portal.matches(".embedded") ? null : (tree?.page ?? null);
}

/** The types of the portals around one and its own, outermost first. @param {Element} portal */
function pathOf(portal) {
  const path = [];
  for (let at = portal.closest(".portal"); at; at = at.parentElement?.closest(".portal") ?? null) path.unshift(at.getAttribute("data-edge-type") ?? "");
  return path;
}

/** Collapsed → loading → expanded, or error with a button that tries again.
 * @param {HTMLDetailsElement} portal @param {Page | null} page */
async function fill(portal, page) {
  const room = portal.querySelector(":scope > .portal-in");
  if (!room || portal.dataset.state === "loading" || room.querySelector(":scope > .portal-end")) return;
  const path = pathOf(portal);
  portal.dataset.portalPath = JSON.stringify(path);
  portal.dataset.depth = String(path.length);
  portal.dataset.state = "loading";
  room.textContent = t("Loading…");
  try {
    room.innerHTML = await part(`${portal.dataset.portal}&path=${path.map(encodeURIComponent).join(",")}`);
    portal.dataset.state = "expanded";
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    portal.dataset.state = "error";
    const again = make("button", { type: "button", className: "button small", textContent: t("Try again") });
    again.addEventListener("click", () => void fill(portal, page));
    room.replaceChildren(error.message, " ", again);
    return;
  }
  if (page) await noteOpened(portal, page);
}

/** Makes the opening of a portal of this tree a step, from which a trail can be kept.
 * @param {HTMLDetailsElement} portal @param {Page} page */
async function noteOpened(portal, page) {
  const { to, edgeType } = portal.dataset;
  const ref = to ? portal.closest("[data-of], article[data-id]") : null;
  const match = new RegExp(`^${page.web}/nodes/([^/]+)/portal\\?type=(.+)$`).exec(portal.dataset.portal ?? "");
  const of = to ? ref?.getAttribute("data-of") ?? ref?.getAttribute("data-id") : match?.[1];
  if (!of || page.isPast || (to && portal.closest(".portal-end:not([data-of])"))) return;
  const what = call("expand", { type: edgeType, ref: of, inline: true, to });
  try {
    await json(`${page.api}/commands`, { method: "POST", body: { ...asBody(what), at: page.position } });
  } catch (error) {
    if (!(error instanceof Refused)) throw error; // what is read needs no step
  }
}

/** Asks for another wording of what a portal shows, and suggests it where it comes from.
 * @param {HTMLButtonElement} button */
async function suggest(button) {
  const { suggest: ref, tree, source = "" } = button.dataset;
  const host = button.closest(".portal-end");
  if (!host) return;
  try {
    const text = source.startsWith("/api/") ? (await json(source)).text : await part(source);
    const rows = Math.min(12, text.split("\n").length + 2);
    const shape = { label: t("Another wording of {text}", { text: called(text) }), text, rows, submit: t("Suggest") };
    openForm(host, shape, async ({ text: content }) => {
      const { reply } = await json(`/api/trees/${tree}/commands`, { method: "POST", body: asBody(call("suggest", { ref, content })) });
      toast().show(reply ?? t("Suggested a change"));
    }, { before: host.querySelector(":scope > .text")?.nextElementSibling ?? null });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    toast().show(told(error), { bad: true });
  }
}
