import assert from "node:assert/strict";
import { test } from "node:test";
import { verbChoices } from "./choices.js";
import { History } from "./history.js";

const known = [
  { verb: "view", syntax: "view REF", help: "Shows a node.\nMore.", aliases: ["show"], allowed: true },
  { verb: "prune", syntax: "prune REF [version]", help: "Hides a node.", aliases: [], allowed: true },
  { verb: "prune", syntax: "prune other", help: "Second form.", aliases: [], allowed: true },
  { verb: "write", syntax: "write doc", help: "Writes.", aliases: [], allowed: false },
];

test("a beginning offers its verbs, by aliases too, and completes them", () => {
  assert.deepEqual(verbChoices(known, "pr").map((one) => one.complete), ["→ prune ", "→ prune "]);
  assert.deepEqual(verbChoices(known, "sho").map((one) => one.complete), ["→ view "]);
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
