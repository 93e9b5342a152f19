// @ts-check
// Other wordings in a document: suggested for the words that are selected, seen and decided in their place.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, showTooltip, WidgetType } from "@codemirror/view";
import { nthOf, placesOf } from "../editor/places.js";
import { wordsBar } from "../editor/words-bar.js";
import { json, part, Refused, told } from "../live/api.js";
import { call } from "../live/calls.js";
import { t } from "../t.js";
import { commented } from "./commenting.js";

/** @typedef {import("../editor/places.js").Edit} Edit */
/** @typedef {{id: string, tree: string, by: string, edits: Edit[]}} Suggestion */
/** @typedef {(view: EditorView) => import("@codemirror/view").TooltipView} Create */
/** @typedef {{from: number, to: number, create: Create}} Chosen the words that another wording is suggested for; `create` stays while its form is open, so that what is typed there stays whatever others do */

/** The page, or the pane, of a document, which lists what is said of it. @param {Element} place in it */
export const talkOf = (place) => place.closest(".document-pane, main") ?? document;

const MOST = 2000; // characters that a suggestion names
const AGAIN_MS = 5000; // after which lists are read again that could not be read

/** What the page lists. @param {Element} place of the document @returns {Suggestion[]} */
function listed(place) {
  return [...talkOf(place).querySelectorAll("[data-suggestion]")].map((item) => {
    const { suggestion, tree, by, edits } = /** @type {HTMLElement} */ (item).dataset;
    return { id: suggestion ?? "", tree: tree ?? "", by: by ?? "", edits: JSON.parse(edits ?? "[]") };
  });
}

const heard = /** @type {import("@codemirror/state").StateEffectType<Suggestion[]>} */ (StateEffect.define());
const opened = /** @type {import("@codemirror/state").StateEffectType<boolean>} */ (StateEffect.define());

class NewWords extends WidgetType {
  /** @param {Suggestion} suggestion @param {string} words @param {((verb: string) => void) | null} decide */
  constructor(suggestion, words, decide) {
    super();
    this.suggestion = suggestion;
    this.words = words;
    this.decide = decide;
  }

  /** @param {NewWords} other */
  eq(other) {
    return other.suggestion.id === this.suggestion.id && other.words === this.words && Boolean(other.decide) === Boolean(this.decide);
  }

  toDOM() {
    const { by } = this.suggestion;
    const place = Object.assign(document.createElement("span"), { className: "suggested-new", title: t("{name} suggests another wording", { name: by }) });
    if (this.words) place.append(Object.assign(document.createElement("ins"), { textContent: this.words }));
    const verbs = /** @type {[string, string, string][]} */ ([["accept", "✓", t("Accept what {name} suggests", { name: by })], ["reject", "✗", t("Reject what {name} suggests", { name: by })]]);
    for (const [verb, sign, label] of this.decide ? verbs : []) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "suggested-do", textContent: sign, title: label });
      button.setAttribute("aria-label", label);
      button.addEventListener("click", () => this.decide?.(verb));
      place.append(button);
    }
    return place;
  }

  ignoreEvent() {
    return true;
  }
}

/** Views whose lists could not be read, and will be read again. @type {WeakSet<EditorView>} */
const waiting = new WeakSet();

/** Reads the suggestions and comments of a document again, and draws them; later, if they cannot be
 * read now. @param {EditorView} view @param {string} address of the page or pane that lists them */
export async function reread(view, address) {
  let markup;
  try {
    markup = await part(address);
  } catch (error) {
    if (!(error instanceof Refused) || error.mayPass) readLater(view, address);
    return;
  }
  const page = new DOMParser().parseFromString(markup, "text/html");
  for (const name of ["[data-suggestions]", "[data-comments]"]) {
    const [list, now] = [talkOf(view.dom).querySelector(name), page.querySelector(name)];
    if (list && now) renew(list, now);
  }
  view.dispatch({ effects: [heard.of(listed(view.dom)), commented.of(null)] });
}

/** @param {EditorView} view @param {string} address */
function readLater(view, address) {
  if (waiting.has(view)) return;
  waiting.add(view);
  setTimeout(() => {
    waiting.delete(view);
    if (view.dom.isConnected) void reread(view, address);
  }, AGAIN_MS);
}

/** What the form of a field is for. @param {Element} field */
function purposeOf(field) {
  const form = field.closest("form");
  return `${form?.getAttribute("action")} ${form?.querySelector("[name='node']")?.getAttribute("value")}`;
}

const fieldsIn = (/** @type {Element} */ list) => /** @type {HTMLInputElement[]} */ ([...list.querySelectorAll("input[name='text']")]);

/** Puts a list as it is now in place of one. The forms that somebody is writing in move over; the
 * list stays as it is while one of them has no place in the new one.
 * @param {Element} list @param {Element} now of another page */
export function renew(list, now) {
  const fresh = document.importNode(now, true);
  const active = /** @type {HTMLInputElement | null} */ (list.contains(document.activeElement) ? document.activeElement : null);
  const used = fieldsIn(list).filter((field) => field.value || field === active);
  const places = new Map(fieldsIn(fresh).map((field) => [purposeOf(field), field.form]));
  if (used.some((field) => field.value && !places.has(purposeOf(field)))) return;
  const [from, to] = [active?.selectionStart ?? null, active?.selectionEnd ?? null];
  for (const field of used) if (field.form) places.get(purposeOf(field))?.replaceWith(field.form);
  list.replaceWith(fresh);
  if (!active || !fresh.contains(active)) return;
  active.focus({ preventScroll: true });
  if (from !== null) active.setSelectionRange(from, to);
}

/** What runs lines of a tree about a document, and reads again what changed. `stored` is called
 * before that. @param {string} address of the page or pane @param {(words: string) => void} say */
