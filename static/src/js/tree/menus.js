// @ts-check
// Menus stay within what is seen: they open to the side with more room, and scroll when long.

import { isSeen } from "../focus.js";
import { calledOf } from "./called.js";
import { toast } from "../elements/loom-toast.js";
import { part } from "../live/api.js";
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

/** Moves the focus in an open menu with the arrows, Home and End, from its button on. A menu with
 * fields leaves those keys to them. @param {KeyboardEvent} event */
export function stepInMenu(event) {
  const here = /** @type {HTMLElement} */ (event.target);
  const menu = here.closest?.("details.menu[open]");
  if (!menu || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || menu.querySelector("input, select, textarea")) return;
  const choices = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll(".menu-items :is(a, button)")]).filter((choice) => isSeen(choice) && !choice.matches(":disabled"));
  const at = choices.indexOf(here);
  if (!choices.length || (at < 0 && here !== menu.querySelector("summary"))) return;
  const last = choices.length - 1;
  const to = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last, Home: 0, End: last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  choices[to].focus();
}

/** Places each menu when it opens, and again when the window changes. @param {AbortSignal} signal */
export function keepMenusInSight(signal) {
  const opened = (/** @type {Event} */ event) => {
    const menu = event.target;
    if (menu instanceof HTMLDetailsElement && menu.open && menu.matches(".menu")) place(menu);
  };
  // Who tabs on has left the menu.
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    const menu = /** @type {Element} */ (target).closest?.("details.menu[open]");
    if (menu && relatedTarget instanceof Element && !menu.contains(relatedTarget)) menu.removeAttribute("open");
  }, { signal });
  document.addEventListener("keydown", stepInMenu, { capture: true, signal });
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
  toast().show(t("Copied {text}.", { text: calledOf(page, id) }));
});

act("copy-link", async ({ page, id }) => {
  await navigator.clipboard.writeText(`${location.origin}${page.web}?node=${id}`);
  toast().show(t("Copied the link to {text}.", { text: calledOf(page, id) }));
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
