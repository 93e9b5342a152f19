// @ts-check
// Menus stay within what is seen: they open to the side with more room, and scroll when long.

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
