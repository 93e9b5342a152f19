import assert from "node:assert/strict";
import test from "node:test";
import { didText, statusText } from "./status-text.js";

test("an edit is reported as a version or as a branch", () => {
  assert.equal(statusText("edit", { saved_as: "version" }), "Saved as a new version");
  assert.equal(statusText("accept", { accepted: "as read" }), "Marked as read");
  assert.equal(statusText("replace", { saved_as: "version" }), "Saved as a new version");
  assert.equal(statusText("edit", { saved_as: "branch" }), "Saved as a new branch");
});

test("what has no plain words of its own is shown by its reply", () => {
  assert.equal(statusText("think"), "");
  assert.equal(statusText("prune"), "Pruned");
});

test("what is opened says whether it stays", () => {
  assert.equal(statusText("open", { kept: false }), "Opened in a window");
  assert.equal(statusText("open", { kept: true }), "Pinned beside the text");
});

test("evidence says how strong it is, and why its words are not what was quoted", () => {
  assert.equal(statusText("cite", { evidence: "moderate", quote: "found" }), "Evidence added: moderate");
  assert.equal(statusText("cite", { evidence: "weak", quote: "elsewhere" }), "Evidence added: weak, these words are in another text");
  assert.equal(statusText("claim", { claim: "a7x2", evidence: "weak", quote: "" }), "Claim opened");
});

test("an undo says what it took back", () => {
  assert.equal(statusText("undo", { undone: [{ verb: "respond" }] }), "Undone: new text");
  assert.equal(statusText("redo", { undone: [{ verb: "tag" }] }), "Redone: tag");
  assert.equal(statusText("undo", { undone: [{ verb: "tag" }, { verb: "prune" }] }), "Undone: 2 changes");
  assert.equal(statusText("undo", { undone: [{ turn: "t1", by: "Nestor" }, { verb: "tag" }] }), "Undone: the turn of Nestor");
  assert.equal(statusText("undo", { undone: [{ action: "change_tree" }] }), "Undone: what models are sent of this tree");
  assert.equal(statusText("undo", { undone: [{ verb: "replace", act: "replaced a by b" }, { verb: "replace", act: "replaced a by b" }] }), "Undone: replaced a by b");
  assert.equal(statusText("undo", { undone: [{ verb: "a verb of tomorrow" }] }), "Undone");
});

test("an undo of rights says whose they are", () => {
  assert.equal(statusText("undo", { undone: [{ verb: "allow", who: "Wanda" }] }), "Undone: rights of Wanda");
  assert.equal(statusText("undo", { undone: [{ verb: "allow", role: "reader" }] }), "Undone: rights of all readers");
  assert.equal(statusText("redo", { undone: [{ verb: "allow", role: "writer" }] }), "Redone: rights of all writers");
});

test("a task of a text is said to be done or open", () => {
  assert.equal(statusText("todo", { task: "checked" }), "Task done");
  assert.equal(statusText("todo", { task: "unchecked" }), "Task open again");
  assert.equal(statusText("todo", { task: "noted" }), "Note added");
  assert.equal(statusText("todo"), "");
});

test("a line of a workspace is said with the beginning of its text", () => {
  assert.equal(didText('→ respond a7x2 "The gate\\nwas new."'), "Wrote a text: “The gate was new.”");
  assert.equal(didText("→ prune a7x2"), "Pruned a text");
  assert.equal(didText("nonsense"), "");
});
