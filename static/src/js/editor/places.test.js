import assert from "node:assert/strict";
import { test } from "node:test";

const { nthOf, selectedIn } = await import("./places.js");

const words = (text, drawn, chosen, from = 0) => {
  const at = drawn.indexOf(chosen, from);
  const place = selectedIn(text, drawn, at, at + chosen.length);
  return place && text.slice(place.from, place.to);
};

test("words that are selected in Markdown are found in its source", () => {
  const text = "The **old** house [waits](https://a.test/waits).\n\n* A garden & a gate";
  const drawn = "The old house waits.\n\nA garden & a gate\n";
  assert.equal(words(text, drawn, "house"), "house");
  assert.equal(words(text, drawn, "old house"), "old** house");
  assert.equal(words(text, drawn, "waits"), "waits");
  assert.equal(words(text, drawn, "garden & a"), "garden & a");
  assert.equal(selectedIn(text, drawn, 3, 3), null);
});

test("characters outside of the basic plane count as two", () => {
  assert.deepEqual(selectedIn("🙂 a *b* c", "🙂 a b c", 5, 6), { from: 6, to: 7 });
});

test("the place of words is counted, overlapping ones as well", () => {
  assert.equal(nthOf("aaa", "aa", 1), 2);
  assert.equal(nthOf("one two one", "one", 8), 2);
});
