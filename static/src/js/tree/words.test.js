import assert from "node:assert/strict";
import { test } from "node:test";
import { changes } from "./words.js";

const shown = (before, after) => changes(before, after).map(({ text, changed }) => (changed ? `[${text}]` : text)).join("");

test("words that are not in the other text are marked", () => {
  assert.equal(shown("the gate was new", "the old gate was painted"), "the [old ]gate was [painted]");
});

test("the same text has no mark, another has nothing else", () => {
  assert.equal(shown("one two", "one two"), "one two");
  assert.equal(shown("", "one two"), "[one two]");
  assert.deepEqual(changes("one", ""), []);
});

test("no character is lost", () => {
  const after = "  a\n\nb  c ";
  assert.equal(changes("x b y", after).map((piece) => piece.text).join(""), after);
});

test("very long texts are not compared word by word", () => {
  const long = "word ".repeat(5000);
  assert.deepEqual(changes(long, `${long}more`).map((piece) => piece.changed), [true]);
});
