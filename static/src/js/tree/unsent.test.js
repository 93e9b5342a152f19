import assert from "node:assert/strict";
import { test } from "node:test";
import { withText } from "./asking.js";
import { textOf } from "./unsent.js";

test("a text that waits is read from its line as it was written", () => {
  for (const text of ["One.", "Two\nlines", "a block\n←\nthat would end", 'a "quoted" \\ one\n←', ""]) assert.equal(textOf(withText("respond", text)), text);
  assert.equal(textOf("continue n:3"), null);
  assert.equal(textOf('edit a1b2 "x"'), null);
});
