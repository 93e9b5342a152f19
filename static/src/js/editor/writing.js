// @ts-check
// What a writer expects of an editor besides typing: finding, light Markdown, pasting, and a
// text that is only read.

import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine } from "@codemirror/view";
import { finding } from "./finding.js";
import { pastedMarkdown, storable } from "./pasting.js";
import { styling } from "./styling.js";

/** @typedef {{from: number, to: number, markdown: string}} Pasted where plain text was pasted that had a format */

const reading = new Compartment();
const READ_ONLY = [EditorState.readOnly.of(true), EditorView.editable.of(false)];

// The editor's own style sheet is nearer than the page's, whose layers it beats.
const LOOK = EditorView.theme({
  "& .cm-activeLine": { background: "none" },
  "& .cm-panels": { background: "none", color: "inherit", zIndex: "20" },
  "& .cm-panels-top": { border: "0", insetBlockStart: "0.4rem", marginBlockEnd: "0.6rem" },
});

/** @param {(pasted: Pasted) => void} heard hears of plain text whose format was left out */
export function writing(heard) {
  const { pagePlain, pagePaste } = document.documentElement.dataset;
  return [
    LOOK,
    finding,
    highlightActiveLine(),
    pagePlain === undefined ? styling : [],
    reading.of([]),
    EditorView.clipboardInputFilter.of(storable),
    EditorView.domEventHandlers({ paste: (event, view) => paste(event, view, pagePaste === "markdown", heard) }),
  ];
}

/** @param {ClipboardEvent} event @param {EditorView} view @param {boolean} isMarkdown @param {(pasted: Pasted) => void} heard */
function paste(event, view, isMarkdown, heard) {
  const data = event.clipboardData;
  const plain = storable(data?.getData("text/plain") ?? "").replace(/\r\n?/g, "\n");
  const markdown = storable(pastedMarkdown(data));
  if (view.state.readOnly || (!markdown && !data?.getData("text/plain").includes("\r"))) return false;
  event.preventDefault();
  const text = isMarkdown && markdown ? markdown : plain;
  const { from } = view.state.selection.main;
  view.dispatch(view.state.replaceSelection(text), { userEvent: "input.paste", scrollIntoView: true });
  if (markdown && !isMarkdown) heard({ from, to: from + text.length, markdown });
  return true;
}

/** Puts the Markdown where its plain text was pasted; false where that was changed since.
 * @param {EditorView} view @param {Pasted} pasted @param {string} plain what was pasted */
export function formatted(view, { from, to, markdown }, plain) {
  if (view.state.sliceDoc(from, to) !== plain) return false;
  view.dispatch({ changes: { from, to, insert: markdown }, selection: { anchor: from + markdown.length }, userEvent: "input.paste" });
  view.focus();
  return true;
}

/** Whether the text is only read. @param {EditorView} view @param {boolean} isRead */
export function setReading(view, isRead) {
  view.dispatch({ effects: reading.reconfigure(isRead ? READ_ONLY : []) });
}
