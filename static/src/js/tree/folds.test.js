import assert from "node:assert/strict";
import { test } from "node:test";
import { Folds, firstWords } from "./folds.js";

function shelf() {
  const kept = new Map();
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
}

test("a text folds to its first thirty words on one line", () => {
  const words = Array.from({ length: 40 }, (_, at) => `w${at}`);
  assert.equal(firstWords(words.join("\n")), `${words.slice(0, 30).join(" ")} …`);
  assert.equal(firstWords(" one  two\n"), "one two");
  assert.equal(firstWords(words.slice(0, 30).join(" ")), words.slice(0, 30).join(" "));
});

test("folds of a tree are remembered, and those of another tree are not touched", () => {
  const store = shelf();
  new Folds("a", store).set(["x9y3", "k3m8"], true);
  new Folds("b", store).set(["q4p2"], true);
  const again = new Folds("a", store);
  assert.deepEqual([...again.ids], ["x9y3", "k3m8"]);
  again.set(["x9y3"], false);
  assert.deepEqual([...new Folds("a", store).ids], ["k3m8"]);
});

test("a store that is full forgets nothing of the page", () => {
  const full = { getItem: () => null, setItem: () => { throw new Error("full"); } };
  const folds = new Folds("a", full);
  folds.set(["x9y3"], true);
  assert.ok(folds.ids.has("x9y3"));
});
