import assert from "node:assert/strict";
import { test } from "node:test";
import { marked } from "./news.js";

test("the title says how much is new, once", () => {
  assert.equal(marked("House · Heddle", 2), "(2) House · Heddle");
  assert.equal(marked("(2) House · Heddle", 3), "(3) House · Heddle");
  assert.equal(marked("(3) House · Heddle", 0), "House · Heddle");
});
