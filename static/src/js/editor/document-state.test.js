import assert from "node:assert/strict";
import { test } from "node:test";
import { history, redo, undo, undoDepth } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { book, bookOf, outside, starts, towards, typist, undoesBook } from "./document-state.js";

/** Numbers that look random and are the same in each run. @param {number} seed */
function dice(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  return (/** @type {number} */ below) => Math.floor(next() * below);
}

const WORDS = ["a", " the", "\n\n", "😀", "é", "שלום", " rain.", "\r", "👩‍👩‍👧"];
let named = 0;
const leafOf = (text, who = "model") => ({ id: `v${(named += 1)}`, slot: `s${named}`, text, by: text ? [[who, text.length]] : [] });

/** An editor without a view over some nodes. */
function opened(leaves, tail = "") {
  const view = {
    leaves,
    state: EditorState.create({
      doc: leaves.map((leaf) => leaf.text).join("") + tail,
      extensions: [EditorState.lineSeparator.of("\n"), typist.of("me"), book.init(() => bookOf(leaves, tail, "me")), history(), undoesBook],
    }),
    dispatch: (change) => (view.state = change.state),
    run: (command) => command({ state: view.state, dispatch: view.dispatch }),
    change: (spec) => (view.state = view.state.update(spec).state),
  };
  return view;
}

const told = ({ state }) => {
  const of = state.field(book);
  const at = starts(of);
  return { texts: of.lengths.map((_, place) => state.sliceDoc(at[place], at[place + 1])), pieces: of.pieces };
};

function check({ state }) {
  const { lengths, pieces } = state.field(book);
  const sum = (all) => all.reduce((total, part) => total + part, 0);
  assert.equal(sum(lengths), state.doc.length, "the nodes and the buffer are the text");
  assert.equal(sum(pieces.map((piece) => piece.length)), state.doc.length, "each character has an author");
  assert.ok(lengths.every((length) => length >= 0));
}

test("what is deleted over several nodes comes back into each, with its authors", () => {
  const view = opened([leafOf("The house"), leafOf(" stood", "other"), leafOf(" empty.")], " Now");
  const before = told(view);
  view.change({ changes: { from: 4, to: 18, insert: "X" }, userEvent: "input.type" });
  assert.notDeepEqual(told(view).texts, before.texts);
  view.run(undo);
  assert.deepEqual(told(view), before);
  assert.equal(view.state.field(book).dirty.size, 0);
});

test("random scripts of typing, undo and redo lose nothing", () => {
  for (let seed = 1; seed <= 150; seed += 1) {
    const roll = dice(seed);
    const words = () => Array.from({ length: roll(4) }, () => WORDS[roll(WORDS.length)]).join("");
    const view = opened(Array.from({ length: roll(5) }, () => leafOf(words())), words());
    for (let step = 0; step < 40; step += 1) {
      const { doc } = view.state;
      const before = told(view);
      const kind = roll(10);
      if (kind < 5) {
        const from = roll(doc.length + 1);
        const to = roll(3) ? from : Math.min(doc.length, from + roll(12));
        view.change({ changes: { from, to, insert: words() }, userEvent: "input.type" });
      } else if (kind < 7) {
        if (view.run(undo)) {
          check(view);
          assert.ok(view.run(redo), `seed ${seed}: what was undone can be done again`);
          assert.deepEqual(told(view), before, `seed ${seed}: redo after undo changes nothing`);
          view.run(undo);
        }
      } else if (kind < 8) view.run(redo);
      else if (kind < 9) {
        // Somebody else's version of a node comes, or another node.
        const at = roll(view.leaves.length + 1);
        view.leaves = [...view.leaves.slice(0, at), leafOf(words()), ...view.leaves.slice(at)];
        const touched = view.state.field(book).dirty;
        const typed = told(view).texts.filter((_, place) => touched.has(view.state.field(book).nodes[place]?.slot));
        view.change(towards(view.state, view.leaves, null));
        const now = told(view).texts;
        for (const text of typed) assert.ok(now.includes(text), `seed ${seed}: what was typed in a node stays`);
        assert.equal(now.at(-1), before.texts.at(-1), `seed ${seed}: the working buffer stays`);
      } else {
        const depth = undoDepth(view.state);
        view.change(outside(view.state, [], { ...view.state.field(book) }));
        assert.equal(undoDepth(view.state), depth);
      }
      check(view);
    }
  }
});

test("a caret at the end of the first half of a split stays there, and what follows it goes", () => {
  const [first, second] = [leafOf("One. "), leafOf("Two and three. ")];
  const view = opened([first, second, leafOf("Four.")]);
  const at = "One. Two".length;
  view.change({ selection: { anchor: at } });
  view.change(towards(view.state, [first, leafOf("Two")], null));
  assert.equal(view.state.doc.toString(), "One. Two");
  assert.equal(view.state.selection.main.head, at);
  view.change(towards(view.state, [first, second, leafOf("Four.")], null));
  assert.equal(view.state.selection.main.head, view.state.doc.length, "a caret at the end stays at the end");
  check(view);
});

test("a long path is shown again by looking at each of its nodes a few times", () => {
  let looks = 0;
  const watched = (leaf) => ({ ...leaf, get slot() { looks += 1; return leaf.id; }, get by() { looks += 1; return leaf.text ? [[leaf.id, leaf.text.length]] : []; } });
  const leaves = Array.from({ length: 400 }, () => watched(leafOf("a word ")));
  const it = opened(leaves);
  it.change({ changes: { from: 3, insert: "x" } });
  looks = 0;
  it.change(towards(it.state, leaves, null));
  assert.ok(looks < 10 * leaves.length, `${looks} looks`);
  check(it);
});
