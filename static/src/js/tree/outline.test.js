import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsOf } from "./outline.js";
import { TreeStore } from "./store.js";

/** root > a > b > (c, d > e) */
const store = new TreeStore({
  seq: 1,
  ids: ["root", "a", "b", "c", "d", "e"],
  parents: [null, 0, 1, 2, 2, 4],
  slots: [0, 1, 2, 3, 4, 5],
  kinds: ["text", "text", "text", "text", "text", "text"],
  authors: [0, 0, 0, 0, 0, 0],
  participants: [{ id: "ada" }],
  flags: [0, 0, 0, 0, 0, 0],
  lengths: [0, 1, 1, 1, 1, 1],
});

test("only what is unfolded has rows, and the root has none", () => {
  assert.deepEqual(rowsOf(store, new Set()).map((row) => store.ids[row.slot]), ["a"]);
  assert.deepEqual(rowsOf(store, new Set([1, 2])).map((row) => store.ids[row.slot]), ["a", "b", "c", "d"]);
});

test("a row says its level, its place among siblings, and whether it is open", () => {
  const rows = rowsOf(store, new Set([1, 2, 4]));
  const d = rows.find((row) => store.ids[row.slot] === "d");
  assert.deepEqual({ ...d, slot: undefined }, { slot: undefined, level: 3, indent: 1, size: 2, place: 2, children: 1, isOpen: true });
});

test("a chain is not indented, a fork is", () => {
  const rows = rowsOf(store, new Set([1, 2, 4]));
  assert.deepEqual(rows.map((row) => row.indent), [0, 0, 1, 1, 1]);
});
