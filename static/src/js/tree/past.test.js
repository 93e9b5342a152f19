import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest, storeAt } from "./past.js";
import { TreeStore } from "./store.js";

const now = () =>
  new TreeStore({
    seq: 9,
    ids: ["r0r0", "a1a1", "b2b2", "c3c3", "d4d4"],
    parents: [null, 0, 1, 1, 0],
    slots: [0, 1, 2, 3, 1],
    kinds: ["text", "text", "text", "text", "text"],
    authors: [0, 0, 1, 1, 0],
    participants: [{ id: "ada" }, { id: "muse" }],
    flags: [0, 0, 1, 0, 0],
    lengths: [0, 1, 1, 1, 1],
  });

test("at a moment there is what had been made, with the flags of that time", () => {
  const store = now();
  const was = storeAt(store, { seq: 4, last: "c3c3", flags: [["b2b2", "pruned", false]] });
  assert.deepEqual(was.ids, ["r0r0", "a1a1", "b2b2", "c3c3"]);
  assert.deepEqual(was.childrenOf(1), [2, 3]);
  assert.equal(was.selected(1), "a1a1");
  assert.equal(was.authors[2], "muse");
  assert.equal(store.isPruned(2), true);
  assert.equal(store.ids.length, 5);
});

test("a position that did not exist yet is shown above it", () => {
  const store = now();
  const was = storeAt(store, { seq: 2, last: "a1a1", flags: [] });
  assert.equal(nearest(store, was, "c3c3"), "a1a1");
  assert.equal(nearest(store, was, "r0r0"), "r0r0");
});
