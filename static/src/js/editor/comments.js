// @ts-check
// The words of a buffer's text that notes are about, marked in the editor.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";
import { book, rebound, starts } from "./document-state.js";
import { placesOf } from "./places.js";

/** A note on words of a text. @typedef {{note: string, form: string, place: import("./places.js").Edit}} Comment */
/** The notes on words by the id of their text. @typedef {Map<string, Comment[]>} Comments */
/** @typedef {{comments: Comments, marks: import("@codemirror/view").DecorationSet}} Drawn */

export const commentsAre = /** @type {import("@codemirror/state").StateEffectType<Comments>} */ (StateEffect.define());

/** @param {import("@codemirror/state").EditorState} state @param {Comments} comments */
function marksOf(state, comments) {
  const now = state.field(book);
  const at = starts(now);
  const marks = [];
  for (const [place, { id }] of now.nodes.entries()) {
    const own = id ? comments.get(id) : undefined;
    if (!own?.length) continue;
    const text = state.sliceDoc(at[place], at[place + 1]);
    for (const { note, form, place: words } of own) {
      const [where] = placesOf([words], text);
      if (!where || where.to <= where.from) continue;
      const mark = Decoration.mark({ class: form === "diff" ? "suggested-old" : "commented", attributes: { "data-of-comment": note } });
      marks.push(mark.range(at[place] + where.from, at[place] + where.to));
    }
  }
  return Decoration.set(marks, true);
}

/** @type {StateField<Drawn>} */
export const comments = StateField.define({
  create: () => ({ comments: new Map(), marks: Decoration.none }),
  update(drawn, change) {
    for (const effect of change.effects) if (effect.is(commentsAre)) return { comments: effect.value, marks: marksOf(change.state, effect.value) };
    if (!drawn.comments.size) return drawn;
    if (change.effects.some((effect) => effect.is(rebound))) return { ...drawn, marks: marksOf(change.state, drawn.comments) };
    return change.docChanged ? { ...drawn, marks: drawn.marks.map(change.changes) } : drawn;
  },
  provide: (field) => EditorView.decorations.from(field, (drawn) => drawn.marks),
});

/** Where the words of a note stand. @param {import("@codemirror/state").EditorState} state @param {string} note */
export function placeOfNote(state, note) {
  const { marks } = state.field(comments);
  for (const at = marks.iter(); at.value; at.next()) {
    if (at.value.spec.attributes["data-of-comment"] === note) return { from: at.from, to: at.to };
  }
  return null;
}

/** The note on the words at a place, and where they begin; null: none. The shortest words where several are there.
 * @param {import("@codemirror/state").EditorState} state @param {number} at */
export function noteAt(state, at) {
  /** @type {{note: string, from: number} | null} */
  let note = null;
  let length = Infinity;
  state.field(comments).marks.between(at, at, (from, to, { spec }) => {
    if (to - from >= length) return;
    note = { note: spec.attributes["data-of-comment"], from };
    length = to - from;
  });
  return /** @type {{note: string, from: number} | null} */ (note);
}
