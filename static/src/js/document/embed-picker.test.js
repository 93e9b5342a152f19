import assert from "node:assert/strict";
import { test } from "node:test";
import { EditorState } from "@codemirror/state";
import { begun } from "./embed-picker.js";

const at = (doc, head = doc.length, anchor = head) => begun(EditorState.create({ doc, selection: { anchor, head } }));

test("what is begun behind the brackets is looked for, on its line and before the caret", () => {
  assert.deepEqual(at("One\nSee ![[her"), { from: 11, to: 14, words: "her", offers: [], at: 0 });
  assert.equal(at("![[")?.words, "");
  assert.equal(at("![[heron", 5)?.words, "he");
});

test("nothing is offered behind closed brackets, without them, or to a selection", () => {
  for (const doc of ["![[a7x2]]", "[[her", "![ [her", "![[one\ntwo"]) assert.equal(at(doc), null, doc);
  assert.equal(at("![[her", 6, 3), null);
});
