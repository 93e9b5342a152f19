// @ts-check
// What is said about an edit is shown at the passage: below the line that was typed in.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";

/** @typedef {import("@codemirror/view").DecorationSet} Marks */

/** What is said, at a place of the text; null: nothing. @type {import("@codemirror/state").StateEffectType<{element: HTMLElement, at: number} | null>} */
export const saidAt = StateEffect.define({ map: (value, changes) => value && { ...value, at: changes.mapPos(value.at) } });

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

/** @type {StateField<Marks>} */
export const passage = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    for (const effect of change.effects) {
      if (!effect.is(saidAt)) continue;
      if (!effect.value) return Decoration.none;
      const { element, at } = effect.value;
      const end = change.newDoc.lineAt(Math.min(at, change.newDoc.length)).to;
      return Decoration.set(Decoration.widget({ widget: new Said(element), block: true, side: 1 }).range(end));
    }
    return change.docChanged ? moved(marks, change) : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** It stays below its line while that becomes longer or is broken in two. @param {Marks} marks @param {import("@codemirror/state").Transaction} change */
function moved(marks, change) {
  const at = marks.iter();
  if (!at.value) return marks;
  const end = change.newDoc.lineAt(change.changes.mapPos(at.from, 1)).to;
  return Decoration.set(at.value.range(end));
}
