import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsOf, sieve } from "./outline.js";
import { treeOf } from "../testing/trees.js";
import { TreeStore } from "./store.js";

/** root > a > b > (c, d > e) */
const store = treeOf(["root", "a", "b", "c", "d", "e"], [null, 0, 1, 2, 2, 4]);

test("only what is unfolded has rows, and the root has none", () => {
  assert.deepEqual(rowsOf(store, () => false).map((row) => store.ids[row.slot]), ["a"]);
  assert.deepEqual(rowsOf(store, (slot) => slot < 3).map((row) => store.ids[row.slot]), ["a", "b", "c", "d"]);
});

test("a row says its level, its place among siblings, and whether it is open", () => {
  const rows = rowsOf(store, () => true);
  const d = rows.find((row) => store.ids[row.slot] === "d");
  assert.deepEqual({ ...d, slot: undefined }, { slot: undefined, level: 3, indent: 1, size: 2, place: 2, children: 1, isOpen: true });
});

test("a chain is not indented, a fork is", () => {
  const rows = rowsOf(store, () => true);
  assert.deepEqual(rows.map((row) => row.indent), [0, 0, 1, 1, 1]);
});

test("a filter keeps what matches, and the way to it", () => {
  const { matches, childrenOf } = sieve(store, (slot) => slot === 5);
  assert.deepEqual([...matches], [5]);
  assert.deepEqual(rowsOf(store, () => true, childrenOf).map((row) => store.ids[row.slot]), ["a", "b", "d", "e"]);
});

test("what is pruned can be found, what hangs below it cannot", () => {
  const pruned = new TreeStore({ ...store, authors: [0, 0, 0, 0, 0, 0], participants: [{ id: "ada" }], flags: [0, 0, 0, 0, 1, 0] });
  assert.deepEqual([...sieve(pruned, () => true).matches], [1, 2, 3, 4]);
  const { childrenOf } = sieve(pruned, (slot) => pruned.isPruned(slot));
  assert.deepEqual(rowsOf(pruned, () => true, childrenOf).map((row) => pruned.ids[row.slot]), ["a", "b", "d"]);
});
