// @ts-check
// The state behind the text: its nodes in order, where each ends, and whose each character is.

import { invertedEffects } from "@codemirror/commands";
import { Facet, StateEffect, StateField, Transaction } from "@codemirror/state";
import { cut, cutter, joined, leastChange, repainted, stretched } from "./runs.js";

/** @typedef {import("./runs.js").Piece} Piece */
/** @typedef {{id: string, slot: string, text: string, by: [string, number][], at?: string, wordings?: string[] | null, older?: boolean, excluded?: boolean, pruned?: boolean, fork?: boolean, noted?: boolean, ask?: boolean}} Leaf a node as the server tells it; `wordings`: the versions above that it was written or read below, null for all, left out where nobody asked; `older`: another one is above it */
/** @typedef {{id: string, slot: string, excluded: boolean, pruned?: boolean, older?: boolean, fork: boolean, noted: boolean, ask?: boolean}} Bound a node of which only the place is known here */
/** @typedef {{nodes: Bound[], lengths: number[], pieces: Piece[], dirty: Set<string>}} Book dirty: slots whose text was touched */
/** @typedef {import("@codemirror/state").EditorState} EditorState */
/** @typedef {import("@codemirror/view").EditorView} EditorView */

/** The participant who types. @type {Facet<string, string>} */
export const typist = Facet.define({ combine: (values) => values[0] ?? "" });
/** @type {import("@codemirror/state").StateEffectType<Book>} */
export const rebound = StateEffect.define();

/** The book as it was before a change, for when that is undone: a text that is deleted over several
 * nodes comes back into each, and with its authors. It means nothing once the text is another. */
const restored = /** @type {import("@codemirror/state").StateEffectType<Book>} */ (/** @type {unknown} */ (StateEffect.define({ map: () => undefined })));

export const undoesBook = invertedEffects.of((change) => (change.docChanged ? [restored.of(change.startState.field(book))] : []));

/** Whether a book is of this text and these nodes. @param {Book} was @param {Book} now @param {number} length */
function fits(was, now, length) {
  const isSame = was.nodes.length === now.nodes.length && was.nodes.every((node, place) => node.id === now.nodes[place].id && node.slot === now.nodes[place].slot);
  return isSame && was.lengths.reduce((sum, part) => sum + part, 0) === length;
}

const EMPTY = /** @type {Book} */ ({ nodes: [], lengths: [0], pieces: [], dirty: new Set() });

/** @type {StateField<Book>} */
export const book = StateField.define({
  create: () => EMPTY,
  update(value, change) {
    for (const effect of change.effects) if (effect.is(rebound)) return effect.value;
    if (!change.docChanged) return value;
    for (const effect of change.effects) {
      if (effect.is(restored) && fits(effect.value, value, change.newDoc.length)) return { ...effect.value, nodes: value.nodes };
    }
    const changes = /** @type {import("./runs.js").Change[]} */ ([]);
    change.changes.iterChanges((from, to, start, end) => changes.push({ from, to, length: end - start }));
    const { lengths, touched } = stretched(value.lengths, changes);
    const dirty = new Set(value.dirty);
    for (const place of touched) if (place < value.nodes.length) dirty.add(value.nodes[place].slot);
    return { ...value, lengths, dirty, pieces: repainted(value.pieces, changes, change.state.facet(typist)) };
  },
});

/** Where each stretch begins; the last is the working buffer's, and the end of the text follows.
 * @param {Book} of */
export function starts({ lengths }) {
  const known = begun.get(lengths);
  if (known) return known;
  const places = new Array(lengths.length + 1);
  places[0] = 0;
  for (let place = 0; place < lengths.length; place += 1) places[place + 1] = places[place] + lengths[place];
  begun.set(lengths, places);
  return places;
}

/** A key asks several times where the stretches of a long text begin. @type {WeakMap<number[], number[]>} */
const begun = new WeakMap();

/** @param {Leaf} leaf */
const bound = ({ id, slot, excluded = false, pruned = false, older = false, fork = false, noted = false, ask = false }) => ({ id, slot, excluded, pruned, older, fork, noted, ask });
/** @param {[string, number][]} by @returns {Piece[]} */
const settled = (by) => by.map(([who, length]) => ({ who, length, fresh: false }));

/** A book of these nodes, and the pieces of a working buffer behind them. @param {Leaf[]} leaves @param {string} tail @param {string} me @returns {Book} */
export function bookOf(leaves, tail, me) {
  return {
    nodes: leaves.map(bound),
    lengths: [...leaves.map((leaf) => leaf.text.length), tail.length],
    pieces: joined([...leaves.map((leaf) => settled(leaf.by)), [{ who: me, length: tail.length, fresh: true }]]),
    dirty: new Set(),
  };
}

