// @ts-check
// The editor of a buffer: CodeMirror over a book, and what the page may do with it.

import { history, historyField, isolateHistory, redo, redoDepth, standardKeymap, undo, undoDepth } from "@codemirror/commands";
import { Compartment, EditorSelection, EditorState, Prec, Transaction } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { book, bookOf, exchanged, outside, rebound, starts, towards, typist, undoesBook } from "./document-state.js";
import { comments, commentsAre, noteAt, placeOfNote } from "./comments.js";
import { openSearch, replacedAll } from "./finding.js";
import { ghost, ghostKeys, haunt, reached } from "./ghost.js";
import { painter } from "./paint.js";
import { Dropped } from "./dropped.js";
import { passage, saidAt, thread, threadAt } from "./passage.js";
import { newKey } from "../live/outbox.js";
import { codePoints, cut, joined, leastChange, repainted } from "./runs.js";
import { directions } from "./styling.js";
import { formatted, setReading, writing } from "./writing.js";

/** @typedef {import("./document-state.js").Leaf} Leaf */
/**
 * `typed`: the text has changed by the person's hand, isTurned: by undo or redo; `placed`: the caret is elsewhere;
 * `reached`: whether the caret is at the ghost may be another; `isComing`: a candidate is;
 * `follow`: go to this node; `undo`, `redo`: of what was done; `isTypedLast`, `isTypingNext`: whether undo, redo is of typing; `untake`: undo, with so much typed
 * that is left: whether that meant something else;
 * `continue`, `save`: the keys for it; `take`, `pick`: at a ghost; `still`: changes what is drawn while what is read stays.
 * @typedef {{typed: (isTurned: boolean) => void, placed: () => void, pointed: (id: string) => void, follow: (id: string) => void, untake: (depth: number) => boolean, isTypedLast: (now: import("../tree/undo.js").Mark) => boolean, isTypingNext: (now: import("../tree/undo.js").Mark) => boolean, undo: () => void, redo: () => void, continue: () => void, save: () => void, take: () => void, pick: (step: number) => void, pasted: (pasted: import("./writing.js").Pasted) => void, isComing: () => boolean, reached: () => void, still: (change: () => void) => void}} Heard
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

/** The keys of undo and redo: what was typed and what was done, in the order of time.
 * @param {Heard} heard @param {() => import("../tree/undo.js").Mark} mark */
function historyKeys(heard, mark) {
  const back = (/** @type {EditorView} */ view) => {
    const now = mark();
    if (heard.untake(now.typed)) return true;
    if (!heard.isTypedLast(now) || !undo(view)) heard.undo();
    return true;
  };
  const again = (/** @type {EditorView} */ view) => {
    if (!heard.isTypingNext(mark()) || !redo(view)) heard.redo();
    return true;
  };
  // Under Caps Lock, Shift with Z is a small z, which a keymap looks up as if Shift were not held.
  const isAgain = (/** @type {KeyboardEvent} */ { key, shiftKey, altKey, ctrlKey, metaKey }) => key === "z" && shiftKey && !altKey && ctrlKey !== metaKey;
  return [
    Prec.high(EditorView.domEventHandlers({ keydown: (event, view) => isAgain(event) && again(view) })),
    keymap.of([
      { key: "Mod-z", run: back, preventDefault: true },
      { key: "Mod-y", mac: "Mod-Shift-z", run: again, preventDefault: true },
      { key: "Mod-Shift-z", run: again, preventDefault: true },
    ]),
  ];
}

const MOST_PASTS = 50;

/** What is typed behind the nodes. @param {EditorState} state */
const tailOf = (state) => state.sliceDoc(starts(state.field(book)).at(-2) ?? 0);

/** What the last change replaced in the whole text; null where it was another one.
 * @param {import("@codemirror/view").ViewUpdate} update */
function replacedIn({ transactions }) {
  const last = transactions.filter((transaction) => transaction.docChanged).at(-1);
  const what = last?.annotation(replacedAll);
  return last && what ? { ...what, tail: tailOf(last.startState), tailNow: tailOf(last.state) } : null;
}

