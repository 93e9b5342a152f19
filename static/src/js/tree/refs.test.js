// @ts-check
// What of an answer is a ref: pieces in order, the refs at odd places.

import assert from "node:assert/strict";
import test from "node:test";

import { openingOf, REF } from "./refs.js";

const refs = (/** @type {string} */ words) => words.split(REF).filter((_, at) => at % 2);

test("refs are found as they are written, with the part that they name", () => {
  assert.deepEqual(refs('✓ opened #14 [a7x2] lines 1–3 · keep'), ["[a7x2]"]);
  assert.deepEqual(refs('● doc:"Refs" lines:1 "…lamp is"'), ['doc:"Refs" lines:1']);
  assert.deepEqual(refs('doc:"notes" §motive, doc:"a \\"b\\"" lines:2-9'), ['doc:"notes" §motive', 'doc:"a \\"b\\"" lines:2-9']);
  assert.deepEqual(refs("[f3a7] ──[supports]──→ [doc:s23jvm326hnn42x4]"), ["[f3a7]", "[supports]", "doc:s23jvm326hnn42x4"]);
  assert.deepEqual(refs("[tree:hz6k2c7m node:b3k9]"), ["tree:hz6k2c7m node:b3k9"]);
  assert.deepEqual(refs('in tree:"The river" node:b3k9 and no doc: or tree:'), ['tree:"The river" node:b3k9']);
});

test("what is typed or pasted is opened: pages, titles, refs; other words are searched for", () => {
  const opened = (/** @type {string} */ typed) => {
    const { command, args } = openingOf(typed, ["Cast", 'The "old" town']);
    return command === "open" ? args.ref : args;
  };
  assert.equal(opened("http://127.0.0.1:8000/trees/f37rxpn32wfzr48y?node=n4r3"), "tree:f37rxpn32wfzr48y node:n4r3");
  assert.equal(opened("https://a.example/trees/f37rxpn32wfzr48y?past=3&node=n4r3#x"), "tree:f37rxpn32wfzr48y node:n4r3");
  assert.equal(opened("/trees/f37rxpn32wfzr48y"), "tree:f37rxpn32wfzr48y");
  assert.equal(opened("/documents/t48ej7xkyvj3xqgg"), "doc:t48ej7xkyvj3xqgg");
  assert.deepEqual(opened("/trees/f37rxpn32wfzr48y/export"), { query: "/trees/f37rxpn32wfzr48y/export" });
  assert.equal(opened(" cast "), 'doc:"Cast"');
  assert.equal(opened('The "old" town'), 'doc:"The \\"old\\" town"');
  assert.equal(opened('doc:"Cast" §marie'), 'doc:"Cast" §marie');
  assert.equal(opened("[a7x2]"), "[a7x2]");
  assert.equal(opened("a7x2 lines:3-9"), "a7x2 lines:3-9");
  assert.deepEqual(opened("the lost key"), { query: "the lost key" });
  assert.deepEqual(opened("b2b4 deals"), { query: "b2b4 deals" });
});
