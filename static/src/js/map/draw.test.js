import assert from "node:assert/strict";
import { test } from "node:test";
import { besideOf, namesOf, radius } from "./draw.js";

test("a name begins beyond the rings of its node", () => {
  const camera = /** @type {any} */ ({ k: 1 });
  const dot = radius(camera);
  assert.ok(besideOf(camera, false, true) >= dot + 4.5 + 1 + 3);
  assert.ok(besideOf(camera, true, false) >= dot + 8 + 1 + 3);
  assert.ok(besideOf(camera, true, true) >= dot + 8 + 1 + 3);
  assert.equal(besideOf(camera, false, false), dot + 9);
});

test("all who are at a text are named there", () => {
  const names = namesOf([{ slot: 1, name: "Ada" }, { slot: 2, name: "Bo" }, { slot: 1, name: "Rhea" }]);
  assert.deepEqual([...names], [[1, "Ada, Rhea"], [2, "Bo"]]);
});
