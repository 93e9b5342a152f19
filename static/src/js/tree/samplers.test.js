import assert from "node:assert/strict";
import { test } from "node:test";
import { filled, valuesOf } from "./samplers.js";

test("fields become settings, empty ones none, and settings fields again", () => {
  const fields = [["top_p", "0.9"], ["top_k", ""], ["seed", "7"], ["stop", "\\n\\n\nThe end"], ["logit_bias", "1734 -100\n5: 2.5"], ["grammar", 'root ::= "a"'], ["min_p", "x"]];
  const values = valuesOf(fields);
  assert.deepEqual(values, { top_p: 0.9, seed: 7, stop: ["\n\n", "The end"], logit_bias: { 1734: -100, 5: 2.5 }, grammar: 'root ::= "a"' });
  const shown = Object.entries(values).map(([name, value]) => [name, filled(value)]);
  assert.deepEqual(valuesOf(shown), values);
  assert.equal(filled(undefined), "");
});
