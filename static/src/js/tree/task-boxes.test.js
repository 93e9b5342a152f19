import assert from "node:assert/strict";
import { test } from "node:test";
import { taskOf } from "./task-boxes.js";

test("an item that begins with brackets is a task", () => {
  assert.deepEqual(taskOf("[ ] light the lamp"), { words: "light the lamp", checked: false });
  assert.deepEqual(taskOf("[x] light the lamp"), { words: "light the lamp", checked: true });
});

test("other items are none", () => {
  for (const text of ["light the lamp", "[] lamp", "[a7x2] lamp", "[ ]lamp"]) assert.equal(taskOf(text), null);
});
