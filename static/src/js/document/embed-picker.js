// @ts-check
// What can stand behind `![[`: texts of the tree by their words, offered below the caret.

import { EditorSelection, Prec, StateEffect, StateField } from "@codemirror/state";
import { EditorView, keymap, showTooltip } from "@codemirror/view";
import { json, Newest } from "../live/api.js";
import { t } from "../t.js";

/** @typedef {{ref: string, text: string}} Offer */
/** @typedef {{from: number, to: number, words: string, offers: Offer[], at: number}} Open from: behind the brackets */

const BEGUN = /!\[\[([^[\]\n]{0,60})$/;
const MOST = 8;
const SOON_MS = 150;
const offered = /** @type {import("@codemirror/state").StateEffectType<{words: string, offers: Offer[]}>} */ (StateEffect.define());
const chosen = /** @type {import("@codemirror/state").StateEffectType<number>} */ (StateEffect.define());
const shut = /** @type {import("@codemirror/state").StateEffectType<null>} */ (StateEffect.define());

/** What is begun before the caret; null for nothing. @param {import("@codemirror/state").EditorState} state @returns {Open | null} */
export function begun(state) {
  const { main } = state.selection;
  const line = state.doc.lineAt(main.head);
  const match = main.empty ? BEGUN.exec(state.sliceDoc(line.from, main.head)) : null;
  return match && { from: main.head - match[1].length, to: main.head, words: match[1], offers: [], at: 0 };
}

/** The extension. @param {string} tree in which texts are looked for */
export function embedPicker(tree) {
  const asks = new Newest();
  /** @type {any} */
  let timer = 0;
  const picker = /** @type {import("@codemirror/state").StateField<Open | null>} */ (
    StateField.define({
      create: () => /** @type {Open | null} */ (null),
      update(now, transaction) {
        if (transaction.effects.some((effect) => effect.is(shut))) return null;
        if (transaction.docChanged || transaction.selection) {
          const next = transaction.docChanged || now ? begun(transaction.state) : null;
          return next && now ? { ...next, offers: now.offers } : next;
        }
        for (const effect of transaction.effects) {
          if (effect.is(offered) && now?.words === effect.value.words) return { ...now, offers: effect.value.offers, at: 0 };
          if (effect.is(chosen) && now) return { ...now, at: effect.value };
        }
        return now;
      },
      provide: (field) => showTooltip.from(field, (open) => open && { pos: open.from, create: (view) => ({ dom: list(view, open) }) }),
    })
  );

  /** @param {EditorView} view @param {Open} open */
  function list(view, open) {
    const dom = Object.assign(document.createElement("ul"), { className: "embed-offers" });
    dom.setAttribute("role", "listbox");
    dom.setAttribute("aria-label", t("Texts to embed"));
    dom.append(
      ...open.offers.map((offer, place) => {
        const item = document.createElement("li");
        item.setAttribute("role", "option");
        item.setAttribute("aria-selected", String(place === open.at));
        item.append(Object.assign(document.createElement("span"), { textContent: offer.text }), " ", Object.assign(document.createElement("code"), { className: "id", textContent: offer.ref }));
        item.addEventListener("mousedown", (event) => {
          event.preventDefault();
          take(view, offer);
        });
        return item;
      }),
    );
    if (!open.offers.length) dom.append(Object.assign(document.createElement("li"), { className: "soft", textContent: open.words ? t("Nothing found") : t("Type words of the text") }));
    return dom;
  }

  /** @param {EditorView} view @param {Offer} offer */
  function take(view, offer) {
    const open = view.state.field(picker);
    if (!open) return;
    const closing = view.state.sliceDoc(open.to, open.to + 2) === "]]" ? "" : "]]";
    const insert = offer.ref + closing;
    const end = open.from + insert.length + (closing ? 0 : 2);
    view.dispatch({ changes: { from: open.from, to: open.to, insert }, selection: EditorSelection.cursor(end), effects: shut.of(null), userEvent: "input.complete" });
  }

  /** @param {EditorView} view @param {number} by */
  function step(view, by) {
    const open = view.state.field(picker);
    if (!open?.offers.length) return false;
    view.dispatch({ effects: chosen.of((open.at + by + open.offers.length) % open.offers.length) });
    return true;
  }

  /** @param {EditorView} view */
  function enter(view) {
    const open = view.state.field(picker);
    if (!open?.offers.length) return false;
    take(view, open.offers[open.at]);
    return true;
  }

  const look = EditorView.updateListener.of(({ state, startState, view }) => {
    const words = state.field(picker)?.words;
    if (words === undefined || words === startState.field(picker, false)?.words) return;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const number = asks.ask();
      const offers = await offersFor(tree, words);
      if (!asks.isPast(number)) view.dispatch({ effects: offered.of({ words, offers }) });
    }, SOON_MS);
  });

  return [
    picker,
    look,
    Prec.highest(
      keymap.of([
        { key: "ArrowDown", run: (view) => step(view, 1) },
        { key: "ArrowUp", run: (view) => step(view, -1) },
        { key: "Enter", run: enter },
        { key: "Tab", run: enter },
        { key: "Escape", run: (view) => Boolean(view.state.field(picker)) && (view.dispatch({ effects: shut.of(null) }), true) },
      ]),
    ),
  ];
}

/** The texts with these words, as the search of the tree finds them. @param {string} tree @param {string} words @returns {Promise<Offer[]>} */
async function offersFor(tree, words) {
  if (!words.trim()) return [];
  try {
    const { hits } = await json(`/trees/${tree}/search?q=${encodeURIComponent(words)}`);
    return hits.slice(0, MOST).map((/** @type {{id: string, text: string}} */ { id, text }) => ({ ref: id, text }));
  } catch {
    return []; // without a connection an id is written by hand
  }
}
