import assert from "node:assert/strict";
import { test } from "node:test";
import { bare, continueLine, continueLines, isCommand, quoted, withText } from "./lines.js";

test("text goes as a block, untouched", () => {
  assert.equal(withText("respond", ' "a"\n→ prune x\\ '), 'respond\n "a"\n→ prune x\\ \n←');
});

test("text that could end the block is quoted", () => {
  assert.equal(withText("respond", 'a\n←\n"b"\\n'), 'respond "a\\n←\\n\\"b\\"\\\\n"');
});

test("a question names only what was chosen", () => {
  assert.equal(continueLine("", {}), "continue");
  assert.equal(
    continueLine("a7x2", { n: "3", tokens: "60", temperature: "0.9", using: ['The "Muse"', "Ada"] }),
    'continue from a7x2 n:3 tokens:60 temperature:0.9 using agent:"The \\"Muse\\"" agent:"Ada"',
  );
});

test("a line is a command by its arrow, after at most two blanks", () => {
  for (const line of ["→ view a7x2", "  -> undo"]) assert.ok(isCommand(line));
  for (const line of ["    → code", "> quoted", "text → more", "-- >"]) assert.ok(!isCommand(line));
});

test("the arrow is taken off", () => {
  assert.equal(bare("→ undo"), "undo");
  assert.equal(bare("> undo"), "undo");
});

test("quotes escape what the grammar reads", () => {
  assert.equal(quoted('a"b\\c\nd'), '"a\\"b\\\\c\\nd"');
});

test("who gives the same number stands on one line", () => {
  assert.deepEqual(continueLines({ n: "3", tokens: "60", using: ["A", "B", "C"], counts: { B: "1" } }), [
    'continue n:3 tokens:60 using agent:"A" agent:"C"',
    'continue n:1 tokens:60 using agent:"B"',
  ]);
  assert.deepEqual(continueLines({ n: "2" }), ["continue n:2"]);
});
