// @ts-check
// What is seen of a book: colours by author, hairlines between nodes, what is no node yet.
// Only the part of the text near the screen is looked at.

import { call, putCall } from "../live/calls.js";
import { RangeSet } from "@codemirror/state";
import { Decoration, ViewPlugin, WidgetType } from "@codemirror/view";
import { t } from "../t.js";
import { book, rebound } from "./document-state.js";

/** @typedef {import("@codemirror/view").EditorView} EditorView */
/** @typedef {import("@codemirror/state").Range<Decoration>} Mark */
/** @typedef {Map<string, {colour: number, kind: string}>} Cast */

const MOST_BLANKS = 80;
const BOUND = Decoration.mark({ class: "bound" });
const FORK = Decoration.mark({ class: "bound fork" });
const REWORDED = Decoration.mark({ class: "reworded" });
const NOTED = Decoration.mark({ class: "marked" });
const ASK = Decoration.mark({ class: "ask" }); // what an agent was asked: no part of the story
const PRUNED = Decoration.mark({ class: "pruned" });
const LEFT_OUT = Decoration.mark({ class: "excluded" });

/** Stands where a node holds no text: there is nothing else to press. */
class Hollow extends WidgetType {
  /** @param {string} id */
  constructor(id) {
    super();
    this.id = id;
  }

  /** @param {WidgetType} other */
  eq(other) {
    return other instanceof Hollow && other.id === this.id;
  }

  toDOM() {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "run void", textContent: "∅" });
    button.dataset.id = this.id;
    button.title = t("An empty text");
    button.setAttribute("aria-label", t("An empty text: show it as a sibling"));
    return button;
  }

  ignoreEvent() {
    return true;
  }
}

/** Says that a text was written after another wording than the one above it. */
class Older extends WidgetType {
  /** @param {string} id */
  constructor(id) {
    super();
    this.id = id;
  }

  /** @param {WidgetType} other */
  eq(other) {
    return other instanceof Older && other.id === this.id;
  }

  /** @param {import("@codemirror/view").EditorView} view */
  toDOM(view) {
    // A mark without words: those would be in the middle of a text that is being written.
    const button = Object.assign(document.createElement("button"), { type: "button", className: "older" });
    button.contentEditable = "false";
    putCall(button, call("accept", { ref: this.id }));
    button.title = `${t("The text above has changed since this was written.")} ${t("Mark as read")}`;
    button.setAttribute("aria-label", `${t("written after an older version")}: ${t("Mark as read")}`);
    // It goes when it is pressed: the focus stays in the text, or comes to it from a key.
    button.addEventListener("mousedown", (event) => event.preventDefault());
    button.addEventListener("click", ({ detail }) => detail || view.focus());
    return button;
  }

  ignoreEvent() {
    return true;
  }
}

/** @param {Cast} cast */
export function painter(cast) {
  /** @type {Map<string, Decoration>} */
  const known = new Map();
  const markOf = (/** @type {import("./runs.js").Piece} */ { who, fresh }) => {
    const name = `${who} ${fresh}`;
    const decoration = known.get(name) ?? mark(cast.get(who), fresh);
    known.set(name, decoration);
    return decoration;
  };
  return ViewPlugin.fromClass(
    class {
      /** @param {EditorView} view */
      constructor(view) {
        this.marks = marks(view, markOf);
      }

      /** @param {import("@codemirror/view").ViewUpdate} update */
      update({ view, docChanged, viewportChanged, transactions }) {
        const isNew = transactions.some((transaction) => transaction.effects.some((effect) => effect.is(rebound)));
        if (docChanged || viewportChanged || isNew) this.marks = marks(view, markOf);
      }
    },
    { decorations: (plugin) => plugin.marks },
  );
}

/** @param {{colour: number, kind: string} | undefined} who @param {boolean} fresh */
function mark(who, fresh) {
  const attributes = { "data-who": String(who?.colour ?? 0), "data-kind": who?.kind ?? "human" };
  return Decoration.mark({ class: fresh ? "by working" : "by", attributes });
}

/** @param {EditorView} view @param {(piece: import("./runs.js").Piece) => Decoration} markOf */
function marks(view, markOf) {
  const decorations = /** @type {Mark[]} */ ([]);
  const { pieces } = view.state.field(book);
  // Of an empty text nothing is visible, and it may still have nodes.
  const ranges = view.visibleRanges.length ? view.visibleRanges : [{ from: 0, to: 0 }];
  for (const range of ranges) {
    let at = 0;
    for (const piece of pieces) {
      const from = Math.max(at, range.from);
      const to = Math.min(at + piece.length, range.to);
      if (to > from) decorations.push(markOf(piece).range(from, to));
      at += piece.length;
      if (at >= range.to) break;
    }
    addNodes(view, range, decorations);
  }
  return decorations.length ? RangeSet.of(decorations, true) : Decoration.none;
}

/** @param {EditorView} view @param {{from: number, to: number}} range @param {Mark[]} decorations */
function addNodes(view, range, decorations) {
  const { nodes, lengths } = view.state.field(book);
  let at = 0;
  let isHidden = false; // at or below something pruned
  for (let place = 0; place < lengths.length && at <= range.to; place += 1) {
    const end = at + lengths[place];
    const node = nodes[place];
    isHidden ||= node?.pruned === true;
    if (node?.id && end === at && at >= range.from) decorations.push(Decoration.widget({ widget: new Hollow(node.id), side: -1 }).range(at));
    if (end >= range.from && end > at) {
      addStart(view, at, end, node, decorations);
      const [from, to] = [Math.max(at, range.from), Math.min(end, range.to)];
      if (isHidden && node?.id && to > from) decorations.push(PRUNED.range(from, to));
      if (node?.excluded && to > from) decorations.push(LEFT_OUT.range(from, to));
      if (node?.ask && to > from) decorations.push(ASK.range(from, to));
      if (node?.noted && to > from) decorations.push(NOTED.range(from, to));
      if (node?.older && to > from) decorations.push(REWORDED.range(from, to));
    }
    at = end;
  }
}

/** The hairline is before the first character of a node that can be seen, and before that what
 * is said of it. @param {EditorView} view @param {number} at @param {number} end
 * @param {import("./document-state.js").Bound | undefined} node none: the working buffer @param {Mark[]} decorations */
function addStart(view, at, end, node, decorations) {
  const words = view.state.sliceDoc(at, Math.min(end, at + MOST_BLANKS));
  const seen = words.search(/[^\n]/);
  if (seen < 0) return;
  const width = (words.codePointAt(seen) ?? 0) > 0xffff ? 2 : 1;
  if (node?.older) decorations.push(Decoration.widget({ widget: new Older(node.id), side: -1 }).range(at + seen));
  if (at > 0) decorations.push((node?.fork ? FORK : BOUND).range(at + seen, Math.min(end, at + seen + width)));
}
