// @ts-check
// What has to be chosen before an import goes on: which trees of the file, and how texts are split.

import { json } from "../live/api.js";
import { make } from "../tree/forms.js";
import { language, t, tn } from "../t.js";

const PAUSE = 200;

/** @typedef {{parts?: number[], q?: string, split?: string}} Chosen */

/** A form over the trees of a file. `made` is what was chosen, null where it was cancelled.
 * @param {any} state @param {string} name
 * @returns {{element: HTMLElement, focus: () => void, made: Promise<Chosen | null>}} */
export function chooser(state, name) {
  /** @type {(chosen: Chosen | null) => void} */
  let end = () => {};
  const made = new Promise((/** @type {typeof end} */ done) => (end = done));
  const { parts, split, notes } = state.asks;
  const list = parts > 1 ? listOf(state.id, parts) : null;
  const ways = split.length ? waysOf(split) : null;
  const cancel = make("button", { type: "button", className: "button", textContent: t("Cancel") });
  const submit = make("button", { type: "submit", className: "button primary", textContent: t("Import") });
  const head = parts > 1 ? t("{name} has {n} trees", { name, n: parts.toLocaleString(language()) }) : name;
  const said = notes.map((/** @type {string} */ textContent) => make("p", { className: "soft", textContent }));
  const form = make("form", { className: "choices" }, make("b", { textContent: head }), ...said, ...(list ? [list.element] : []), ...(ways ? [ways.element] : []), make("div", { className: "row" }, submit, cancel));
  cancel.addEventListener("click", () => end(null));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    /** @type {Chosen} */
    const chosen = { ...(list?.read() ?? {}), ...(ways ? { split: ways.read() } : {}) };
    if (chosen.parts?.length === 0) return list?.warn();
    end(chosen);
  });
  return { element: form, made, focus: () => /** @type {HTMLElement | null} */ (form.querySelector("input"))?.focus() };
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

/** The trees of a file, searched as one types. All that are found are chosen until one is changed.
 * @param {string} id @param {number} total */
function listOf(id, total) {
  const search = /** @type {HTMLInputElement} */ (make("input", { type: "search", placeholder: t("Search titles") }));
  search.setAttribute("aria-label", t("Search titles"));
  const all = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
  const found = make("span", {});
  const rows = make("ul", { className: "parts" });
  const more = make("button", { type: "button", className: "button small", textContent: t("Show more") });
  const warning = make("p", { className: "hint" });
  warning.setAttribute("role", "alert");
  /** @type {Set<number>} */
  const chosen = new Set();
  let [words, shown, count, turn] = ["", 0, total, 0];
  const load = async (/** @type {boolean} */ isNew) => {
    const mine = ++turn;
    const page = await json(`/api/imports/${id}/parts?q=${encodeURIComponent(words)}&offset=${isNew ? 0 : shown}&limit=100`);
    if (mine !== turn) return;
    if (isNew) rows.replaceChildren();
    shown = (isNew ? 0 : shown) + page.results.length;
    count = page.count;
    rows.append(...page.results.map(row));
    more.hidden = shown >= count;
    found.textContent = ` ${tn("All {n} that is found", "All {n} that are found", count)}`;
  };
  const row = (/** @type {any} */ part) => {
    const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", value: String(part.number), checked: all.checked || chosen.has(part.number), disabled: all.checked }));
    box.addEventListener("change", () => (box.checked ? chosen.add(part.number) : chosen.delete(part.number)));
    const at = part.at ? new Date(part.at).toLocaleDateString(language()) : "";
    const facts = [at, part.count ? tn("{n} message", "{n} messages", part.count) : ""].filter(Boolean).join(" · ");
    return make("li", {}, make("label", {}, box, ` ${part.title || t("Untitled")} `, make("span", { className: "soft", textContent: facts })));
  };
  all.addEventListener("change", () => {
    for (const box of rows.querySelectorAll("input")) {
      box.disabled = all.checked;
      box.checked = all.checked || chosen.has(Number(box.value));
    }
  });
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      words = search.value.trim();
      void load(true);
    }, PAUSE);
  });
  search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  more.addEventListener("click", () => void load(false));
  void load(true);
  const element = make("div", {}, search, make("label", {}, all, found), rows, more, warning);
  return {
    element,
    read: () => (all.checked ? { q: words } : { parts: [...chosen] }),
    warn: () => (warning.textContent = t("Choose at least one.")),
  };
}
