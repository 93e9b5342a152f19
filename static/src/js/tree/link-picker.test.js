import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOf, refOf } from "./link-picker.js";

test("an id or a name of a line is meant as it is typed, words are looked for", () => {
  assert.equal(refOf(" [A7x2] "), "a7x2");
  assert.equal(refOf('doc:"The debts"'), 'doc:"The debts"');
  assert.equal(refOf("tree:abc node:b3k9"), "tree:abc node:b3k9");
  assert.equal(refOf("lamp"), "");
  assert.equal(refOf("doc: "), "");
});

test("a target is named in the field by its id and words, or by its title, and not too long", () => {
  assert.equal(nameOf({ ref: "a7x2", kind: "here", words: "The lamp is lit.", soft: "Ada" }), "[a7x2] The lamp is lit.");
  assert.equal(nameOf({ ref: "doc:1", kind: "documents", words: "The debts", soft: "" }), "The debts");
  assert.equal(nameOf({ ref: "doc:1", kind: "documents", words: "x".repeat(200), soft: "" }).length, 90);
});
