import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeStore } from "./store.js";

/** root > a > (b, c), b in two versions b and b', a note n on a. */
function tree() {
  return new TreeStore({
    seq: 9,
    ids: ["root", "a", "b", "c", "b'", "n"],
    parents: [null, 0, 1, 1, 1, 1],
    slots: [0, 1, 2, 3, 2, 5],
    kinds: ["text", "text", "text", "text", "text", "annotation"],
    authors: [0, 0, 1, 1, 0, 0],
    participants: [{ id: "ada" }, { id: "muse" }],
    flags: [0, 0, 0, 0, 0, 0],
    lengths: [0, 3, 3, 3, 3, 3],
  });
}
const ids = (store, slots) => slots.map((slot) => store.ids[slot]);
const node = (id, parent, slot = id, kind = "text") => ({ id, parent, slot, kind, author: { id: "muse" }, text: "x" });

test("continuations are text slots in order of creation", () => {
  const store = tree();
  assert.deepEqual(ids(store, store.childrenOf(1)), ["b", "c"]);
});

test("the newest version is selected, unless another was chosen or it is pruned", () => {
  const store = tree();
  assert.equal(store.selected(2), "b'");
  store.choices.set("b", "b");
  assert.equal(store.selected(2), "b");
  store.choices.clear();
  store.flag({ node: "b'", flag: "version_pruned", value: true });
  assert.equal(store.selected(2), "b");
});

test("the path leads from the root, whatever the version", () => {
  const store = tree();
  assert.deepEqual(ids(store, store.pathTo("b'")), ["root", "a", "b"]);
});

test("a node that comes by an event hangs where it belongs, once", () => {
  const store = tree();
  assert.equal(store.add(node("d", "b'")), true);
  assert.equal(store.add(node("d", "b'")), false);
  assert.deepEqual(ids(store, store.childrenOf(2)), ["d"]);
  store.add(node("c'", "a", "c"));
  assert.equal(store.selected(3), "c'");
});

test("a pruned slot is no sibling any more, and comes back", () => {
  const store = tree();
  store.flag({ node: "b", flag: "pruned", value: true });
  assert.deepEqual(ids(store, store.childrenOf(1)), ["c"]);
  assert.deepEqual(store.size(), { nodes: 6, branches: 1 });
  store.flag({ node: "b", flag: "pruned", value: false });
  assert.deepEqual(store.size(), { nodes: 6, branches: 2 });
});

test("what hangs below a pruned slot is no branch", () => {
  const store = tree();
  store.add(node("d", "b"));
  store.add(node("e", "b"));
  store.flag({ node: "b", flag: "pruned", value: true });
  assert.equal(store.size().branches, 1);
});

test("down leads where up came from", () => {
  const store = tree();
  assert.equal(store.ids[store.onward(1)], "b");
  store.visit("c");
  assert.equal(store.ids[store.onward(1)], "c");
  assert.equal(store.ids[store.leafBelow(0)], "c");
});

test("siblings have ends", () => {
  const store = tree();
  assert.equal(store.ids[store.sibling(2, 1)], "c");
  assert.equal(store.sibling(3, 1), undefined);
  assert.equal(store.sibling(0, 1), undefined);
});

test("a note leads to the text it is about", () => {
  const store = tree();
  store.add(node("reply", "n", "reply", "annotation"));
  assert.equal(store.textOf("reply"), "a");
  assert.equal(store.textOf("b"), "b");
  assert.equal(store.textOf("gone"), "gone");
});

test("a chain of 100,000 nodes is walked without recursion", () => {
  const count = 100_000;
  const places = Array.from({ length: count }, (_, place) => place);
  const store = new TreeStore({
    seq: 1,
    ids: places.map((place) => `n${place}`),
    parents: places.map((place) => (place ? place - 1 : null)),
    slots: places,
    kinds: places.map(() => "text"),
    authors: places.map(() => 0),
    participants: [{ id: "ada" }],
    flags: places.map(() => 0),
    lengths: places.map(() => 1),
  });
  assert.equal(store.pathTo(`n${count - 1}`).length, count);
  assert.equal(store.leafBelow(0), count - 1);
  assert.equal(store.size().branches, 1);
});

test("a slot is noted while a note on it is not pruned", () => {
  const store = tree();
  assert.deepEqual([store.isNoted(1), store.isNoted(2)], [true, false]);
  store.add(node("m", "b", "m", "annotation"));
  assert.equal(store.isNoted(2), true);
  store.flag({ node: "n", flag: "pruned", value: true });
  assert.equal(store.isNoted(1), false);
});

