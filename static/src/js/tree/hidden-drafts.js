// @ts-check
// What a person typed where nobody can write any more: below a text that was pruned, or in a tree
// that they may only read, such as an archived one. It is shown, to be taken elsewhere, copied or
// discarded.

import { Refused } from "../live/api.js";
import { placeOf } from "../live/draft-storage.js";
import { toast } from "../elements/loom-toast.js";
import { t } from "../t.js";
import { make } from "./forms.js";
import { mayWriteAt, placeAt } from "./page-drafts.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {import("./store.js").TreeStore} TreeStore */
/** @typedef {import("../live/draft-storage.js").Place} Place */

const SOON_MS = 100;
const TOLD_MS = 20_000;

/** Whether a text or one above it is pruned. @param {TreeStore} store @param {string} id */
const isHidden = (store, id) => store.pathTo(id).some((slot) => store.isPruned(slot));

/** The drafts that no field of this page shows. @param {TreePage} page @returns {[Place, string][]} */
export function hiddenDrafts(page) {
  const { store, drafts, position } = page;
  if (page.isPast) return [];
  const all = drafts.all().map(([name, text]) => /** @type {[Place, string]} */ ([placeOf(name), text]));
  const path = new Set(store?.pathTo(position));
  return all.filter(([place]) => {
    if (!mayWriteAt(page.settings.can, place)) return true;
    const at = store?.slotOf(place.slot);
    if (!store || at === null || at === undefined || !isHidden(store, place.slot)) return false;
    return place.kind === "buffer" ? at !== store.slotOf(position) : !path.has(at);
  });
}

/** The nearest text above a pruned one that can still be written below; "" for none.
 * @param {TreeStore} store @param {string} id */
export function visibleAbove(store, id) {
  const path = store.pathTo(id);
  const first = path.findIndex((slot) => store.isPruned(slot));
  return first > 0 ? store.selected(path[first - 1]) : "";
}

/** Puts a text behind what is written at the position. @param {TreePage} page @param {string} text */
function takeHere(page, text) {
  const book = /** @type {import("../elements/loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer[data-on]"));
  const place = placeAt(page, "buffer");
  const before = book ? (book.editor?.tail ?? "") : page.drafts.of(place);
  const joint = !before || /\s$/u.test(before) || /^\s/u.test(text) ? "" : book ? " " : "\n";
  if (book) return book.write(joint + text);
  page.drafts.write(place, before + joint + text);
  page.drafts.dispatchEvent(new CustomEvent("draft", { detail: place }));
  document.getElementById("composer-text")?.focus();
}

/** One of these drafts with what can be done with it. @param {TreePage} page @param {Place} place @param {string} text */
function boxOf(page, place, text) {
  const why = mayWriteAt(page.settings.can, place) ? t("You typed this at a text that has been pruned since:") : t("You typed this and have not sent it:");
  const kept = make("span", { className: "hidden-draft-text", textContent: text, dir: "auto", tabIndex: 0 });
  kept.setAttribute("data-secret", ""); // what the button beside it copies (pages.js)
  const copy = make("button", { type: "button", className: "button small", textContent: t("Copy") });
  copy.setAttribute("data-copy", "");
  const drop = make("button", { type: "button", className: "button small", textContent: t("Discard") });
  drop.addEventListener("click", () => page.drafts.discard(place));
  const take = make("button", { type: "button", className: "button small", textContent: t("Take it here") });
  take.addEventListener("click", () => {
    takeHere(page, text);
    page.drafts.discard(place);
  });
  return make("div", { className: "contest hidden-draft", role: "status" }, make("span", { textContent: why }), kept, ...(page.settings.can.write ? [take] : []), copy, drop);
}

/** Shows the drafts that no field shows, one after another, above the field, until the signal says
 * stop; and tells their writer when somebody prunes their place. @param {TreePage} page @param {AbortSignal} signal */
export function followHiddenDrafts(page, signal) {
  /** @type {any} */
  let timer = 0;
  let shown = "";
  const show = () => {
    const [first] = hiddenDrafts(page);
    const now = first ? JSON.stringify(first) : "";
    const old = document.querySelector(".hidden-draft");
    if (now === shown && Boolean(old) === Boolean(now)) return;
    shown = now;
    old?.remove();
    if (!first) return;
    const form = document.querySelector("loom-composer form");
    if (form) form.prepend(boxOf(page, ...first));
    else document.querySelector(".composer")?.before(boxOf(page, ...first));
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(show, SOON_MS);
  };
  for (const name of ["store", "changed", "moved"]) page.addEventListener(name, soon, { signal });
  for (const name of ["draft", "saved"]) page.drafts.addEventListener(name, soon, { signal });
  page.addEventListener("event", (event) => {
    const { kind, payload, actor } = /** @type {CustomEvent} */ (event).detail;
    if (kind === "node.flagged" && payload.flag === "pruned" && payload.value && actor !== page.settings.me) tellOfPruning(page, payload.node);
  }, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  // Who may write or comment has them loaded by the page.
  if (!page.settings.can.comment) {
    page.drafts.load().then(soon, (error) => {
      if (!(error instanceof Refused)) throw error;
    });
  }
  soon();
}

/** Tells a writer that the place of their words was pruned. @param {TreePage} page @param {string} node what was pruned */
function tellOfPruning(page, node) {
  const { store, drafts, position } = page;
  const pruned = store?.slotOf(node);
  if (!store || pruned === null || pruned === undefined) return;
  const isBelow = (/** @type {string} */ id) => store.pathTo(id).includes(pruned);
  // Where the reader is, the composer says it.
  if (isBelow(position) || !drafts.all().some(([name]) => isBelow(placeOf(name).slot))) return;
  toast()?.show(t("A text was pruned where you have typed something. What you typed is kept."), { stay: TOLD_MS });
}
