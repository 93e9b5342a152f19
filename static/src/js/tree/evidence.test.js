import assert from "node:assert/strict";
import { test } from "node:test";
import { citing, quotable } from "./evidence.js";

test("a quote has enough characters, and not too many", () => {
  assert.equal(quotable("  too short "), "");
  assert.equal(quotable(" the lamp goes out "), "the lamp goes out");
  assert.equal(quotable("a".repeat(1501)), "");
});

test("the address carries the words", () => {
  assert.equal(citing("/trees/x", "a7x2", "lamp & night"), "/trees/x/claims?cite=a7x2&words=lamp%20%26%20night");
});
