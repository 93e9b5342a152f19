import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "./backoff.js";

test("each wait is twice the one before, up to the limit", () => {
  const backoff = new Backoff({ first: 100, limit: 350, dice: () => 1 });
  assert.deepEqual([backoff.next(), backoff.next(), backoff.next(), backoff.next()], [100, 200, 350, 350]);
});

test("jitter takes at most half away", () => {
  const backoff = new Backoff({ first: 100, dice: () => 0 });
  assert.equal(backoff.next(), 50);
});

test("after success it begins again", () => {
  const backoff = new Backoff({ first: 100, dice: () => 1 });
  backoff.next();
  backoff.next();
  backoff.reset();
  assert.equal(backoff.next(), 100);
});
