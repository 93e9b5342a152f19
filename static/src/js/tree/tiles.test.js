import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeStore } from "./store.js";
import { joined } from "./tiles.js";

const tile = (first, rows, more = {}) => ({
  first,
  ids: rows.map(([id]) => id).join(","),
  ups: rows.map(([, up]) => up).join(","),
  authors: rows.map(() => 0).join(","),
  lengths: rows.map(() => 3).join(","),
  ...{ participants: [{ id: "ada" }], slots: [], kinds: [], places: [], wholes: [], ...more },
});

test("tiles become one tree, also where a parent or a wording is in another tile", () => {
  const head = { seq: 7, tiles: 2, flags: [[2, 1], [5, 8]] };
  const store = new TreeStore(joined(head, [tile(1, [["root", 0], ["a", 1], ["b", 2]]), tile(4, [["c", 2], ["b'", 4], ["n", 4]], { participants: [{ id: "muse" }], slots: [[5, 3]], kinds: [[6, "annotation"]] })]));
  assert.deepEqual(store.ids, ["root", "a", "b", "c", "b'", "n"]);
  assert.deepEqual(store.parents, [null, 0, 0, 1, 0, 1]);
  assert.deepEqual(store.slots, [0, 1, 2, 3, 2, 5]);
  assert.deepEqual(store.authors, ["ada", "ada", "ada", "muse", "muse", "muse"]);
  assert.deepEqual(store.flags, [0, 1, 0, 0, 8, 0]);
  assert.equal(store.kinds[5], "annotation");
  assert.deepEqual(store.size(), { nodes: 6, branches: 1 });
});

test("siblings keep the order that their places say", () => {
  const head = { seq: 7, tiles: 1, flags: [] };
  const places = [[4, 2 * 2 ** 20 + 5]];
  const skeleton = joined(head, [tile(1, [["root", 0], ["a", 1], ["b", 2], ["c", 3]], { places })]);
  assert.deepEqual(skeleton.orders, [[0, [1, 3, 2]]]);
});

test("halves of a split lead to what follows it, and those of an edit that became a branch do not", () => {
  const head = { seq: 7, tiles: 1, flags: [] };
  const rows = [["root", 0], ["a", 1], ["b", 1], ["a1", 3], ["a2", 1], ["e1", 5], ["e2", 1]];
  const wholes = [[4, 2], [5, 2], [6, 2], [7, 2]];
  const lengths = [0, 10, 5, 4, 6, 4, 8].join(",");
  const { rests } = joined(head, [tile(1, rows, { wholes, lengths })]);
  assert.deepEqual(rests, [[4, 1]]);
});
