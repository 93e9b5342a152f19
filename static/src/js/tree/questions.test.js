// @ts-check
import { test } from "node:test";
import assert from "node:assert/strict";
import { isAsked, namesIn } from "./questions.js";

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

test("names behind an @ are found as whole words, the longer one of two that begin alike", () => {
  assert.deepEqual(namesIn("Ask @ada, and @Ada Lovelace.", ["Ada", "Ada Lovelace"]), ["Ada Lovelace", "Ada"]);
  assert.deepEqual(namesIn("Ask @Ada Lovelace.", ["Ada", "Ada Lovelace"]), ["Ada Lovelace"]);
  assert.deepEqual(namesIn("me@ada.org @@ada @adam @Ada_", ["Ada"]), []);
  assert.deepEqual(namesIn("@ nobody", [""]), []);
});
