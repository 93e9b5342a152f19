// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "./turn-texts.js";

test("lines are told from prose, and nothing is lost", () => {
  const text = "I look.\nAgain.\n→ view a7x2\n  → help\nNot → this\n";
  const parts = partsOf(text);
  assert.deepEqual(parts.map(({ isLine }) => isLine), [false, true, true, false]);
  assert.equal(parts.map(({ words }) => words).join(""), text);
});

test("an empty text has no parts of its own", () => {
  assert.equal(partsOf("").map(({ words }) => words).join(""), "");
});
