// @ts-check
// The editor of a buffer: CodeMirror over a book, and what the page may do with it.

import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { EditorSelection, EditorState, Transaction } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { book, bookOf, exchanged, outside, starts, towards, typist } from "./document-state.js";
import { ghost, ghostKeys, haunt } from "./ghost.js";
import { painter } from "./paint.js";
import { codePoints, leastChange } from "./runs.js";
import { formatted, setReading, writing } from "./writing.js";

/** @typedef {import("./document-state.js").Leaf} Leaf */
/**
 * `typed`: the text has changed by the person's hand; `placed`: the caret stands elsewhere;
 * `follow`: go to this node; `continue`, `save`: the keys for it; `take`, `pick`: at a ghost.
 * @typedef {{typed: () => void, placed: () => void, pointed: (id: string) => void, follow: (id: string) => void, continue: () => void, save: () => void, take: () => void, pick: (step: number) => void, pasted: (pasted: import("./writing.js").Pasted) => void}} Heard
 * @typedef {{parent: Element, nonce: string, me: string, cast: import("./paint.js").Cast, label: string, asks: string, heard: Heard, leaves: Leaf[], tail: string}} Settings
 * @typedef {{place: number, id: string, slot: string, text: string, from: number}} Stretch
 */

// Here and not in the style sheet, whose layers any style of the editor's own would beat.
const LOOK = EditorView.theme({
  "&": { background: "none", color: "inherit" },
  "&.cm-focused": { outline: "none" },
  "& .cm-scroller": { font: "inherit", lineHeight: "inherit", overflow: "visible" },
  "& .cm-content": { padding: "0", caretColor: "var(--ink)" },
  "& .cm-line": { padding: "0" }, "& .cm-placeholder": { color: "var(--soft)" },
  "&:has(.void) .cm-placeholder": { display: "none" },
});

export class BufferEditor {
  /** @param {Settings} settings */
  constructor({ parent, nonce, me, cast, label, asks, heard, leaves, tail }) {
    const doc = leaves.map((leaf) => leaf.text).join("") + tail;
    const run = (/** @type {() => void} */ deed) => () => (deed(), true);
    const state = EditorState.create({
      doc,
      selection: EditorSelection.cursor(doc.length),
      extensions: [
        // Only LF ends a line: CR is an ordinary character, and the text stays as it is.
        EditorState.lineSeparator.of("\n"),
        EditorView.cspNonce.of(nonce),
        EditorView.lineWrapping,
        LOOK,
        EditorView.perLineTextDirection.of(true),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true", autocapitalize: "sentences", autocorrect: "on" }),
        placeholder(asks),
        typist.of(me),
        book.init(() => bookOf(leaves, tail, me)),
        ghost,
        painter(cast),
        history(),
        writing(heard.pasted),
        ghostKeys(heard),
        keymap.of([
          { key: "Ctrl-Space", run: run(heard.continue) },
          { key: "Mod-s", run: run(heard.save) },
          ...historyKeymap,
          ...standardKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          const isTyped = update.transactions.some((one) => one.docChanged && !one.annotation(Transaction.remote));
          if (isTyped) heard.typed();
          if (update.selectionSet || isTyped) heard.placed();
        }),
        EditorView.domEventHandlers({
          mousedown: (event, view) => this.pressed(event, view, heard),
          click: (event, view) => {
            if (view.state.selection.main.empty) this.tell(event, view, heard.pointed);
          },
        }),
      ],
    });
    this.view = new EditorView({ state, parent });
  }

  /** @param {MouseEvent} event @param {EditorView} view @param {Heard} heard */
  pressed(event, view, heard) {
    if (!event.shiftKey || event.button) return false;
    event.preventDefault();
    this.tell(event, view, heard.follow);
    return true;
  }

  /** Tells of the node under the pointer. @param {MouseEvent} event @param {EditorView} view @param {(id: string) => void} tell */
  tell(event, view, tell) {
    const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
    const id = at === null ? "" : this.stretchAt(at).id;
    if (id) tell(id);
  }

  get book() {
    return this.view.state.field(book);
  }

  /** The nodes drawn, by their ids. */
  get ids() {
    return this.book.nodes.map((node) => node.id);
  }

  /** One node's stretch, or the working buffer's. @param {number} place @returns {Stretch} */
  stretch(place) {
    const at = starts(this.book);
    const { id, slot } = this.book.nodes[place] ?? { id: "", slot: "" };
    return { place, id, slot, from: at[place], text: this.view.state.sliceDoc(at[place], at[place + 1]) };
  }