export const runner = (address, say) =>
  async (/** @type {EditorView} */ view, /** @type {string} */ where, /** @type {import("../live/calls.js").Call} */ what, stored = () => {}) => {
    try {
      await json(`/api/trees/${where}/commands`, { method: "POST", body: what });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(told(error));
      return told(error);
    }
    say("");
    stored();
    await reread(view, address);
    return "";
  };

/** Where the words stand that are selected in an editor; null without any. @param {EditorView | undefined} view */
export function selectedBox(view) {
  const selection = document.getSelection();
  const range = selection?.rangeCount ? selection.getRangeAt(0) : null;
  if (!view || !range || view.state.selection.main.empty) return null;
  return view.dom.checkVisibility() && view.contentDOM.contains(range.commonAncestorContainer) ? range.getBoundingClientRect() : null;
}

/** The extension; `tree`: that the document is linked to; `address`: of the page or pane that lists what is said of it.
 * @param {Element} place of the document @param {{id: string, tree: string, address: string, mayWrite: boolean, say: (words: string) => void, signal: AbortSignal}} how */
export function suggesting(place, { id, tree, address, mayWrite, say, signal }) {
  const run = runner(address, say);

  /** @param {Suggestion[]} all @param {string} text */
  const drawn = (all, text) => {
    const marks = [];
    for (const suggestion of all) {
      const places = placesOf(suggestion.edits, text);
      for (const [at, { from, to, now }] of places.entries()) {
        const isLast = at === places.length - 1;
        if (to > from) marks.push(Decoration.mark({ class: "suggested-old" }).range(from, to));
        /** @type {NewWords} */
        const widget = new NewWords(suggestion, now, mayWrite && isLast ? (verb) => void (view && run(view, suggestion.tree, call(verb, { ref: suggestion.id }))) : null);
        marks.push(Decoration.widget({ widget, side: 1 }).range(to));
      }
    }
    return Decoration.set(marks, true);
  };
  /** @type {EditorView | undefined} */
  let view;

  const shown = StateField.define({
    create: (state) => drawn(listed(place), state.doc.toString()),
    update(now, transaction) {
      for (const effect of transaction.effects) if (effect.is(heard)) return drawn(effect.value, transaction.state.doc.toString());
      return now.map(transaction.changes);
    },
    provide: (field) => EditorView.decorations.from(field),
  });

  const chosen = /** @type {StateField<Chosen | null>} */ (
    StateField.define({
      create: () => /** @type {Chosen | null} */ (null),
      update(now, transaction) {
        for (const effect of transaction.effects) {
          if (!effect.is(opened)) continue;
          const { from, to } = transaction.state.selection.main;
          return effect.value && to > from ? { from, to, create: (where) => ({ dom: form(where, { from, to }) }) } : null;
        }
        return now && { ...now, from: transaction.changes.mapPos(now.from, -1), to: transaction.changes.mapPos(now.to, 1) };
      },
      provide: (field) => showTooltip.from(field, (now) => now && { pos: now.to, create: now.create }),
    })
  );

  /** @param {EditorView} where @param {{from: number, to: number}} now */
  function form(where, now) {
    const words = where.state.sliceDoc(now.from, now.to);
    const dom = Object.assign(document.createElement("form"), { className: "suggest-form" });
    const field = Object.assign(document.createElement("textarea"), { value: words, rows: Math.min(8, 1 + Math.ceil(words.length / 48)), dir: "auto" });
    field.setAttribute("aria-label", t("Another wording for the selected words"));
    const refused = Object.assign(document.createElement("p"), { className: "refused", hidden: true });
    refused.setAttribute("role", "alert");
    const send = Object.assign(document.createElement("button"), { className: "button small primary", textContent: t("Suggest") });
    const cancel = Object.assign(document.createElement("button"), { type: "button", className: "button small", textContent: t("Cancel") });
    const shut = () => {
      where.dispatch({ effects: opened.of(false) });
      where.focus();
    };
    cancel.addEventListener("click", shut);
    dom.addEventListener("keydown", (event) => {
      if (event.key === "Escape") shut();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) dom.requestSubmit();
      else return;
      event.preventDefault();
    });
    dom.addEventListener("submit", async (event) => {
      event.preventDefault();
      const at = where.state.field(chosen);
      if (!at || send.disabled) return; // by keys a form is sent whatever its button says
      const text = where.state.doc.toString();
      const old = text.slice(at.from, at.to);
      // By its words, so that what others are typing elsewhere is no part of it.
      const isShort = old.trim() !== "" && old.length <= MOST;
      const wording = isShort ? { content: field.value, words: old, nth: nthOf(text, old, at.from) } : { content: text.slice(0, at.from) + field.value + text.slice(at.to) };
      send.disabled = true;
      try {
        refused.textContent = await run(where, tree, call("suggest", { ref: `doc:${id}`, ...wording }), () => dom.isConnected && shut());
        refused.hidden = !refused.textContent;
      } finally {
        send.disabled = false;
      }
    });
    dom.append(field, refused, send, cancel);
    requestAnimationFrame(() => field.focus());
    return dom;
  }

  /** @param {EditorView} where */
  const openHere = (where) => {
    const { from, to } = where.state.selection.main;
    if (to <= from) return false;
    where.dispatch({ effects: opened.of(true) });
    return true;
  };

  if (tree) {
    const act = () => void (view && openHere(view));
    wordsBar().add({ of: place, group: t("Notes and links"), order: 2, words: t("Suggest another wording"), offers: () => selectedBox(view), act }, signal);
  }
  return [
    shown,
    tree ? [chosen, keymap.of([{ key: "Mod-Alt-s", run: openHere }])] : [],
    EditorView.updateListener.of((update) => {
      view = update.view;
    }),
  ];
}
