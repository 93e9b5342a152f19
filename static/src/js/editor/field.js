// @ts-check
// One long text in a form: an editor that holds it to the byte, and draws only what is seen.

import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { storable } from "./pasting.js";
import { directions } from "./styling.js";

const LOOK = EditorView.theme({
  "&": { background: "var(--paper)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: "var(--round)", maxBlockSize: "70vh" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "1px" },
  "& .cm-scroller": { font: "inherit", lineHeight: "inherit" },
  "& .cm-content": { padding: "0.4rem 0", caretColor: "var(--ink)" },
  "& .cm-line": { padding: "0 0.7rem" },
});

export class FieldEditor {
  /** @param {{parent: Element, nonce: string, label: string, text: string, readOnly: boolean, changed: () => void}} settings */
  constructor({ parent, nonce, label, text, readOnly, changed }) {
    const state = EditorState.create({
      doc: text,
      extensions: [
        EditorState.lineSeparator.of("\n"),
        EditorState.readOnly.of(readOnly),
        EditorView.cspNonce.of(nonce),
        EditorView.lineWrapping,
        directions,
        EditorView.clipboardInputFilter.of(storable),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true", autocapitalize: "sentences" }),
        LOOK,
        history(),
        keymap.of([...historyKeymap, ...standardKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed();
        }),
      ],
    });
    this.view = new EditorView({ state, parent });
  }

  get value() {
    return this.view.state.doc.toString();
  }

  set value(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** The position of the caret, in UTF-16 units. */
  get caret() {
    return this.view.state.selection.main.head;
  }

  focus() {
    this.view.focus();
  }
}
