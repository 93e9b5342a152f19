import assert from "node:assert/strict";
import { test } from "node:test";
import { isBelow } from "./answer-below.js";

const room = { top: 0, bottom: 600 };

test("an answer is below as long as fewer than three lines of it are seen", () => {
  assert.ok(isBelow(700, 28, room));
  assert.ok(isBelow(560, 28, room));
  assert.ok(!isBelow(500, 28, room));
  assert.ok(!isBelow(-300, 28, room));
});
