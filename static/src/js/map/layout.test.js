import assert from "node:assert/strict";
import { test } from "node:test";
import { layout } from "./layout.js";

test("children stand below their parent, side by side, in order", () => {
  const { x, y, up, kept } = layout(Int32Array.from([-1, 0, 0, 2]));
  assert.deepEqual([...kept], [0, 1, 2, 3]);
  assert.deepEqual([...y], [0, 1, 1, 2]);
  assert.ok(x[1] < x[2]);
  assert.equal((x[1] + x[2]) / 2, x[0]);
  assert.deepEqual([...up], [-1, 0, 0, 2]);
});

test("in a large tree a run without a fork is one line", () => {
  // root > a > b > c > (d, e): a, b and c hang in a run; its ends stay.
  const { kept, up, y } = layout(Int32Array.from([-1, 0, 1, 2, 3, 3]), 0);
  assert.deepEqual([...kept], [0, 3, 4, 5]);
  assert.equal(up[3], 0);
  assert.equal(y[4], 2);
});

test("an empty map has no places", () => {
  assert.equal(layout(new Int32Array()).kept.length, 0);
});

test("a chain of 100,000 nodes and a fan of 100,000 are laid out", () => {
  const count = 100_000;
  const chain = Int32Array.from({ length: count }, (_, place) => place - 1);
  assert.equal(layout(chain).kept.length, 2);
  const fan = Int32Array.from({ length: count }, (_, place) => (place ? 0 : -1));
  assert.equal(layout(fan).kept.length, count);
});
