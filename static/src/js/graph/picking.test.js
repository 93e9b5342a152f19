// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { inside, onto, towards } from "./picking.js";

const X = [0, 100, 0, -100, 80];
const Y = [0, 0, 100, 0, 90];

test("a point means the nearest item within reach", () => {
  assert.equal(onto(X, Y, 95, 4, 16), 1);
  assert.equal(onto(X, Y, 50, 50, 16), -1);
});

test("a direction means the next item that way, or none", () => {
  assert.equal(towards(X, Y, 0, [1, 0]), 1);
  assert.equal(towards(X, Y, 0, [0, 1]), 2);
  assert.equal(towards(X, Y, 0, [-1, 0]), 3);
  assert.equal(towards(X, Y, 0, [0, -1]), 0);
});

test("a line drawn by hand holds what is within it, also where it is bent inwards", () => {
  /** @type {[number, number][]} */
  const line = [[-10, -10], [50, 40], [110, -10], [110, 110], [-10, 110]];
  assert.ok(inside(line, 0, 100) && inside(line, 100, 20));
  assert.ok(!inside(line, 50, 0) && !inside(line, -100, 0));
});