  /** The stretch that holds the character at a place. @param {number} at */
  stretchAt(at) {
    const edges = starts(this.book);
    let place = 0;
    while (place < edges.length - 2 && at >= edges[place + 1]) place += 1;
    return this.stretch(place);
  }

  /** The nodes that were typed into. */
  touched() {
    const { nodes, dirty } = this.book;
    return nodes.flatMap((node, place) => (dirty.has(node.slot) ? [this.stretch(place)] : []));
  }

  get tail() {
    return this.stretch(this.book.nodes.length).text;
  }

  /** Where the caret stands: between which stretches, and how far into which, in characters. */
  spot() {
    const { head } = this.view.state.selection.main;
    const last = this.book.nodes.length;
    const stretch = head === this.view.state.doc.length ? this.stretch(last) : this.stretchAt(head);
    const units = head - stretch.from;
    return { ...stretch, offset: codePoints(stretch.text.slice(0, units)), isTail: stretch.place === last };
  }

  /** Shows another path, or the same with what happened to it. @param {Leaf[]} leaves @param {string | null} tail null: as it is */
  update(leaves, tail) {
    this.view.dispatch(towards(this.view.state, leaves, tail));
  }

  /** Puts a text in the place of a node's or of the working buffer, as if it were typed.
   * @param {number} place @param {string} text */
  put(place, text) {
    const stretch = this.stretch(place);
    const { from, to, insert } = leastChange(stretch.text, text);
    if (to === from && !insert) return;
    const { doc, selection } = this.view.state;
    const isAtEnd = place === this.book.nodes.length && selection.main.empty && selection.main.head === doc.length;
    const end = doc.length - stretch.text.length + text.length;
    this.view.dispatch({ changes: { from: stretch.from + from, to: stretch.from + to, insert }, selection: isAtEnd ? { anchor: end } : undefined });
  }

  /** A node's text is kept under an id, painted as told; nothing of it waits any more.
   * @param {string} slot @param {Leaf} leaf */
  settle(slot, leaf) {
    const { nodes, pieces, dirty } = this.book;
    const place = nodes.findIndex((node) => node.slot === slot);
    if (place < 0) return;
    const { from, text } = this.stretch(place);
    const isSame = text === leaf.text;
    const still = new Set([...dirty].filter((one) => one !== slot));
    if (!isSame) still.add(leaf.slot);
    const run = leaf.by.map(([who, length]) => ({ who, length, fresh: false }));
    const renamed = nodes.map((node, at) => (at === place ? { ...node, id: leaf.id, slot: leaf.slot } : node));
    const painted = isSame ? exchanged(pieces, from, from + text.length, run) : pieces;
    this.rebind({ nodes: renamed, pieces: painted, dirty: still });
  }

  /** The working buffer becomes a node's stretch, on its way under a name of its own. @param {string} name */
  sendTail(name) {
    const { nodes, lengths } = this.book;
    this.rebind({ nodes: [...nodes, { id: "", slot: name, excluded: false, fork: false, noted: false }], lengths: [...lengths, 0] });
  }

  /** It was refused: the stretch is part of the working buffer again. @param {string} name */
  takeBack(name) {
    const { nodes, lengths } = this.book;
    const place = nodes.findIndex((node) => node.slot === name);
    if (place < 0 || place !== nodes.length - 1) return;
    const rest = lengths.slice(0, place);
    this.rebind({ nodes: nodes.slice(0, -1), lengths: [...rest, lengths[place] + lengths[place + 1]] });
  }

  /** @param {Partial<import("./document-state.js").Book>} changed */
  rebind(changed) {
    this.view.dispatch(outside(this.view.state, [], { ...this.book, ...changed }));
  }

  /** Shows what a candidate would add, or nothing. @param {import("./ghost.js").Ghost | null} now */
  haunt(now) {
    const shown = this.view.state.field(ghost);
    if (shown?.text !== now?.text || shown?.colour !== now?.colour) this.view.dispatch({ effects: haunt.of(now) });
  }

  /** @param {boolean} isRead */
  setReading(isRead) {
    setReading(this.view, isRead);
  }

  /** Puts the Markdown where its plain text was pasted. @param {import("./writing.js").Pasted} pasted @param {string} plain */
  formatPasted(pasted, plain) {
    return formatted(this.view, pasted, plain);
  }

  focus() {
    this.view.focus();
  }

  destroy() {
    this.view.destroy();
  }
}
