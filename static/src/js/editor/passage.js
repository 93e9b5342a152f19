// @ts-check
// What is said about an edit is shown at the passage, below the line that was typed in; the thread of
// a comment below the words that it is about.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";

/** @typedef {import("@codemirror/view").DecorationSet} Marks */

class Said extends WidgetType {
  /** @param {HTMLElement} element */
  constructor(element) {
    super();
    this.element = element;
  }

  /** @param {WidgetType} other */
  eq(other) {
    return other instanceof Said && other.element === this.element;
  }

  toDOM() {
    const box = document.createElement("div");
    box.className = "passage";
    box.contentEditable = "false";
    box.append(this.element);
    return box;
  }

  ignoreEvent() {
    return true;
  }
}

/** A place for one element below a line of the text: the effect that shows it there (null: nothing), and its field. */
function below() {
  /** @type {import("@codemirror/state").StateEffectType<{element: HTMLElement, at: number} | null>} */
  const put = StateEffect.define({ map: (value, changes) => value && { ...value, at: changes.mapPos(value.at) } });
  /** @type {StateField<Marks>} */
  const field = StateField.define({
    create: () => Decoration.none,
    update(marks, change) {
      for (const effect of change.effects) {
        if (!effect.is(put)) continue;
        if (!effect.value) return Decoration.none;
        const { element, at } = effect.value;
        const end = change.newDoc.lineAt(Math.min(at, change.newDoc.length)).to;
        return Decoration.set(Decoration.widget({ widget: new Said(element), block: true, side: 1 }).range(end));
      }
      return change.docChanged ? moved(marks, change) : marks;
    },
    provide: (marks) => EditorView.decorations.from(marks),
  });
  return { put, field };
}

/** What is said of edits, and the thread of a comment: each has a place of its own. */
export const { put: saidAt, field: passage } = below();
export const { put: threadAt, field: thread } = below();

/** It stays below its line while that becomes longer or is broken in two. @param {Marks} marks @param {import("@codemirror/state").Transaction} change */
function moved(marks, change) {
  const at = marks.iter();
  if (!at.value) return marks;
  const end = change.newDoc.lineAt(change.changes.mapPos(at.from, 1)).to;
  return Decoration.set(at.value.range(end));
}