/**
 * The change that makes the text be these nodes and this working buffer (null: the one there
 * is). What is the same stays, with the caret in it; nodes with typed changes keep those.
 * @param {EditorState} state @param {Leaf[]} leaves @param {string | null} tail
 * @param {Set<string>} [stored] slots whose typed changes are stored elsewhere by now: they are as they are told
 */
export function towards(state, leaves, tail, stored = new Set()) {
  const old = state.field(book);
  const at = starts(old);
  const [head, foot] = shared(old.nodes, leaves);
  const changes = [];
  const lengths = [];
  const runs = [];
  const dirty = new Set();
  const painted = cutter(old.pieces);
  const keep = (/** @type {number} */ was, /** @type {Leaf} */ leaf) => {
    const { id, slot } = old.nodes[was];
    const isDirty = old.dirty.has(slot) && !stored.has(slot);
    if ((id === leaf.id && !stored.has(slot)) || isDirty) {
      if (isDirty) dirty.add(slot);
      lengths.push(old.lengths[was]);
      runs.push(painted(at[was], at[was + 1]));
      return;
    }
    const { from, to, insert } = leastChange(state.sliceDoc(at[was], at[was + 1]), leaf.text);
    if (to > from || insert) changes.push({ from: at[was] + from, to: at[was] + to, insert });
    lengths.push(leaf.text.length);
    runs.push(settled(leaf.by));
  };
  const last = old.nodes.length;
  for (let place = 0; place < head; place += 1) keep(place, leaves[place]);
  const fresh = leaves.slice(head, leaves.length - foot);
  // A text that was split begins as it did: a caret in what stays has not moved.
  const middle = leastChange(state.sliceDoc(at[head], at[last - foot]), fresh.map((leaf) => leaf.text).join(""));
  if (middle.insert || middle.to > middle.from) changes.push({ ...middle, from: at[head] + middle.from, to: at[head] + middle.to });
  for (const leaf of fresh) {
    lengths.push(leaf.text.length);
    runs.push(settled(leaf.by));
  }
  for (let place = foot; place > 0; place -= 1) keep(last - place, leaves[leaves.length - place]);
  const before = state.sliceDoc(at[last]);
  const buffer = leastChange(before, tail ?? before);
  if (buffer.to > buffer.from || buffer.insert) changes.push({ ...buffer, from: at[last] + buffer.from, to: at[last] + buffer.to });
  const kept = tail ?? before;
  runs.push([{ who: state.facet(typist), length: kept.length, fresh: true }]);
  // What was typed is upon the wording that was seen: its id says so when it is saved.
  const seen = new Map(old.nodes.flatMap(({ slot, id }) => (dirty.has(slot) ? [[slot, id]] : [])));
  const nodes = leaves.map((leaf) => ({ ...bound(leaf), id: seen.get(leaf.slot) ?? leaf.id }));
  return outside(state, changes, { nodes, lengths: [...lengths, kept.length], pieces: joined(runs), dirty });
}

/** How many slots are the same at both ends. @param {Bound[]} before @param {Leaf[]} now */
function shared(before, now) {
  const most = Math.min(before.length, now.length);
  let head = 0;
  while (head < most && before[head].slot === now[head].slot) head += 1;
  let foot = 0;
  while (foot < most - head && before[before.length - 1 - foot].slot === now[now.length - 1 - foot].slot) foot += 1;
  return [head, foot];
}

/** A change that is nobody's typing: not to be undone here; a caret at the end stays there.
 * @param {EditorState} state @param {{from: number, to: number, insert: string}[]} changes @param {Book} next */
export function outside(state, changes, next) {
  const main = state.selection.main;
  const isAtEnd = main.empty && main.head === state.doc.length;
  const end = next.lengths.reduce((sum, length) => sum + length, 0);
  return {
    changes,
    effects: rebound.of(next),
    selection: isAtEnd && changes.length ? { anchor: end } : undefined,
    annotations: [Transaction.addToHistory.of(false), Transaction.remote.of(true)],
  };
}

/** The pieces with one stretch of them exchanged. @param {Piece[]} pieces @param {number} from @param {number} to @param {Piece[]} run */
export function exchanged(pieces, from, to, run) {
  return joined([cut(pieces, 0, from), run, cut(pieces, to, Infinity)]);
}
