// @ts-check
// What others do: kept as looked at while the page is, and counted in the tab's title while it
// is not.

import { json } from "../live/api.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const NEWS = new Set(["node.added", "node.flagged", "mark.added", "link.added", "tree.changed", "annotation.resolved", "annotation.reopened"]);
const SOON_MS = 1500;

/** A title with how much is new before it. @param {string} title @param {number} many */
export function marked(title, many) {
  const bare = title.replace(/^\(\d+\) /, "");
  return many ? `(${many}) ${bare}` : bare;
}

/** Follows what others do until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function followNews(page, signal) {
  let many = 0;
  let looked = -1;
  /** @type {any} */
  let timer = 0;
  const isSeen = () => document.visibilityState === "visible";
  const tell = () => void (document.title = marked(document.title, many));
  const look = () => {
    timer = 0;
    const { seq } = page.events;
    if (!isSeen() || seq === looked) return;
    looked = seq;
    // Whether it was kept matters little: the next look says it again.
    json(`${page.web}/seen`, { method: "POST", body: { seq } }).catch(() => void (looked = -1));
  };
  const soon = () => {
    if (!timer) timer = setTimeout(look, SOON_MS);
  };
  page.addEventListener(
    "event",
    (event) => {
      const { kind, actor } = /** @type {CustomEvent} */ (event).detail;
      if (!isSeen() && actor !== page.settings.me && NEWS.has(kind)) {
        many += 1;
        tell();
      }
      soon();
    },
    { signal },
  );
  document.addEventListener(
    "visibilitychange",
    () => {
      if (!isSeen()) return;
      many = 0;
      tell();
      soon();
    },
    { signal },
  );
  document.addEventListener("click", (event) => /** @type {Element} */ (event.target).closest("[data-news-close]")?.closest(".news")?.remove(), { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  soon();
}
