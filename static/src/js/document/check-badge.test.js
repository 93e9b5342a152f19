import assert from "node:assert/strict";
import { test } from "node:test";
import { newestOf } from "./check-badge.js";

const result = (check, version, outcome) => ({ check, version, outcome, name: check, said: "" });

test("A new result takes the place of an earlier one of the same check", () => {
  const known = [result("a", "2", "failed"), result("b", "2", "passed")];
  assert.deepEqual(newestOf(known, [result("a", "2", "passed")]).map((badge) => [badge.check, badge.outcome]).sort(), [["a", "passed"], ["b", "passed"]]);
});

test("Results of an earlier version are not shown beside those of the newest", () => {
  const known = [result("a", "2", "failed"), result("b", "2", "passed")];
  assert.deepEqual(newestOf(known, [result("b", "3", "passed")]).map((badge) => badge.check), ["b"]);
  assert.deepEqual(newestOf([], []), []);
});
