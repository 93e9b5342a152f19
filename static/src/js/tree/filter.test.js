import assert from "node:assert/strict";
import { test } from "node:test";
import { Filter } from "./filter.js";
import { Marks } from "./node-facts.js";
import { TreeStore } from "./store.js";

/** root > a (Ada; again by Ben) > b (Ben, pruned) */
function tree() {
  return new TreeStore({
    seq: 1,
    ids: ["root", "a", "b", "a2"],
    parents: [null, 0, 1, 0],
    slots: [0, 1, 2, 1],
    kinds: ["text", "text", "text", "text"],
    authors: [0, 0, 1, 1],
    participants: [{ id: "ada" }, { id: "ben" }],
    flags: [0, 0, 1, 0],
    lengths: [0, 1, 1, 1],
  });
}

const marks = new Marks("", async () => ({ marks: [["m1", "tag", "draft", "a2"], ["m2", "bookmark", "", "b"]] }));
await marks.load();
const through = (wish, store = tree()) => {
  const filter = new Filter();
  filter.set(wish);
  return [...(filter.sieve(store, marks)?.matches ?? ["all"])];
};

test("nothing chosen lets everything through", () => {
  assert.deepEqual(through({}), ["all"]);
});

test("an author is found by any of the versions", () => {
  assert.deepEqual(through({ author: "ada" }), [1]);
  assert.deepEqual(through({ author: "ben" }), [1, 2]);
});

test("marks on any version are marks of the text", () => {
  assert.deepEqual(through({ tag: "draft" }), [1]);
  assert.deepEqual(through({ bookmarked: true }), [2]);
});

test("wishes add up", () => {
  assert.deepEqual(through({ author: "ben", pruned: true }), [2]);
  assert.deepEqual(through({ tag: "draft", pruned: true }), []);
});

test("what is let through is reckoned again when the tree has changed, and only then", () => {
  const filter = new Filter();
  const store = tree();
  filter.set({ pruned: true });
  const before = filter.sieve(store, marks);
  assert.equal(filter.sieve(store, marks), before);
  store.flag({ node: "a", flag: "pruned", value: true });
  assert.deepEqual([...(filter.sieve(store, marks)?.matches ?? [])], [1]);
});
