// @ts-check
// Small things every page does: ages that keep up, links that remember the place.

import { language, t, tn } from "./t.js";

/** Whose way of writing dates: the reader's own, where it is one of the page's language. */
function place() {
  const own = globalThis.navigator?.languages?.find((tag) => tag.split("-")[0] === language().split("-")[0]);
  return own ?? (language() === "en" ? "en-GB" : language());
}

/** A day as every page writes it. @param {Date} then */
function dayOf(then) {
  return then.toLocaleDateString(place(), { day: "numeric", month: "short", year: "numeric" });
}

/** The same with the hour, in the reader's time zone. @param {Date} then */
function momentOf(then) {
  return then.toLocaleString(place(), { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

/** How long ago, as the server writes it. @param {Date} then @param {Date} [now] */
export function age(then, now = new Date()) {
  const seconds = (now.getTime() - then.getTime()) / 1000;
  if (seconds < 60) return t("now");
  if (seconds < 3600) return t("{n}m ago", { n: Math.floor(seconds / 60) });
  if (seconds < 86_400) return t("{n}h ago", { n: Math.floor(seconds / 3600) });
  if (seconds < 86_400 * 30) return t("{n}d ago", { n: Math.floor(seconds / 86_400) });
  return dayOf(then);
}

let isTicking = false;

/** Keeps the ages on the page true, and shows the whole instant to who points at one. */
export function showAges() {
  const draw = () => {
    for (const time of document.querySelectorAll("time[datetime]")) {
      const then = new Date(time.getAttribute("datetime") ?? "");
      if (Number.isNaN(then.getTime())) continue;
      const words = time.hasAttribute("data-full") ? momentOf(then) : time.hasAttribute("data-day") ? dayOf(then) : age(then);
      if (time.textContent !== words) time.textContent = words;
      if (!time.hasAttribute("title")) time.setAttribute("title", momentOf(then));
    }
  };
  draw();
  if (!isTicking) setInterval(draw, 30_000);
  isTicking = true;
}

/** A button beside a link that is shown once copies it. */
export function copyOnClick() {
  document.addEventListener("click", async (event) => {
    const button = /** @type {Element} */ (event.target).closest("[data-copy]");
    const secret = button?.parentElement?.querySelector("[data-secret]");
    if (!button || !secret) return;
    try {
      await navigator.clipboard.writeText(secret.textContent ?? "");
      button.textContent = t("Copied");
    } catch {
      // Without https there is no clipboard: the link is selected, to be copied by hand.
      getSelection()?.selectAllChildren(secret);
      button.textContent = t("Selected; press Ctrl or ⌘ C");
    }
  });
}

/** The trees that are chosen in a list: how many is said, and the list stays as it is meanwhile. A field that sends its
 * form does so when it changes. */
export function chooseTrees() {
  const chosen = () => document.querySelectorAll(".tree-pick:checked").length;
  document.addEventListener("change", (event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    if (field.matches("[data-sends]")) field.form?.requestSubmit();
    const status = field.matches(".tree-pick") && document.querySelector("[data-chosen]");
    if (status) status.textContent = tn("1 tree chosen", "{n} trees chosen", chosen());
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (/** @type {Element} */ (event.target).matches(".trees[data-polled]") && chosen()) event.preventDefault();
  });
}
