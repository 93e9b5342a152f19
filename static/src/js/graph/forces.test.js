// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { begin, step } from "./forces.js";

/** @param {import("./forces.js").Forces} forces */
function rest(forces) {
  let steps = 0;
  while (step(forces)) steps += 1;
  return steps;
}

/** @param {import("./forces.js").Forces} forces @param {number} one @param {number} other */
const far = ({ x, y }, one, other) => Math.hypot(x[one] - x[other], y[one] - y[other]);

test("linked items lie nearer than others, none on another, and all come to rest", () => {
  const forces = begin(Array(6).fill(null), [[0, 1], [0, 2], [3, 4], [4, 5]]);
  const steps = rest(forces);
  assert.ok(steps > 50 && steps < 600, String(steps));
  assert.ok(far(forces, 0, 1) < far(forces, 1, 5));
  for (let one = 0; one < 6; one += 1) for (let other = one + 1; other < 6; other += 1) assert.ok(far(forces, one, other) > 20);
  for (const at of [...forces.x, ...forces.y]) assert.ok(Number.isFinite(at) && Math.abs(at) < 2000);
});

test("the same graph always lies the same", () => {
  const [one, other] = [1, 2].map(() => begin(Array(20).fill(null), Array.from({ length: 19 }, (_, at) => [at, at + 1])));
  rest(one);
  rest(other);
  assert.deepEqual([...one.x], [...other.x]);
});

test("what has a place begins there, what is new beside what it is linked to, and what is held stays", () => {
  const forces = begin([[300, 0], null, [-300, 0]], [[0, 1]]);
  assert.deepEqual([forces.x[0], forces.x[2]], [300, -300]);
  assert.ok(far(forces, 0, 1) < 100);
  forces.held[0] = 1;
  rest(forces);
  assert.deepEqual([forces.x[0], forces.y[0]], [300, 0]);
});

test("items on one place come apart, also without links", () => {
  const forces = begin([[0, 0], [0, 0]], []);
  rest(forces);
  assert.ok(far(forces, 0, 1) > 20);
});
