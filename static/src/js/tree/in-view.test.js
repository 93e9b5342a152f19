import assert from "node:assert/strict";
import { test } from "node:test";
import { wayTo } from "./in-view.js";

const room = { top: 100, bottom: 500 };

test("what is seen stays where it is", () => {
  assert.equal(wayTo({ top: 100, bottom: 500 }, room), 0);
  assert.equal(wayTo({ top: 300, bottom: 320 }, room), 0);
});

test("what fits comes into view by the least way", () => {
  assert.equal(wayTo({ top: 450, bottom: 550 }, room), 50);
  assert.equal(wayTo({ top: -900, bottom: -700 }, room), -1000);
});

test("what does not fit is shown from its start", () => {
  assert.equal(wayTo({ top: 700, bottom: 2000 }, room), 600);
  assert.equal(wayTo({ top: -50, bottom: 2000 }, room), -150);
  assert.equal(wayTo({ top: 301, bottom: 2000 }, room), 201);
});

test("a start in the upper half is good enough where not all fits", () => {
  assert.equal(wayTo({ top: 300, bottom: 2000 }, room), 0);
});
