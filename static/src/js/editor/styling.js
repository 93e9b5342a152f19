// @ts-check
// Light Markdown: headings, emphasis, code and quotations are shown as what they are, with
// their signs in place and paler. Nothing of the text changes.

import { RangeSet } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin } from "@codemirror/view";

/** @typedef {{from: number, to: number, kind: string}} Span */

const LONGEST = 4000; // characters: a line that is longer is unbroken text, and stays plain

const INLINE = /(`+)(?!`)(.+?)(?<!`)\1(?!`)|(\*\*|__)(?=\S)(.+?)(?<=\S)\3|(?<![\w*_])([*_])(?=[^\s*_])(.+?)(?<=[^\s*_])\5(?![\w*_])/gu;

/** What is styled in one line, as spans relative to its start; a span `sign` is one of Markdown's
 * own characters. @param {string} line @returns {Span[]} */
export function spansIn(line) {
  if (line.length > LONGEST) return [];
  const heading = /^(#{1,6}) +\S/.exec(line);
  const quote = heading ? null : /^> ?/.exec(line);
  const spans = /** @type {Span[]} */ ([]);
  if (heading) spans.push({ from: 0, to: line.length, kind: `heading h${heading[1].length}` }, { from: 0, to: heading[1].length, kind: "sign" });
  if (quote) spans.push({ from: 0, to: line.length, kind: "quote" }, { from: 0, to: 1, kind: "sign" });
  if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) return [...spans, { from: 0, to: line.length, kind: "sign" }];
  for (const match of line.matchAll(INLINE)) {
    const [whole, ticks, , strong, , soft] = match;
    const width = (ticks ?? strong ?? soft).length;
    const [from, to] = [match.index, match.index + whole.length];
    spans.push({ from: from + width, to: to - width, kind: ticks ? "code" : strong ? "strong" : "em" });
    spans.push({ from, to: from + width, kind: "sign" }, { from: to - width, to, kind: "sign" });
  }
  return spans;
}

/** @type {Map<string, Decoration>} */
const known = new Map();

/** @param {string} kind */
function mark(kind) {
  const decoration = known.get(kind) ?? Decoration.mark({ class: kind.split(" ").map((word) => `md-${word}`).join(" ") });
  known.set(kind, decoration);
  return decoration;
}

/** @param {EditorView} view */
function marks(view) {
  const decorations = [];
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      // The text of a line is not even read where it is too long.
      if (line.to - line.from <= LONGEST) {
        for (const span of spansIn(line.text)) if (span.to > span.from) decorations.push(mark(span.kind).range(line.from + span.from, line.from + span.to));
      }
      at = line.to + 1;
    }
  }
  return RangeSet.of(decorations, true);
}

export const styling = ViewPlugin.fromClass(
  class {
    /** @param {EditorView} view */
    constructor(view) {
      this.marks = marks(view);
    }

    /** @param {import("@codemirror/view").ViewUpdate} update */
    update({ view, docChanged, viewportChanged }) {
      if (docChanged || viewportChanged) this.marks = marks(view);
    }
  },
  { decorations: (plugin) => plugin.marks },
);

const ofItsOwn = Decoration.line({ attributes: { dir: "auto" } });

/** @param {EditorView} view */
function linesSeen(view) {
  /** @type {import("@codemirror/state").Range<Decoration>[]} */
  const lines = [];
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      // A long line may be seen in several parts.
      if (lines.at(-1)?.from !== line.from) lines.push(ofItsOwn.range(line.from));
      at = line.to + 1;
    }
  }
  return RangeSet.of(lines);
}

/** Each line runs the way of its own first letter, from right to left too. */
export const directions = [
  EditorView.perLineTextDirection.of(true),
  ViewPlugin.fromClass(
    class {
      /** @param {EditorView} view */
      constructor(view) {
        this.lines = linesSeen(view);
      }

      /** @param {import("@codemirror/view").ViewUpdate} update */
      update({ view, docChanged, viewportChanged }) {
        if (docChanged || viewportChanged) this.lines = linesSeen(view);
      }
    },
    { decorations: (plugin) => plugin.lines },
  ),
];