test("all that hangs below is counted, without what is hidden", () => {
  // root > a > b > c, a > d; b again
  const treeStore = new TreeStore({
    seq: 1,
    ids: ["root", "a", "b", "c", "d", "b2"],
    parents: [null, 0, 1, 2, 1, 1],
    slots: [0, 1, 2, 3, 4, 2],
    kinds: ["text", "text", "text", "text", "text", "text"],
    authors: [0, 0, 0, 0, 0, 0],
    participants: [{ id: "ada" }],
    flags: [0, 0, 0, 0, 0, 0],
    lengths: [0, 1, 1, 1, 1, 1],
  });
  assert.deepEqual([0, 1, 2, 3].map((slot) => treeStore.countBelow(slot)), [4, 3, 1, 0]);
  treeStore.flag({ node: "b", flag: "pruned", value: true });
  assert.deepEqual([0, 1].map((slot) => treeStore.countBelow(slot)), [2, 1]);
});

test("an event is about a node where it changes its versions or its call", () => {
  const store = tree();
  const added = (id) => ({ kind: "node.added", payload: { node: id } });
  const both = [added(node("b''", "a", "b")), added(node("d", "b"))];
  for (const event of both) store.apply(event);
  assert.deepEqual(both.map((event) => store.isAbout("b", event)), [true, false]);
  assert.equal(store.isAbout("b", { kind: "mark.added", payload: { mark: { item: "b" } } }), false);
  assert.equal(store.isAbout("b", { kind: "node.flagged", payload: { node: "b'", slot: "b" } }), true);
  assert.equal(store.isAbout("c", { kind: "node.flagged", payload: { node: "c", slot: "c" } }), false);
  assert.equal(store.isAbout("b", { kind: "call.sealed", payload: { nodes: ["b'"] } }), true);
  assert.equal(store.isAbout("unknown", both[1]), true);
});

test("an event changes what a path says where it is of a text on it", () => {
  const store = tree();
  const added = { kind: "node.added", payload: { node: node("b''", "a", "b") } };
  store.apply(added);
  assert.deepEqual(["b", "c", "a"].map((id) => store.isOnPath(id, added)), [true, false, false]);
  assert.deepEqual(["b", "c"].map((id) => store.isOnPath(id, { kind: "node.flagged", payload: { node: "a" } })), [true, true]);
  assert.equal(store.isOnPath("b", { kind: "node.flagged", payload: { node: "c" } }), false);
});

test("what hangs below is counted the same whether all is counted again or as texts come", () => {
  let seed = 7;
  const drawn = (/** @type {number} */ most) => {
    seed = (seed * 16807) % 2147483647;
    return seed % most;
  };
  const store = tree();
  const again = () => {
    const { below, latest } = store.totals.count();
    const { counted } = store.totals;
    assert.deepEqual([...counted.below.slice(0, below.length)], [...below]);
    assert.deepEqual([...counted.latest.slice(0, latest.length)], [...latest]);
    const branches = store.size().branches;
    store.totals.leaves = undefined;
    assert.equal(branches, store.size().branches);
  };
  again();
  for (let number = 0; number < 300; number += 1) {
    const parent = store.ids[store.slots[drawn(store.ids.length)]];
    const kind = drawn(6) === 0 ? "annotation" : "text";
    if (drawn(8) === 0 && parent !== "root") store.flag({ node: parent, flag: "pruned", value: drawn(2) === 0 });
    else if (store.kinds[store.slotOf(parent) ?? 0] === "text") store.add(node(`t${number}`, parent, `t${number}`, kind));
    again();
  }
});

test("a text that comes changes only what is above it", () => {
  const store = tree();
  store.countBelow(0);
  let counts = 0;
  const count = store.totals.count.bind(store.totals);
  store.totals.count = () => {
    counts += 1;
    return count();
  };
  store.size();
  for (let number = 0; number < 50; number += 1) {
    store.add(node(`t${number}`, "c"));
    store.countBelow(0);
    store.leafBelow(0);
  }
  assert.equal(counts, 0);
  assert.equal(store.countBelow(0), 53);
});

test("a slot is below those that are directly above it, and the root is below nothing", () => {
  const store = tree();
  store.add(node("child", "c"));
  store.add(node("grandchild", "child"));
  const isBelow = (id, names) => store.isBelow(store.slotOf(id), names);
  assert.equal(isBelow("child", ["elsewhere", "c"]), true);
  assert.equal(isBelow("grandchild", ["c"]), false);
  assert.equal(isBelow("root", ["elsewhere", "root"]), false);
  assert.equal(isBelow("elsewhere", ["c"]), false);
});

test("the halves of an edit that became a branch do not lead on below the text that was edited", () => {
  const half = (id, parent, text) => ({ ...node(id, parent), text, edited_from: "a" });
  const split = tree();
  for (const part of [half("h", "root", "a"), half("t", "h", "bc")]) split.add(part);
  assert.equal(split.wholeOf(split.slotOf("t")), split.slotOf("a"));
  const fork = tree();
  for (const part of [half("h", "root", "a"), half("t", "h", "Xbc")]) fork.add(part);
  assert.equal(fork.wholeOf(fork.slotOf("t")), undefined);
});
