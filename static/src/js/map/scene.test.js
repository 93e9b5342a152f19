import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeStore } from "../tree/store.js";
import { layout } from "./layout.js";
import { parentsOf, Scene, slotsShown } from "./scene.js";

/** root > a > (b > c, d), a note on a */
function tree() {
  return new TreeStore({
    seq: 1,
    ids: ["root", "a", "b", "c", "d", "note"],
    parents: [null, 0, 1, 2, 1, 1],
    slots: [0, 1, 2, 3, 4, 5],
    kinds: ["text", "text", "text", "text", "text", "annotation"],
    authors: [0, 0, 0, 0, 0, 0],
    participants: [{ id: "ada" }],
    flags: [0, 0, 0, 0, 0, 0],
    lengths: [0, 1, 1, 1, 1, 1],
  });
}

test("texts are shown, notes are not", () => {
  assert.deepEqual(slotsShown(tree(), null), [0, 1, 2, 3, 4]);
});

test("a pruned text is shown faintly, what hangs below it is not", () => {
  const store = tree();
  store.flag({ node: "b", flag: "pruned", value: true });
  assert.deepEqual(slotsShown(store, null), [0, 1, 2, 4]);
});

test("hoisted, the map begins at one text", () => {
  const store = tree();
  const slots = slotsShown(store, 2);
  assert.deepEqual(slots, [2, 3]);
  assert.deepEqual([...parentsOf(store, slots)], [-1, 0]);
});

test("pointing finds the nearest text within reach", () => {
  const store = tree();
  const slots = slotsShown(store, null);
  const scene = new Scene(slots, layout(parentsOf(store, slots)));
  const place = slots.indexOf(4);
  const { x, y } = scene.layout;
  assert.equal(scene.near(x[place] + 0.1, y[place], 0.3, 0.3), 4);
  assert.equal(scene.near(x[place] + 5, y[place], 0.3, 0.3), undefined);
});

test("a text inside a folded run is where the run begins", () => {
  const slots = [0, 1, 2, 3, 4];
  const scene = new Scene(slots, { ...layout(Int32Array.from([-1, 0, 1, 2, 3]), 0) });
  assert.deepEqual([...scene.layout.kept], [0, 4]);
  assert.equal(scene.placeOf(2), 0);
  assert.equal(scene.placeOf(4), 4);
});
