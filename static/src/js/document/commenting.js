// @ts-check
// Comments in a document: written on the words that are selected, seen and answered at their words.

import { EditorSelection, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, showTooltip, ViewPlugin } from "@codemirror/view";
import { nthOf, placesOf } from "../editor/places.js";
import { wordsBar } from "../editor/words-bar.js";
import { t } from "../t.js";
import { selectedBox, talkOf } from "./suggesting.js";

/** @typedef {{id: string, from: number, to: number}} Place of the words of a comment */
/** What stands in a tooltip: a new comment on words, or the thread of one. @typedef {{pos: number, to?: number, id?: string}} Shown */
/** @typedef {Shown & {create: (view: EditorView) => {dom: HTMLElement}}} Standing */
/** Writes a call as a line of a tree; resolves to why it was refused, or "". @typedef {(view: EditorView, tree: string, command: string, given: Record<string, unknown>, stored?: () => void) => Promise<string>} Run `stored` is called before what is listed is read again */

export const commented = /** @type {import("@codemirror/state").StateEffectType<null>} */ (StateEffect.define());
const shown = /** @type {import("@codemirror/state").StateEffectType<Shown | null>} */ (StateEffect.define());

/** The threads that the page or pane lists. @param {Element} place of the document @returns {HTMLElement[]} */
const threadsOf = (place) => /** @type {HTMLElement[]} */ ([...talkOf(place).querySelectorAll("[data-comments] [data-comment][data-place]")]);

/** Where the listed comments belong in a text. @param {HTMLElement[]} threads @param {string} text @returns {Place[]} */
export function placesIn(threads, text) {
  return threads.flatMap((thread) => {
    const [place] = placesOf([JSON.parse(thread.dataset.place ?? "[]")], text);
    return place && place.to > place.from ? [{ id: thread.dataset.comment ?? "", from: place.from, to: place.to }] : [];
  });
}

/** @param {Place[]} places */
const marks = (places) => Decoration.set(places.map(({ id, from, to }) => Decoration.mark({ class: "commented", attributes: { "data-of-comment": id } }).range(from, to)), true);

