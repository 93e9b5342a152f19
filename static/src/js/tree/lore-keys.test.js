import assert from "node:assert/strict";
import test from "node:test";
import { finderOf } from "./lore-keys.js";

const card = (id, ...keys) => ({ id, title: id, kind: "person", keys, text: "" });
const matches = (text, ...cards) => finderOf(cards)(text).map((match) => `${match.card.id}:${text.slice(match.from, match.to)}`);

test("keys are whole words, in any case", () => {
  assert.deepEqual(matches("MARIE and Marietta met marie’s aunt", card("m", "Marie")), ["m:MARIE", "m:marie"]);
});

test("the longest key counts, also over a line break", () => {
  const text = "the old\nhouse, an old house";
  assert.deepEqual(matches(text, card("h", "house"), card("o", "the old house", "old house")), ["o:the old\nhouse", "o:old house"]);
});

test("signs in a key are signs, and scripts without blanks have no word ends", () => {
  assert.deepEqual(matches("C++ is no C", card("c", "c++")), ["c:C++"]);
  assert.deepEqual(matches("我见玛丽了", card("m", "玛丽")), ["m:玛丽"]);
});

test("without cards nothing is found", () => {
  assert.deepEqual(matches("Marie"), []);
});
