import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = Object.assign(new EventTarget(), { querySelector: () => null, documentElement: { lang: "en", style: {} } });
globalThis.window ??= globalThis;
const { placesOf } = await import("../editor/places.js");

test("a change is found by what is around it, also where that was written on", () => {
  const edits = [["The ", "old", "new", " house stood."]];
  assert.deepEqual(placesOf(edits, "The old house stood."), [{ from: 4, to: 7, now: "new" }]);
  assert.deepEqual(placesOf(edits, "Once. The old house stood. Then"), [{ from: 10, to: 13, now: "new" }]);
  assert.deepEqual(placesOf(edits, "The old house fell."), [{ from: 4, to: 7, now: "new" }]);
  assert.deepEqual(placesOf(edits, "An old house stood."), [{ from: 3, to: 6, now: "new" }]);
  assert.deepEqual(placesOf(edits, "The young house stood."), []);
});

test("the same words twice are found one after the other", () => {
  const edits = [["a ", "b", "x", " c "], [" c a ", "b", "y", " c"]];
  assert.deepEqual(placesOf(edits, "a b c a b c").map(({ from, now }) => [from, now]), [[2, "x"], [8, "y"]]);
});

test("words are put into an empty text, and what is only added stands between its neighbours", () => {
  assert.deepEqual(placesOf([["", "", "One.", ""]], ""), [{ from: 0, to: 0, now: "One." }]);
  assert.deepEqual(placesOf([["One.", "", " Two.", ""]], "One."), [{ from: 4, to: 4, now: " Two." }]);
});
