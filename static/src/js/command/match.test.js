import assert from "node:assert/strict";
import { test } from "node:test";
import { commandsFor, fitOf, fitting, spansOf, Visited } from "./match.js";

test("every word of the query is marked wherever it occurs, without overlaps", () => {
  assert.deepEqual(spansOf("The river, the RIVER", "river"), [[4, 9], [15, 20]]);
  assert.deepEqual(spansOf("abcabc", "abc bca"), [[0, 6]]);
  assert.equal(spansOf("The river", "river bank"), null);
  assert.equal(spansOf("İstanbul", "stan"), null);
});

test("what begins with the query is better than a word of it, and that than any place", () => {
  assert.deepEqual([fitOf("dark", ["dark theme"]), fitOf("dark", ["theme: dark"]), fitOf("ark", ["dark"]), fitOf("x", ["dark"])], [3, 2, 1, 0]);
  assert.equal(fitOf("colours dark", ["Theme: dark", "appearance colours"]), 1);
  const matching = fitting([{ texts: ["a dark"] }, { texts: ["dark"] }, { texts: ["light"] }], "dark");
  assert.deepEqual(matching.map((entry) => entry.texts[0]), ["dark", "a dark"]);
});

test("a command is found by what it does, if one may run it", () => {
  const known = [
    { verb: "prune", syntax: "prune REF", help: "Hides a node and everything below it.", aliases: [], allowed: true },
    { verb: "think", syntax: "think CONTENT", help: "Hides nothing.", aliases: [], allowed: false },
  ];
  assert.deepEqual(commandsFor(known, "hides node").map((entry) => entry.choice.complete), ["→ prune "]);
});

test("visited nodes come once each, the latest first, and a full store loses nothing else", () => {
  const kept = new Map();
  const visited = new Visited({ getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) }, "v");
  for (const id of ["a", "b", "a"]) visited.add(id);
  assert.deepEqual(visited.ids, ["a", "b"]);
  new Visited({ getItem: () => "no json", setItem: () => { throw new Error("full"); } }, "v").add("a");
});
