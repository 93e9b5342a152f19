import assert from "node:assert/strict";
import test from "node:test";
import { plainWords } from "./plainWords.js";

test("an edit is reported as a version or as a branch", () => {
  assert.equal(plainWords("edit", "created version [a7x2] from [b3k9]"), "Saved as a new version");
  assert.equal(plainWords("replace", "created version [a7x2] from [b3k9]"), "Saved as a new version");
  assert.equal(plainWords("edit", "created branch [a7x2] from [b3k9]"), "Saved as a new branch");
});

test("a reply without plain words of its own is shown as it is", () => {
  assert.equal(plainWords("think", "thought [a7x2]"), "");
  assert.equal(plainWords("prune", "pruned [a7x2]"), "Pruned");
});
