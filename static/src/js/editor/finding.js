// @ts-check
// Find and replace in the text of a path: a panel above it, and marks on what was found.

import { Annotation, EditorSelection, Prec, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, showPanel, ViewPlugin } from "@codemirror/view";
import { t } from "../t.js";
import { make } from "../tree/forms.js";
import { matchesIn, towardsMatch } from "../tree/matches.js";

/** @typedef {import("../tree/matches.js").Match} Match */
/** @typedef {import("../tree/matches.js").Search} Search */

const SOON_MS = 120;
const FOUND = Decoration.mark({ class: "found" });
const CURRENT = Decoration.mark({ class: "found current" });

/** @type {import("@codemirror/state").StateEffectType<Search | null>} */
const sought = StateEffect.define();

/** @type {StateField<Search | null>} */
const search = StateField.define({
  create: () => /** @type {Search | null} */ (null),
  update(value, { effects }) {
    for (const effect of effects) if (effect.is(sought)) value = effect.value;
    return value;
  },
  provide: (field) => showPanel.compute([field], (state) => (state.field(field) ? panel : null)),
});

const marker = ViewPlugin.fromClass(
  class {
    /** @param {EditorView} view */
    constructor(view) {
      this.marks = drawn(view);
    }

    /** @param {import("@codemirror/view").ViewUpdate} update */
    update({ view, docChanged, viewportChanged, selectionSet, startState, state }) {
      if (docChanged || viewportChanged || selectionSet || startState.field(search) !== state.field(search)) this.marks = drawn(view);
    }
  },
  { decorations: (plugin) => plugin.marks },
);

/** @param {EditorView} view */
function drawn(view) {
  const wanted = view.state.field(search);
  if (!wanted?.query) return Decoration.none;
  const { main } = view.state.selection;
  const reach = wanted.query.length * 2;
  const marks = view.visibleRanges.flatMap(({ from, to }) => {
    const start = Math.max(0, from - reach);
    const text = view.state.sliceDoc(start, Math.min(view.state.doc.length, to + reach));
    return matchesIn(text, wanted, start).map((match) => (match.from === main.from && match.to === main.to ? CURRENT : FOUND).range(match.from, match.to));
  });
  return RangeSet.of(marks, true);
}

/** @param {EditorView} view */
const every = (view) => matchesIn(view.state.doc.toString(), /** @type {Search} */ (view.state.field(search) ?? { query: "" }));

/** Selects a match and shows it. @param {EditorView} view @param {Match | undefined} match */
function show(view, match) {
  if (!match) return false;
  const { from, to } = match;
  view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(EditorSelection.range(from, to), { y: "center" }) });
  return true;
}

/** @param {EditorView} view @param {number} step */
const next = (view, step) => show(view, towardsMatch(every(view), view.state.selection.main, step));

/** Replaces the selected match and goes to the next one. @param {EditorView} view @param {string} text */
function replaceOne(view, text) {
  const { main } = view.state.selection;
  const match = every(view).find((candidate) => candidate.from === main.from && candidate.to === main.to);
  if (match) view.dispatch({ changes: { ...match, insert: text }, selection: { anchor: match.from + text.length }, userEvent: "input.replace" });
  next(view, 1);
}

/** What was replaced everywhere, and by what. @type {import("@codemirror/state").AnnotationType<{query: string, text: string}>} */
export const replacedAll = Annotation.define();

/** Replaces all matches as one change, which one undo takes back. @param {EditorView} view @param {string} text @returns {number} how many */
function replaceAll(view, text) {
  const matches = every(view);
  const query = view.state.field(search)?.query ?? "";
  if (matches.length) view.dispatch({ changes: matches.map((match) => ({ ...match, insert: text })), userEvent: "input.replace.all", annotations: replacedAll.of({ query, text }) });
  return matches.length;
}

/** @param {EditorView} view */
function close(view) {
  view.dispatch({ effects: sought.of(null) });
  view.focus();
  return true;
}

