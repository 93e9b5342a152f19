// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, hold, places, step } from "./forces.js";

/** @param {import("./forces.js").Forces} forces */
function rest(forces) {
  let steps = 0;
  while (step(forces)) steps += 1;
  return steps;
}

/** @param {import("./forces.js").Forces} forces @param {number} source @param {number} target */
function distance(forces, source, target) {
  const { x, y } = places(forces);
  return Math.hypot(x[source] - x[target], y[source] - y[target]);
}

test("linked items lie nearer than others, none on another, and all come to rest", () => {
  const forces = begin(Array(6).fill(null), [[0, 1], [0, 2], [3, 4], [4, 5]]);
  const steps = rest(forces);
  assert.ok(steps > 50 && steps < 600, String(steps));
  assert.ok(distance(forces, 0, 1) < distance(forces, 1, 5));
  for (let source = 0; source < 6; source += 1) for (let target = source + 1; target < 6; target += 1) assert.ok(distance(forces, source, target) > 20);
  const { x, y } = places(forces);
  for (const at of [...x, ...y]) assert.ok(Math.abs(at) < 2000, String(at));
});

test("the same graph always lies the same", () => {
  const [first, second] = [1, 2].map(() => begin(Array(20).fill(null), Array.from({ length: 19 }, (_, at) => [at, at + 1])));
  rest(first);
  rest(second);
  assert.deepEqual(places(first), places(second));
});

test("what has a place begins there, and what is new beside what it is linked to", () => {
  const forces = begin([[300, 0], null, [-300, 0]], [[0, 1]]);
  assert.deepEqual([places(forces).x[0], places(forces).x[2]], [300, -300]);
  assert.ok(distance(forces, 0, 1) < 100);
});

test("what is held stays until it is let go, and the others move on", () => {
  const forces = begin([[0, 0], [90, 0]], [[0, 1]]);
  rest(forces);
  hold(forces, 0, 500, 40, false);
  rest(forces);
  const held = places(forces);
  assert.deepEqual([held.x[0], held.y[0]], [500, 40]);
  assert.ok(held.x[1] > 200);
  hold(forces, 0, 500, 40, true);
  rest(forces);
  assert.ok(places(forces).x[0] < 490);
});

test("items on one place come apart, also without links", () => {
  const forces = begin([[0, 0], [0, 0]], []);
  rest(forces);
  assert.ok(distance(forces, 0, 1) > 20);
});
