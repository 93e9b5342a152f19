import assert from "node:assert/strict";
import test from "node:test";
import { statusText } from "./status-text.js";

test("an edit is reported as a version or as a branch", () => {
  assert.equal(statusText("edit", "created version [a7x2] from [b3k9]"), "Saved as a new version");
  assert.equal(statusText("accept", "[a7x2] marked as read below [b3k9]"), "Marked as read");
  assert.equal(statusText("replace", "created version [a7x2] from [b3k9]"), "Saved as a new version");
  assert.equal(statusText("edit", "created branch [a7x2] from [b3k9]"), "Saved as a new branch");
});

test("a reply without plain words of its own is shown as it is", () => {
  assert.equal(statusText("think", "thought [a7x2]"), "");
  assert.equal(statusText("prune", "pruned [a7x2]"), "Pruned");
});

test("what is opened says whether it stays", () => {
  assert.equal(statusText("open", "opened #4 [a7x2] line 1"), "Opened in a window");
  assert.equal(statusText("open", "opened #4 [a7x2] line 1 · keep\n  +26 tokens"), "Pinned beside the text");
});

test("an undo says what it took back", () => {
  assert.equal(statusText("undo", "undid → respond a7x2 …"), "Undone: new text");
  assert.equal(statusText("redo", "redid → tag a7x2 #good"), "Redone: tag");
  assert.equal(statusText("undo", "undid → tag a7x2 #a\n✓ undid → prune b3k9"), "Undone: 2 changes");
  assert.equal(statusText("undo", "✓ undid [k1a2], the answer of Nestor\n✓ undid → tag a7x2 #a"), "Undone: the turn of Nestor");
  assert.equal(statusText("undo", "undid changed the memory"), "Undone: what models are sent of this tree");
});

test("an undo of rights says whose they are", () => {
  assert.equal(statusText("undo", '✓ undid → allow "Wanda" usual'), "Undone: rights of Wanda");
  assert.equal(statusText("redo", '✓ redid → allow "Ann \\"A\\" B" comment'), 'Redone: rights of Ann "A" B');
  assert.equal(statusText("undo", "undid → allow readers hidden"), "Undone: rights of all readers");
  assert.equal(statusText("undo", "undid → allow writers read"), "Undone: rights of all writers");
});

test("a task of a text is said to be done or open", () => {
  assert.equal(statusText("todo", "checked 1 of [v9g6]"), "Task done");
  assert.equal(statusText("todo", "unchecked 1 of [v9g6]"), "Task open again");
  assert.equal(statusText("todo", "noted on 2 of [v9g6] (checked)"), "Note added");
  assert.equal(statusText("todo", "added 3"), "");
});