/** Opens the panel, with the selected words in it. @param {EditorView} view @param {boolean} [isReplacing] */
export function openSearch(view, isReplacing = false) {
  const { main } = view.state.selection;
  const selected = main.to - main.from < 200 ? view.state.sliceDoc(main.from, main.to) : "";
  const before = view.state.field(search);
  view.dispatch({ effects: sought.of({ query: before?.query ?? "", isExact: before?.isExact ?? false, isReplacing }) });
  const box = view.dom.querySelector(".find-panel");
  const field = /** @type {HTMLInputElement | null} */ (box?.querySelector("[name=find]"));
  if (!field) return true;
  box?.classList.toggle("replacing", isReplacing);
  if (selected && !selected.includes("\n")) {
    field.value = selected;
    field.dispatchEvent(new Event("input"));
  }
  field.select();
  return true;
}

/** @param {string} words @param {() => void} run @param {string} [name] */
function button(words, run, name = words) {
  const element = make("button", { type: "button", className: "button small", textContent: words, ariaLabel: name, title: name });
  element.addEventListener("click", run);
  return element;
}

/** @param {EditorView} view @returns {import("@codemirror/view").Panel} */
function panel(view) {
  const now = /** @type {Search} */ (view.state.field(search));
  const find = /** @type {HTMLInputElement} */ (make("input", { type: "search", name: "find", value: now.query, placeholder: t("Find"), ariaLabel: t("Find in the text") }));
  const put = /** @type {HTMLInputElement} */ (make("input", { type: "text", name: "replace", placeholder: t("Replace with"), ariaLabel: t("Replace with") }));
  const exact = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", checked: now.isExact }));
  const status = make("span", { className: "soft find-said", role: "status" });
  const tell = () => {
    const matches = every(view);
    const { main } = view.state.selection;
    const at = matches.findIndex((match) => match.from === main.from && match.to === main.to);
    if (!find.value) status.textContent = "";
    else if (!matches.length) status.textContent = t("Not found");
    else status.textContent = at < 0 ? t("{n} found", { n: matches.length }) : t("{at} of {n}", { at: at + 1, n: matches.length });
  };
  /** @type {any} */
  let timer = 0;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, SOON_MS);
  };
  const seek = () => {
    const open = view.state.field(search);
    if (open) view.dispatch({ effects: sought.of({ ...open, query: find.value, isExact: exact.checked }) });
    soon();
  };
  find.addEventListener("input", seek);
  exact.addEventListener("change", seek);
  const dom = make(
    "div",
    { className: "find-panel", role: "search", ariaLabel: t("Find and replace") },
    make("div", {}, find, status, button("↑", () => next(view, -1), t("Previous match")), button("↓", () => next(view, 1), t("Next match")), make("label", { className: "choice" }, exact, t("Match case")), button("×", () => close(view), t("Close"))),
    make("div", {}, put, button(t("Replace"), () => replaceOne(view, put.value)), button(t("Replace all"), () => {
      const n = replaceAll(view, put.value);
      status.textContent = t("{n} replaced", { n });
      clearTimeout(timer);
    })),
  );
  dom.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.isComposing) return;
    const isFind = event.target === find;
    if (event.key === "Escape") close(view);
    else if (event.key === "Enter" && isFind) next(view, event.shiftKey ? -1 : 1);
    else if (event.key === "Enter" && event.target === put) replaceOne(view, put.value);
    else return;
    event.preventDefault();
  });
  return { dom, top: true, mount: tell, destroy: () => clearTimeout(timer), update: (update) => void ((update.docChanged || update.selectionSet) && soon()) };
}

/** Finding and replacing, with their keys. */
export const finding = [
  search,
  marker,
  Prec.high(keymap.of([
    { key: "Mod-f", run: (view) => openSearch(view) },
    { key: "Mod-Alt-f", mac: "Mod-Alt-f", run: (view) => openSearch(view, true) },
    { key: "Mod-h", run: (view) => openSearch(view, true) },
    { key: "F3", run: (view) => Boolean(view.state.field(search)) && next(view, 1), shift: (view) => Boolean(view.state.field(search)) && next(view, -1) },
    { key: "Escape", run: (view) => Boolean(view.state.field(search)) && close(view) },
  ])),
];
