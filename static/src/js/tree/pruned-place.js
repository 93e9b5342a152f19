// @ts-check
// At a text that was pruned, or below one, nothing can be written or asked: the composer says so for as
// long as the reader is there, and leads on.

import { call } from "../live/calls.js";
import { t } from "../t.js";
import { make } from "./forms.js";
import { visibleAbove } from "./hidden-drafts.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const SOON_MS = 100;

/** The highest pruned text on the way to a text; "" for none. @param {TreePage} page @param {string} [id] where the reader is */
export function prunedAbove({ store, position, isPast }, id = position) {
  const slot = isPast ? undefined : store?.pathTo(id).find((above) => store.isPruned(above));
  return store && slot !== undefined ? store.ids[slot] : "";
}

/** What holds up whoever writes or asks here; "" for nothing. @param {TreePage} page */
export const heldUp = (page) => (prunedAbove(page) ? t("The text above was pruned: go to the text above it, or restore it.") : "");

/** Says it above the field until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function followPrunedPlace(page, signal) {
  /** @type {any} */
  let timer = 0;
  /** @type {Map<string, string>} who pruned a text while this page was open */
  const by = new Map();
  const show = () => {
    const pruned = prunedAbove(page);
    const name = page.cast.get(by.get(pruned) ?? "")?.name;
    const words = name ? t("The text above was pruned by {name}.", { name }) : t("The text above was pruned.");
    const key = pruned && `${pruned} ${words}`;
    const old = /** @type {HTMLElement | null} */ (document.querySelector(".pruned-place"));
    if ((old?.dataset.key ?? "") === key) return;
    old?.remove();
    if (!pruned) return;
    const box = boxOf(page, pruned, words);
    box.dataset.key = key;
    const form = document.querySelector("loom-composer form");
    if (form) form.prepend(box);
    else document.querySelector(".composer")?.before(box);
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(show, SOON_MS);
  };
  for (const name of ["store", "changed", "moved", "redraw"]) page.addEventListener(name, soon, { signal });
  page.addEventListener("event", (event) => {
    const { kind, payload, actor } = /** @type {CustomEvent} */ (event).detail;
    if (kind !== "node.flagged" || payload.flag !== "pruned") return;
    const slot = page.store?.slotOf(payload.node);
    if (payload.value && page.store && slot !== null && slot !== undefined) by.set(page.store.ids[slot], actor);
    soon();
  }, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  soon();
}

/** The sentence, with the ways out. @param {TreePage} page @param {string} pruned @param {string} words */
function boxOf(page, pruned, words) {
  const above = page.store ? visibleAbove(page.store, page.position) : "";
  const button = (/** @type {string} */ label, /** @type {() => void} */ run) => {
    const element = make("button", { type: "button", className: "button small", textContent: label });
    element.addEventListener("click", run);
    return element;
  };
  const ways = [];
  if (above) ways.push(button(t("Go to the text above"), () => page.go(above)));
  // What was refused is said where all refusals are.
  if (page.can.write) ways.push(button(t("Restore it"), () => void page.say(call("restore", { ref: pruned })).catch(() => {})));
  return make("p", { className: "contest pruned-place", role: "status" }, make("span", { textContent: words }), ...ways);
}