/** The extension. @param {Element} place of the document @param {string} id of the document @param {string} tree in which a comment is kept; empty: none may be written @param {Run} run @param {AbortSignal} signal */
export function commenting(place, id, tree, run, signal) {
  const threads = () => threadsOf(place);
  /** Forms whose line is on its way. @type {WeakSet<HTMLFormElement>} */
  const sending = new WeakSet();
  const drawn = StateField.define({
    create: (state) => marks(placesIn(threads(), state.doc.toString())),
    update(now, transaction) {
      if (transaction.effects.some((effect) => effect.is(commented))) return marks(placesIn(threads(), transaction.state.doc.toString()));
      return now.map(transaction.changes);
    },
    provide: (field) => EditorView.decorations.from(field),
  });

  const open = /** @type {StateField<Standing | null>} */ (
    StateField.define({
      create: () => /** @type {Standing | null} */ (null),
      update(now, transaction) {
        for (const effect of transaction.effects) if (effect.is(shown)) return effect.value && standing(effect.value);
        if (!now) return null;
        if (transaction.effects.some((effect) => effect.is(commented)) && now.id && !thread(now.id)) return null;
        const pos = transaction.changes.mapPos(now.pos, -1);
        return { ...now, pos, ...(now.to === undefined ? {} : { to: transaction.changes.mapPos(now.to, 1) }) };
      },
      provide: (field) => showTooltip.from(field, (now) => now && { pos: now.to ?? now.pos, create: now.create }),
    })
  );

  /** With one function for as long as it stands: with another, the editor would make it again with
   * each letter of anybody, and what is being written in it would be lost. @param {Shown} now @returns {Standing} */
  const standing = (now) => ({ ...now, create: (view) => ({ dom: now.id ? card(view, now.id) : form(view) }) });

  /** @param {string} of */
  const thread = (of) => threads().find((listed) => listed.dataset.comment === of);

  /** @param {EditorView} view */
  const shut = (view) => {
    view.dispatch({ effects: shown.of(null) });
    view.focus();
  };

  /** @param {HTMLElement} dom @param {EditorView} view */
  const byKeys = (dom, view) =>
    dom.addEventListener("keydown", (event) => {
      const place = /** @type {HTMLElement} */ (event.target);
      if (event.key === "Escape") shut(view);
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) place.closest("form")?.requestSubmit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });

  /** A new comment on the selected words. @param {EditorView} view */
  function form(view) {
    const dom = Object.assign(document.createElement("form"), { className: "comment-form" });
    const field = Object.assign(document.createElement("textarea"), { rows: 2, dir: "auto", required: true });
    field.setAttribute("aria-label", t("Comment on the selected words"));
    const refused = Object.assign(document.createElement("p"), { className: "refused", hidden: true });
    refused.setAttribute("role", "alert");
    const send = Object.assign(document.createElement("button"), { className: "button small primary", textContent: t("Comment") });
    const cancel = Object.assign(document.createElement("button"), { type: "button", className: "button small", textContent: t("Cancel") });
    cancel.addEventListener("click", () => shut(view));
    dom.addEventListener("submit", async (event) => {
      event.preventDefault();
      const now = view.state.field(open);
      // By keys it is sent, too, while its button is disabled.
      if (!now?.to || !field.value.trim() || send.disabled) return;
      const text = view.state.doc.toString();
      const words = text.slice(now.pos, now.to);
      send.disabled = true;
      try {
        const why = await run(view, tree, "annotate", { ref: `doc:${id}`, content: field.value, words, nth: nthOf(text, words, now.pos) }, () => dom.isConnected && shut(view));
        refused.textContent = why;
        refused.hidden = !why;
      } finally {
        send.disabled = false;
      }
    });
    dom.append(field, refused, send, cancel);
    byKeys(dom, view);
    requestAnimationFrame(() => field.focus());
    return dom;
  }

  /** The thread of a comment, as the list below has it. @param {EditorView} view @param {string} of */
  function card(view, of) {
    const dom = Object.assign(document.createElement("div"), { className: "comment-card" });
    const listed = thread(of);
    if (listed) {
      const copy = /** @type {HTMLElement} */ (listed.cloneNode(true));
      copy.removeAttribute("data-comment"); // the list has it
      copy.querySelector("blockquote")?.remove();
      dom.append(copy);
    }
    dom.addEventListener("submit", (event) => void sent(event, view));
    byKeys(dom, view);
    return dom;
  }

  /** What is said by a form: sent as a line, so that the page stays. @param {SubmitEvent} event @param {EditorView} view */
  async function sent(event, view) {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const { node: ref, tree: where, text = "" } = Object.fromEntries(/** @type {Iterable<[string, string]>} */ (new FormData(form)));
    const address = event.submitter?.getAttribute("formaction") ?? form.getAttribute("action") ?? "";
    const lines = /** @type {Record<string, [string, Record<string, unknown>]>} */ ({
      comment: ["annotate", { ref: `doc:${id}`, content: text }],
      reply: ["annotate", { ref, content: text }],
      resolve: ["resolve", { ref, reason: text }],
      accept: ["accept", { ref }],
      reject: ["reject", { ref }],
    });
    const line = lines[address.split("/").at(-1) ?? ""];
    if (!line) return;
    event.preventDefault();
    if ((line[0] === "annotate" && !text.trim()) || sending.has(form)) return;
    const isUnsaid = event.submitter?.hasAttribute("data-needs-reason") && !text.trim();
    const stored = () => {
      const field = /** @type {HTMLInputElement | null} */ (form.querySelector("input[name='text']"));
      if (field?.value.startsWith(text)) field.value = field.value.slice(text.length); // what was typed since stays
      if (form.closest(".comment-card")) shut(view);
    };
    sending.add(form);
    try {
      const why = isUnsaid ? t("Write why the objection is settled.") : await run(view, where, ...line, stored);
      const refused = /** @type {HTMLElement | null} */ (form.querySelector(".refused"));
      if (refused) {
        refused.textContent = why;
        refused.hidden = !why;
      }
    } finally {
      sending.delete(form);
    }
  }

  /** The comment at a place, the shortest one. @param {EditorView} view @param {number} pos */
  function commentAt(view, pos) {
    let nearest = "";
    let length = Infinity;
    view.state.field(drawn).between(pos, pos, (from, to, mark) => {
      if (to - from >= length) return;
      length = to - from;
      nearest = mark.spec.attributes["data-of-comment"];
    });
    return nearest;
  }

  /** By keys: a comment on the selection, or the thread at the caret. @param {EditorView} view */
  const openHere = (view) => {
    const { from, to, head } = view.state.selection.main;
    if (to > from) {
      if (!tree) return false;
      commentHere(view);
      return true;
    }
    const of = commentAt(view, head);
    if (!of) return false;
    view.dispatch({ effects: shown.of({ pos: head, id: of }) });
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (view.dom.querySelector(".comment-card :is(input, button)"))?.focus());
    return true;
  };

  /** @type {EditorView | undefined} */
  let editor;
  if (tree) wordsBar().add({ of: place, group: t("Notes and links"), order: 1, words: t("Comment"), offers: () => selectedBox(editor), act: () => editor && commentHere(editor) }, signal);

  return [
    drawn,
    open,
    keymap.of([{ key: "Mod-Alt-m", run: openHere }]),
    EditorView.domEventHandlers({
      click(event, view) {
        const of = /** @type {Element} */ (event.target).closest("[data-of-comment]")?.getAttribute("data-of-comment");
        const now = view.state.field(open);
        if (!of || view.state.selection.main.to > view.state.selection.main.from) {
          if (now?.id) view.dispatch({ effects: shown.of(null) });
          return;
        }
        view.dispatch({ effects: shown.of({ pos: view.posAtDOM(/** @type {Node} */ (event.target)), id: of }) });
      },
    }),
    ViewPlugin.define((view) => {
      editor = view;
      listen(view);
      return { update: (update) => listen(update.view) };
    }),
  ];

  /** The lists below the text: what is sent there is a line, and a quotation leads to its words. @param {EditorView} view */
  function listen(view) {
    for (const list of /** @type {NodeListOf<HTMLElement>} */ (talkOf(view.dom).querySelectorAll("[data-comments], [data-suggestions]"))) {
      if (list.dataset.on) continue;
      list.dataset.on = "1";
      list.addEventListener("submit", (event) => void sent(event, view));
      list.addEventListener("click", (event) => goTo(event, view));
    }
  }

  /** @param {MouseEvent} event @param {EditorView} view */
  function goTo(event, view) {
    const to = /** @type {Element} */ (event.target).closest("[data-to-words]")?.closest("[data-comment]")?.getAttribute("data-comment");
    const at = to && placesIn(threads(), view.state.doc.toString()).find((words) => words.id === to);
    if (!at) return;
    view.dispatch({ selection: EditorSelection.single(at.from, at.to), effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
    view.focus();
  }
}

/** Opens the form of a comment on the selection. @param {EditorView} view */
export function commentHere(view) {
  const { from, to } = view.state.selection.main;
  if (to > from) view.dispatch({ effects: shown.of({ pos: from, to }) });
}
