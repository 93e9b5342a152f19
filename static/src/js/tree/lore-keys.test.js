import assert from "node:assert/strict";
import test from "node:test";
import { finderOf } from "./lore-keys.js";

const card = (id, ...keys) => ({ id, title: id, kind: "person", keys, text: "" });
const found = (text, ...cards) => finderOf(cards)(text).map((one) => `${one.card.id}:${text.slice(one.from, one.to)}`);

test("keys are whole words, in any case", () => {
  assert.deepEqual(found("MARIE and Marietta met marie’s aunt", card("m", "Marie")), ["m:MARIE", "m:marie"]);
});

test("the longest key counts, also over a line break", () => {
  const text = "the old\nhouse, an old house";
  assert.deepEqual(found(text, card("h", "house"), card("o", "the old house", "old house")), ["o:the old\nhouse", "o:old house"]);
});

test("signs in a key are signs, and scripts without blanks have no word ends", () => {
  assert.deepEqual(found("C++ is no C", card("c", "c++")), ["c:C++"]);
  assert.deepEqual(found("我见玛丽了", card("m", "玛丽")), ["m:玛丽"]);
});

test("without cards nothing is found", () => {
  assert.deepEqual(found("Marie"), []);
});
