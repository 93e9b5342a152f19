import assert from "node:assert/strict";
import { test } from "node:test";
import { layout } from "./layout.js";

test("children are below their parent, side by side, in order", () => {
  const { x, y, up, kept, rows } = layout(Int32Array.from([-1, 0, 0, 2]));
  assert.deepEqual([...kept], [0, 1, 2, 3]);
  assert.deepEqual([...y], [0, 1, 1, 2]);
  assert.ok(x[1] < x[2]);
  assert.equal((x[1] + x[2]) / 2, x[0]);
  assert.deepEqual([...up], [-1, 0, 0, 2]);
  assert.deepEqual([...rows], [0, 1, 3, 4]);
});

test("in a large tree a run without a fork is one line", () => {
  // root > a > b > c > (d, e): a, b and c hang in a run; its ends stay.
  const { kept, up, y, run } = layout(Int32Array.from([-1, 0, 1, 2, 3, 3]), 0);
  assert.deepEqual([...kept], [0, 3, 4, 5]);
  assert.equal(up[3], 0);
  assert.equal(run[3], 2);
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

test("no two nodes of a row meet, however the tree is shaped", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    let dice = seed;
    const roll = (/** @type {number} */ most) => (dice = (dice * 48271) % 2147483647) % most;
    const near = 1 + (seed % 7) * 9;
    const parents = Int32Array.from({ length: 180 }, (_, place) => (place ? Math.max(0, place - 1 - roll(near)) : -1));
    const { x, y, kept, rows } = layout(parents);
    for (let row = 0; row + 1 < rows.length; row += 1) {
      for (let at = rows[row]; at < rows[row + 1]; at += 1) {
        assert.equal(y[kept[at]], row);
        if (at > rows[row]) assert.ok(x[kept[at]] - x[kept[at - 1]] > 0.999);
      }
    }
  }
});

test("a comb of 100,000 nodes is laid out: each step of a chain has another leaf", () => {
  const comb = Int32Array.from({ length: 100_000 }, (_, place) => place - 1 - Number(place > 0 && place % 2 === 0));
  const { kept, rows } = layout(comb);
  assert.equal(kept.length, 100_000);
  assert.equal(rows.length, 50_002);
});