export class BufferEditor {
  past = new Compartment();
  /** what was replaced in the whole text, where nothing was typed since; `tail`, `tailNow`: what is typed behind the nodes, before
   * and after @type {{query: string, text: string, tail: string, tailNow: string} | null} */
  replaced = null;
  /** which history of typing this is: another one since what was typed was saved, or at another place */
  history = newKey();
  /** how much could be undone when it was taken up again */
  joined = 0;
  dropped = new Dropped();
  /** @type {Map<string, {doc: import("@codemirror/state").Text, nodes: string, value: unknown, history: string}>} what can be undone at other places */
  pasts = new Map();

  /** @param {Settings} settings */
  constructor({ parent, nonce, me, cast, label, asks, heard, leaves, tail }) {
    const doc = leaves.map((leaf) => leaf.text).join("") + tail;
    this.still = heard.still;
    const run = (/** @type {() => void} */ action) => () => (action(), true);
    const state = EditorState.create({
      doc,
      selection: EditorSelection.cursor(doc.length),
      extensions: [
        // Only LF ends a line: CR is an ordinary character, and the text stays as it is.
        EditorState.lineSeparator.of("\n"),
        EditorView.cspNonce.of(nonce),
        EditorView.lineWrapping,
        LOOK,
        directions,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true", autocapitalize: "sentences", autocorrect: "on" }),
        placeholder(asks),
        typist.of(me),
        book.init(() => bookOf(leaves, tail, me)),
        ghost,
        passage,
        thread,
        painter(cast),
        comments,
        this.past.of(history()),
        undoesBook,
        writing(heard.pasted),
        ghostKeys(heard),
        historyKeys(heard, () => this.markNow()),
        keymap.of([
          { key: "Ctrl-Space", run: run(heard.continue) },
          { key: "Mod-s", run: run(heard.save) },
          ...standardKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          const isTyped = update.transactions.some((transaction) => transaction.docChanged && !transaction.annotation(Transaction.remote));
          const isTurned = update.transactions.some((transaction) => transaction.isUserEvent("undo") || transaction.isUserEvent("redo"));
          if (isTyped) this.replaced = replacedIn(update);
          if (isTyped) heard.typed(isTurned);
          if (update.selectionSet || isTyped) heard.placed();
          if (update.selectionSet || update.focusChanged || update.docChanged) heard.reached();
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

  /** The stretches of which characters are between two places. @param {number} from @param {number} to */
  stretchesIn(from, to) {
    const all = this.book.nodes.map((_, place) => this.stretch(place));
    return all.filter((stretch) => stretch.from < to && stretch.from + stretch.text.length > from);
  }

  /** The nodes that are drawn now and were not typed into. */
  seen() {
    const { nodes, dirty } = this.book;
    const { from, to } = this.view.viewport;
    const at = starts(this.book);
    const touched = [];
    for (let place = 0; place < nodes.length && at[place] < to; place += 1) if (at[place + 1] > from && !dirty.has(nodes[place].slot)) touched.push(this.stretch(place));
    return touched;
  }

  /** Where pieces of the text are drawn that follow each other from a place on, null for those that
   * are not. @param {number} start @param {string[]} pieces @returns {(Range | null)[]} */
  rangesOf(start, pieces) {
    const { view } = this;
    const { from, to } = view.viewport;
    let at = start;
    return pieces.map((piece) => {
      const [first, last] = [at, (at += piece.length)];
      if (first < from || last > to || first === last) return null;
      const range = document.createRange();
      const [head, tail] = [view.domAtPos(first), view.domAtPos(last)];
      range.setStart(head.node, head.offset);
      range.setEnd(tail.node, tail.offset);
      return range;
    });
  }

  /** The nodes that were typed into. */
  touched() {
    const { nodes, dirty } = this.book;
    const stretches = [];
    for (let place = 0; stretches.length < dirty.size && place < nodes.length; place += 1) if (dirty.has(nodes[place].slot)) stretches.push(this.stretch(place));
    return stretches;
  }

  /** Whether the keys of the ghost work: it is shown, and the caret is at it. */
  get isAtGhost() {
    return this.view.hasFocus && reached(this.view) !== null;
  }

  /** Whether a ghost is shown and the caret is at it, with the focus or without. */
  get isAtEnd() {
    return reached(this.view) !== null;
  }

  get tail() {
    return this.stretch(this.book.nodes.length).text;
  }

  /** Where the caret is: between which runs, and how far into which, in characters. */
  spot() {
    const { head } = this.view.state.selection.main;
    const last = this.book.nodes.length;
    const stretch = head === this.view.state.doc.length ? this.stretch(last) : this.stretchAt(head);
    const units = head - stretch.from;
    return { ...stretch, offset: codePoints(stretch.text.slice(0, units)), isTail: stretch.place === last };
  }

  /** Begins a new step of what can be undone; how many there are. */
  step() {
    this.view.dispatch({ annotations: isolateHistory.of("full") });
    return undoDepth(this.view.state);
  }

  /** How much of this history can be undone and redone; what is typed from now on is a step of its own. */
  mark() {
    this.step();
    return this.markNow();
  }

  /** Undoes the last step of typing. */
  untype() {
    return undo(this.view);
  }

  /** Repeats the last step of typing that was undone. */
  retype() {
    return redo(this.view);
  }

  markNow() {
    const { state } = this.view;
    return { history: this.history, typed: undoDepth(state), undone: redoDepth(state), joined: this.joined };
  }

  /** What was typed so far is kept elsewhere by now, and is not undone here. */
  cutPast() {
    this.recall(undefined);
  }

  /** Shows the path of another place: what was typed here can be undone when it is shown again.
   * @param {string} from @param {string} to @param {() => void} draw */
  turn(from, to, draw) {
    const here = this.pastNow();
    this.pasts.delete(from);
    this.pasts.set(from, here);
    if (this.pasts.size > MOST_PASTS) this.pasts.delete([...this.pasts.keys()][0]);
    draw();
    const there = this.pasts.get(to);
    const now = this.pastNow();
    const isSame = there?.doc.eq(now.doc) && there.nodes === now.nodes;
    this.recall(isSame ? there?.value : undefined);
    if (!there || !isSame) return;
    this.history = there.history;
    this.joined = undoDepth(this.view.state);
  }

  pastNow() {
    const { state } = this.view;
    return { doc: state.doc, nodes: this.ids.join(), value: state.field(historyField, false), history: this.history };
  }

  /** @param {unknown} value of the field that holds what can be undone; none: nothing can */
  recall(value) {
    const { past, view } = this;
    this.history = newKey();
    this.joined = 0;
    view.dispatch({ effects: past.reconfigure([]) });
    view.dispatch({ effects: past.reconfigure(value === undefined ? history() : [history(), historyField.init(() => value)]) });
  }

  /** Shows another path, or the same with what happened to it. @param {Leaf[]} leaves @param {string | null} tail null: as it is
   * @param {Set<string>} [stored] slots whose typed changes are stored elsewhere */
  update(leaves, tail, stored) {
    this.view.dispatch(towards(this.view.state, leaves, tail, stored));
  }

  /** Goes on with what was typed in nodes that are drawn anew, under the caret. @param {{id: string, text: string}[]} typed @param {number} head */
  typeOn(typed, head) {
    for (const { id, text } of typed) this.put(this.ids.indexOf(id), text);
    this.view.dispatch({ selection: EditorSelection.cursor(Math.min(head, this.view.state.doc.length)) });
  }

  /** Whether the caret is at the end of the text. */
  get isCaretLast() {
    return this.head === this.view.state.doc.length;
  }

  /** Where the caret is. */
  get head() {
    return this.view.state.selection.main.head;
  }

  /** The whole text. */
  get text() {
    return this.view.state.doc.toString();
  }

  /** Puts the caret at a place of the text, and shows that. @param {number} at @param {"nearest" | "center"} [where] */
  showPlace(at, where = "nearest") {
    this.view.dispatch({ selection: EditorSelection.cursor(at), effects: EditorView.scrollIntoView(at, { y: where, yMargin: 80 }) });
  }

  /** Puts the caret where something was typed in a node, and shows that. @param {string} slot */
  reveal(slot) {
    const place = this.book.nodes.findIndex((node) => node.slot === slot);
    if (place < 0) return;
    const { from, text } = this.stretch(place);
    this.showPlace(this.typedAt(from, from + text.length), "center");
    this.focus();
  }

  /** Puts a text in the place of the working buffer; that is not undone by a key. @param {string} text */
  putTail(text) {
    const { nodes, lengths, pieces, dirty } = this.book;
    const { from, text: was } = this.stretch(nodes.length);
    const kept = cut(pieces, 0, from);
    const next = { nodes, dirty, lengths: [...lengths.slice(0, -1), text.length], pieces: joined([kept, [{ who: this.view.state.facet(typist), length: text.length, fresh: true }]]) };
    this.view.dispatch(outside(this.view.state, was === text ? [] : [{ from, to: from + was.length, insert: text }], next));
  }

  /** Puts the caret at the end of the text. */
  toEnd() {
    this.view.dispatch({ selection: EditorSelection.cursor(this.view.state.doc.length) });
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
    // What is typed between two nodes goes to the one before: this is of the place, though it was empty or begins there.
    const change = { from: stretch.from + from, to: stretch.from + to, insert };
    const { nodes, lengths, pieces, dirty } = this.book;
    const painted = repainted(pieces, [{ ...change, length: insert.length }], this.view.state.facet(typist));
    const next = {
      nodes,
      lengths: lengths.map((length, at) => (at === place ? text.length : length)),
      pieces: painted,
      dirty: place < nodes.length ? new Set([...dirty, stretch.slot]) : dirty,
    };
    this.view.dispatch({ changes: change, effects: rebound.of(next), selection: isAtEnd ? { anchor: end } : undefined });
  }

  /** A node's text is kept under an id, painted as told; nothing of it waits any more.
   * @param {string} slot @param {Leaf} leaf */
  settle(slot, leaf) {
    const { nodes, pieces, dirty } = this.book;
    const place = nodes.findIndex((node) => node.slot === slot);
    if (place < 0) return;
    const { from, text } = this.stretch(place);
    const isSame = text === leaf.text;
    const still = new Set([...dirty].filter((other) => other !== slot));
    if (!isSame) still.add(leaf.slot);
    const run = leaf.by.map(([who, length]) => ({ who, length, fresh: false }));
    const renamed = nodes.map((node, at) => (at === place ? { ...node, id: leaf.id, slot: leaf.slot } : node));
    const painted = isSame ? exchanged(pieces, from, from + text.length, run) : pieces;
    if (nodes[place].id && leaf.id !== nodes[place].id) this.cutPast();
    this.rebind({ nodes: renamed, pieces: painted, dirty: still });
  }

  /** The working buffer becomes a node's stretch, on its way under a name of its own. @param {string} name */
  sendTail(name) {
    const { nodes, lengths } = this.book;
    this.cutPast();
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

  /** Shows something below the line of the caret where that is in a node's stretch, else below
   * what was typed there; null: takes it away. @param {HTMLElement | null} element @param {string} [slot] */
  sayAt(element, slot = "") {
    const place = this.book.nodes.findIndex((node) => node.slot === slot);
    if (!element || place < 0) return this.view.dispatch({ effects: saidAt.of(null) });
    const { from, text } = this.stretch(place);
    const { head } = this.view.state.selection.main;
    const isInside = head >= from && head <= from + text.length;
    this.view.dispatch({ effects: saidAt.of({ element, at: isInside ? head : this.typedAt(from, from + text.length) }) });
  }

  /** Where the last characters end that were typed in a stretch; its end where none were.
   * @param {number} from @param {number} to */
  typedAt(from, to) {
    let [at, end] = [from, to];
    for (const piece of cut(this.book.pieces, from, to)) {
      at += piece.length;
      if (piece.fresh) end = at;
    }
    return end;
  }

  /** Shows what a candidate would add, or nothing. @param {import("./ghost.js").Ghost | null} now */
  haunt(now) {
    const shown = this.view.state.field(ghost);
    if (shown?.text === now?.text && shown?.colour === now?.colour) return;
    this.still(() => this.view.dispatch({ effects: haunt.of(now) }));
  }

  /** Makes the lines as high as they are drawn, where that was still estimated. */
  measure() {
    this.view.requestMeasure();
    this.view.elementAtHeight(0); // reads the layout, so that it is measured now
  }

  /** The character that is read: the caret's where its line is seen in a room, else the first
   * from a height on. @param {{top: number, bottom: number}} room @param {number} from */
  readAt({ top, bottom }, from) {
    const { view } = this;
    const { head } = view.state.selection.main;
    const caret = view.hasFocus ? view.coordsAtPos(head) : null;
    if (caret && caret.top >= top && caret.bottom <= bottom) return head;
    const { left, top: first } = view.contentDOM.getBoundingClientRect();
    return view.posAtCoords({ x: left + 1, y: Math.max(from, first) + 1 }, false);
  }

  /** Where the line of a character is drawn, or would be by what is known of the lines above.
   * @param {number} at */
  lineOf(at) {
    const { view } = this;
    const place = Math.min(at, view.state.doc.length);
    const { top, bottom } = view.lineBlockAt(place);
    return view.coordsAtPos(place, 1) ?? { top: view.documentTop + top, bottom: view.documentTop + bottom };
  }

  /** Scrolls so that a place of the text is this far below the top of what scrolls.
   * @param {number} fromEnd characters @param {number} top
   * @param {(lacks: number) => void} done told how much further it should be scrolled: the text may end before */
  showAt(fromEnd, top, done) {
    const { view } = this;
    // Edits that were kept may make the text shorter before it is measured.
    const at = () => Math.max(0, view.state.doc.length - fromEnd);
    view.dispatch({ effects: EditorView.scrollIntoView(at(), { y: "start", yMargin: top }) });
    view.requestMeasure({
      read: () => null,
      write: () => queueMicrotask(() => {
        const drawn = view.coordsAtPos(at());
        const from = view.dom.closest("main")?.getBoundingClientRect().top ?? 0;
        if (drawn) done(drawn.top - from - top);
      }),
    });
  }

  /** @param {boolean} isRead */
  setReading(isRead) {
    setReading(this.view, isRead);
  }

  /** Puts the Markdown where its plain text was pasted. @param {import("./writing.js").Pasted} pasted @param {string} plain */
  formatPasted(pasted, plain) {
    return formatted(this.view, pasted, plain);
  }

  /** Puts a text in lines of its own where the caret is, or where the pointer dropped it, as if it
   * had been typed. @param {string} text @param {Event} event */
  putAt(text, event) {
    this.dropped.put(this.view, text, event);
  }

  /** Marks the words that notes are about. @param {import("./comments.js").Comments} all by the id of their text */
  comment(all) {
    this.view.dispatch({ effects: commentsAre.of(all) });
  }

  /** Selects the words that a note is about; false where they are not in this text. @param {string} note */
  showNote(note) {
    const place = placeOfNote(this.view.state, note);
    if (!place) return false;
    this.view.dispatch({ selection: { anchor: place.from, head: place.to }, effects: EditorView.scrollIntoView(place.from, { y: "center" }) });
    this.view.focus();
    return true;
  }

  /** Whether the words of a note are in this text. @param {string} note */
  hasNote(note) {
    return placeOfNote(this.view.state, note) !== null;
  }

  /** Shows the thread of a note below its words; null: takes it away.
   * @param {HTMLElement | null} element @param {string} [note] */
  showThread(element, note = "") {
    const place = element && placeOfNote(this.view.state, note);
    this.view.dispatch({ effects: threadAt.of(element && place ? { element, at: place.to } : null) });
  }

  /** The note on the words at the caret, and the id of their text; null: there is none. */
  noteHere() {
    const note = noteAt(this.view.state, this.view.state.selection.main.head);
    return note && { note: note.note, id: this.stretchAt(note.from).id };
  }

  /** Opens what finds in the text. */
  find() {
    openSearch(this.view);
  }

  focus() {
    this.view.focus();
  }

  destroy() {
    this.view.destroy();
  }
}
