import assert from "node:assert/strict";
import { test } from "node:test";
import { verbChoices, wordChoices } from "./choices.js";
import { History } from "./dialog.js";

const known = [
  { verb: "view", syntax: "view REF", help: "Shows a node.\nMore.", aliases: ["show"], allowed: true },
  { verb: "prune", syntax: "prune REF [version]", help: "Hides a node.", aliases: [], allowed: true },
  { verb: "prune", syntax: "prune other", help: "Second form.", aliases: [], allowed: true },
  { verb: "write", syntax: "write doc", help: "Writes.", aliases: [], allowed: false },
];

test("a beginning offers its verbs, by aliases too, and completes them", () => {
  assert.deepEqual(verbChoices(known, "pr").map((choice) => choice.complete), ["→ prune ", "→ prune "]);
  assert.deepEqual(verbChoices(known, "sho").map((choice) => choice.complete), ["→ view "]);
  assert.equal(verbChoices(known, "view")[0].parts[1].text, "Shows a node.");
});

test("after the verb its forms are shown, nothing is completed over what was typed", () => {
  const forms = verbChoices(known, "prune a7x2");
  assert.equal(forms.length, 2);
  assert.equal(forms[0].complete, undefined);
});

test("what one may not do is not offered", () => {
  assert.deepEqual(verbChoices(known, "wri"), []);
});

test("lines are recalled newest first, each once", () => {
  const kept = new Map();
  const store = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
  const history = new History(store, "lines");
  for (const line of ["→ undo", "→ help", "→ undo"]) history.add(line);
  assert.deepEqual([history.step(1), history.step(1), history.step(1), history.step(-1)], ["→ undo", "→ help", "→ help", "→ undo"]);
  assert.equal(history.step(-1), undefined);
});

const nearby = { ids: ["a7x2", "b3k9", "a1b2"], words: (id) => `text of ${id}` };
const EDIT = ["edit REF CONTENT [as:version|fork]", 'edit REF replace:"…" with:"…" [as:version|fork]'];
const completed = (line, forms = EDIT) => wordChoices(forms, line, nearby).map((choice) => choice.complete);

test("where a ref is allowed, refs are offered, and nodes by the beginning of their id", () => {
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
