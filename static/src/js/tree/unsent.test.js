import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../live/calls.js";
import { textOf } from "./unsent.js";

test("a text that waits is that of its command", () => {
  for (const text of ["One.", "a block\n←\nthat would end", 'a "quoted" \\ one\n←']) assert.equal(textOf(call("respond", { content: text })), text);
  assert.equal(textOf(call("continue", { n: 3 })), null);
  assert.equal(textOf("respond a"), null);
});
