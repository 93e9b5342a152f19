// @ts-check
// What has to be chosen before an import goes on: which trees of the file, and how texts are split.

import { json } from "../live/api.js";
import { make } from "../tree/forms.js";
import { language, t, tn } from "../t.js";

const PAUSE = 200;
const PAGE = 200;

/** @typedef {{parts?: number[], split?: string}} Chosen */

/** A form over the trees of a file. `made` is what was chosen, null where it was cancelled.
 * @param {any} state @param {string} name
 * @returns {{element: HTMLElement, focus: () => void, made: Promise<Chosen | null>}} */
export function chooser(state, name) {
  /** @type {(chosen: Chosen | null) => void} */
  let end = () => {};
  const choice = new Promise((/** @type {typeof end} */ done) => (end = done));
  const { parts, split, notes } = state.asks;
  const cancel = make("button", { type: "button", className: "button", textContent: t("Cancel") });
  const submit = make("button", { type: "submit", className: "button primary", textContent: t("Import") });
  const count = (/** @type {number} */ n, /** @type {boolean} */ isReading) => {
    submit.textContent = n ? tn("Import {n} tree", "Import {n} trees", n) : t("Import");
    submit.toggleAttribute("disabled", isReading); // not before all that were chosen are known
  };
  const list = parts > 1 ? listOf(state.id, parts, count) : null;
  const ways = split.length ? waysOf(split) : null;
  const head = parts > 1 ? t("{name} has {n} trees", { name, n: parts.toLocaleString(language()) }) : name;
  const paragraphs = notes.map((/** @type {string} */ textContent) => make("p", { className: "soft", textContent }));
  const form = make("form", { className: "choices" }, make("b", { textContent: head }), ...paragraphs, ...(list ? [list.element] : []), ...(ways ? [ways.element] : []), make("div", { className: "row" }, submit, cancel));
  cancel.addEventListener("click", () => end(null));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    /** @type {Chosen} */
    const chosen = { ...(list?.read() ?? {}), ...(ways ? { split: ways.read() } : {}) };
    if (chosen.parts?.length === 0) return list?.warn();
    end(chosen);
  });
  return { element: form, made: choice, focus: () => /** @type {HTMLElement | null} */ (form.querySelector("input"))?.focus() };
}

/** How texts become nodes. @param {string[]} split */
function waysOf(split) {
  const words = { sections: t("A node for each section"), paragraphs: t("A node for each paragraph"), whole: t("One node") };
  const fields = split.map((value, at) => {
    const input = make("input", { type: "radio", name: "split", value, checked: at === 0 });
    return make("label", {}, input, ` ${words[/** @type {keyof typeof words} */ (value)]}`);
  });
  const element = make("fieldset", {}, make("legend", { textContent: t("How is the text split?") }), ...fields);
  return { element, read: () => /** @type {HTMLInputElement} */ (element.querySelector(":checked")).value };
}

/** The trees of a file, searched as one types. What was chosen stays chosen while others are searched
 * for: one by one, all that a search finds, or the whole file.
 * @param {string} id @param {number} total @param {(n: number, isReading: boolean) => void} tell is given how many are chosen, and whether more are being found */
function listOf(id, total, tell) {
  const search = /** @type {HTMLInputElement} */ (make("input", { type: "search", placeholder: t("Search titles") }));
  search.setAttribute("aria-label", t("Search titles"));
  const all = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
  const countShown = make("span", {});
  const rows = make("ul", { className: "parts" });
  const more = make("button", { type: "button", className: "button small", textContent: t("Show more") });
  const warning = make("p", { className: "hint" });
  warning.setAttribute("role", "alert");
  /** @type {Set<number>} */
  const chosen = new Set();
  let [words, shown, count, turn, isWhole, reading] = ["", 0, total, 0, false, false];
  const page = (/** @type {number} */ offset) => json(`/api/imports/${id}/parts?q=${encodeURIComponent(words)}&offset=${offset}&limit=${PAGE}`);
  const load = async (/** @type {boolean} */ isNew) => {
    const mine = ++turn;
    const { results, count: counted } = await page(isNew ? 0 : shown);
    if (mine !== turn) return;
    if (isNew) rows.replaceChildren();
    shown = (isNew ? 0 : shown) + results.length;
    count = counted;
    rows.append(...results.map(row));
    more.hidden = shown >= count;
    draw();
  };
  /** @type {Map<number, HTMLInputElement>} */
  const boxes = new Map();
  const row = (/** @type {any} */ part) => {
    const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
    boxes.set(part.number, box);
    box.addEventListener("change", () => {
      if (box.checked) chosen.add(part.number);
      else chosen.delete(part.number);
      all.checked = false;
      draw();
    });
    const at = part.at ? new Date(part.at).toLocaleDateString(language()) : "";
    const facts = [at, part.count ? tn("{n} message", "{n} messages", part.count) : ""].filter(Boolean).join(" · ");
    return make("li", {}, make("label", {}, box, make("span", {}, `${part.title || t("Untitled")} `, make("span", { className: "soft", textContent: facts }))));
  };
  const draw = () => {
    for (const [number, box] of boxes) Object.assign(box, { checked: isWhole || chosen.has(number), disabled: isWhole });
    countShown.textContent = isWhole ? tn("The only one of the file", "All {n} of the file", total) : tn("The only result", "All {n} results", count);
    warning.textContent = "";
    all.disabled = reading;
    tell(isWhole ? total : chosen.size, reading);
  };
  all.addEventListener("change", async () => {
    const { checked } = all;
    if (isWhole || !words) isWhole = checked;
    else {
      reading = true;
      draw();
      try {
        const mine = turn;
        for (let at = 0; at < count && mine === turn; at += PAGE) {
          for (const { number } of (await page(at)).results) {
            if (checked) chosen.add(number);
            else chosen.delete(number);
          }
        }
      } finally {
        reading = false;
      }
    }
    draw();
  });
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      words = search.value.trim();
      all.checked = isWhole;
      void load(true);
    }, PAUSE);
  });
  search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  more.addEventListener("click", () => void load(false));
  void load(true);
  const element = make("div", {}, search, make("label", { className: "all" }, all, countShown), rows, more, warning);
  return {
    element,
    read: () => (isWhole ? {} : { parts: [...chosen] }),
    warn: () => (warning.textContent = t("Choose at least one.")),
  };
}
