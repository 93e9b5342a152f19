// @ts-check
// Words that the reader selects in one text can be used as evidence: a bar beside them says what
// they do, and leads to the claims of the tree, with the words.

import { make } from "./forms.js";
import { t } from "../t.js";

const LEAST = 12; // characters of a quote
const MOST = 1500; // that an address carries
const REST_MS = 200; // after the last change of a selection

/** The words as a quote, if there are enough and not too many of them. @param {string} words */
export function quotable(words) {
  const trimmed = words.trim();
  return trimmed.length >= LEAST && trimmed.length <= MOST ? trimmed : "";
}

/** The address of the claims, with the words. @param {string} web @param {string} id @param {string} words */
export const citing = (web, id, words) => `${web}/claims?cite=${encodeURIComponent(id)}&words=${encodeURIComponent(words)}`;

/** The selected words and the id of the one text they are in.
 * @returns {{id: string, words: string, box: DOMRect} | null} */
function selected() {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  const common = range.commonAncestorContainer;
  const element = common instanceof Element ? common : common.parentElement;
  const id = element?.closest(".text")?.closest("[data-id]")?.getAttribute("data-id");
  const words = quotable(selection.toString());
  return id && words ? { id, words, box: range.getBoundingClientRect() } : null;
}

/** @param {import("./page.js").TreePage} page @param {AbortSignal} signal */
export function offerEvidence(page, signal) {
  const ways = [["for", t("Supports…")], ["against", t("Speaks against…")], ["undercuts", t("Undercuts…")]];
  const links = ways.map(([, words]) => /** @type {HTMLAnchorElement} */ (make("a", { className: "button small", textContent: words })));
  const bar = /** @type {HTMLElement} */ (make("div", { className: "cite-bar", hidden: true }, ...links));
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", t("Use the selected words as evidence"));
  document.body.append(bar);
  const show = () => {
    const selection = selected();
    bar.hidden = !selection;
    if (!selection) return;
    for (const [at, link] of links.entries()) link.href = `${citing(page.web, selection.id, selection.words)}&side=${ways[at][0]}`;
    bar.style.insetBlockStart = `${Math.max(8, Math.min(innerHeight - 48, selection.box.bottom + 8))}px`;
    bar.style.insetInlineStart = `${Math.max(8, Math.min(innerWidth - bar.offsetWidth - 8, selection.box.left))}px`;
  };
  let timer = 0;
  document.addEventListener("selectionchange", () => {
    clearTimeout(timer);
    timer = window.setTimeout(show, REST_MS);
  }, { signal });
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    bar.remove();
  });
}
