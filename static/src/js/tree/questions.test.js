// @ts-check
import { test } from "node:test";
import assert from "node:assert/strict";
import { isAsked } from "./questions.js";

test("a question is put to the reader where it begins with their name", () => {
  const node = (/** @type {string} */ text, form = "question", kind = "annotation") => ({ kind, form, text });
  assert.ok(isAsked(node("@Ada Which end?"), "Ada"));
  assert.ok(isAsked(node("@ada: which end?"), "Ada"));
  assert.ok(!isAsked(node("@Adam Which end?"), "Ada"));
  assert.ok(!isAsked(node("Ask @Ada"), "Ada"));
  assert.ok(!isAsked(node("@Ada Which end?", "note"), "Ada"));
  assert.ok(!isAsked(node("@Ada Which end?", "", "text"), "Ada"));
  assert.ok(!isAsked(node("@ Which end?"), ""));
});
