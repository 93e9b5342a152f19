// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { parted, quoting } from "./across.js";

test("a comment quotes all the words, each line of them", () => {
  assert.equal(quoting(" one\n\ntwo ", "Why?"), "> one\n>\n> two\n\nWhy?");
  assert.ok(quoting("a".repeat(900), "Why?").startsWith(`> ${"a".repeat(600)} …`));
});

test("each text has the part of a new wording that stands in its place", () => {
  const parts = ["the tower stands. ", "Nobody keeps it"];
  assert.deepEqual(parted(parts, "the tower fell. Nobody keeps it"), ["the tower fell. ", "Nobody keeps it"]);
  assert.deepEqual(parted(parts, "the tower fell. Nobody kept it"), ["the tower fell. ", "Nobody kept it"]);
  assert.deepEqual(parted(parts, "the tower falls, which nobody keeps it"), ["the tower falls, ", "which nobody keeps it"]);
  assert.deepEqual(parted(parts, "the tower stands. No one keeps it"), ["the tower stands. ", "No one keeps it"]);
  assert.deepEqual(parted(parts, "gone"), ["gone", ""]);
  assert.deepEqual(parted(["a ", "b ", "c"], "a b x c"), ["a ", "b ", "x c"]);
});

test("the parts are the whole new wording, and no character is cut in two", () => {
  const parts = ["x😀", "😁y", "z"];
  for (const written of ["x😀😂y!", "", "x😂y", "😀😁", "x😀😁yz"]) {
    const pieces = parted(parts, written);
    assert.equal(pieces.join(""), written);
    for (const piece of pieces) assert.ok(piece.isWellFormed(), JSON.stringify(pieces));
  }
});
