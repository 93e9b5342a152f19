import assert from "node:assert/strict";
import { test } from "node:test";
import { history, undo } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import "../testing/dom.js";
import { book, bookOf, typist, undoesBook } from "./document-state.js";

const { BufferEditor } = await import("./open.js");

test("a place that was read is found again where edits make the text shorter meanwhile", async () => {
  const writes = [];
  const view = {
    state: { doc: { length: 120 } },
    dispatch() {},
    requestMeasure: ({ write }) => writes.push(write),
    coordsAtPos: (at) => {
      if (at > view.state.doc.length) throw new RangeError(`Invalid position ${at}`);
      return { top: at };
    },
    dom: { closest: () => null },
  };
  const lacks = [];
  BufferEditor.prototype.showAt.call({ view }, 5, 10, (lack) => lacks.push(lack));
  view.state.doc.length = 80;
  for (const write of writes) write();
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(lacks, [65]);
});

/** An editor's `put` over a state, where there is no layout. */
function bookOver(texts) {
  const leaves = texts.map((text, at) => ({ id: `n${at}`, slot: `n${at}`, text, by: [["ada", text.length]] }));
  const view = { dispatch: (...changes) => (view.state = view.state.update(...changes).state) };
  view.state = EditorState.create({ doc: texts.join(""), extensions: [typist.of("me"), book.init(() => bookOf(leaves, "", "me")), history(), undoesBook] });
  const methods = Object.getOwnPropertyDescriptors(BufferEditor.prototype);
  const editor = Object.create(Object.create(null, methods), { view: { value: view } });
  const now = () => [...texts, ""].map((_, at) => editor.stretch(at).text);
  return { editor, view, now };
}

test("a text that is put in the place of a node is that node's, wherever it differs", () => {
  for (const [place, text] of [[1, "X Two."], [1, ""], [2, " Three. And more."]]) {
    const { editor, view, now } = bookOver(["One.", " Two.", " Three."]);
    const before = now();
    editor.put(place, text);
    assert.deepEqual(now(), before.with(place, text));
    assert.deepEqual([...editor.book.dirty], [`n${place}`]);
    editor.put(place, before[place]);
    assert.deepEqual(now(), before);
    undo(view);
    assert.deepEqual(now(), before); // both were one step of typing
  }
});
