import assert from "node:assert/strict";
import { test } from "node:test";
import { wordChoices } from "./wordChoices.js";

const nearby = { ids: ["a7x2", "b3k9", "a1b2"], words: (id) => `text of ${id}` };
const EDIT = ["edit REF CONTENT [as:version|fork]", 'edit REF replace:"…" with:"…" [as:version|fork]'];
const completed = (line, forms = EDIT) => wordChoices(forms, line, nearby).map((one) => one.complete);

test("where a ref may stand, refs are offered, and nodes by the beginning of their id", () => {
  assert.deepEqual(completed("edit "), ["→ edit here ", "→ edit parent ", "→ edit root ", "→ edit a7x2 ", "→ edit b3k9 ", "→ edit a1b2 ", "→ edit as:", "→ edit replace:", "→ edit with:"]);
  assert.deepEqual(completed("edit a"), ["→ edit a7x2 ", "→ edit a1b2 ", "→ edit as:"]);
  assert.deepEqual(wordChoices(EDIT, "edit b", nearby)[0].parts[1].text, "text of b3k9");
});

test("an option is offered once, and its values where they are words", () => {
  assert.deepEqual(completed("edit here as:"), ["→ edit here as:version ", "→ edit here as:fork "]);
  assert.deepEqual(completed("edit here as:f"), ["→ edit here as:fork "]);
  assert.deepEqual(completed("edit here as:fork w"), ["→ edit here as:fork with:"]);
  assert.deepEqual(completed("continue n:", ["continue [from REF] [n:1≤10] [tokens:m]"]), []);
  assert.deepEqual(completed("continue n:3 t", ["continue [from REF] [n:1≤10] [tokens:m]"]), ["→ continue n:3 tokens:"]);
});

test("inside a text nothing is offered", () => {
  assert.deepEqual(completed('edit here "a'), []);
  assert.deepEqual(completed("edit here\na"), []);
});
