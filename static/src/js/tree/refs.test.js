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
  const line = (/** @type {string} */ said) => openingOf(said, ["Cast", 'The "old" town']);
  assert.equal(line("http://127.0.0.1:8000/trees/f37rxpn32wfzr48y?node=n4r3"), "open tree:f37rxpn32wfzr48y node:n4r3");
  assert.equal(line("https://a.example/trees/f37rxpn32wfzr48y?past=3&node=n4r3#x"), "open tree:f37rxpn32wfzr48y node:n4r3");
  assert.equal(line("/trees/f37rxpn32wfzr48y"), "open tree:f37rxpn32wfzr48y");
  assert.equal(line("/documents/t48ej7xkyvj3xqgg"), "open doc:t48ej7xkyvj3xqgg");
  assert.equal(line("/trees/f37rxpn32wfzr48y/export"), 'find "/trees/f37rxpn32wfzr48y/export" open');
  assert.equal(line(" cast "), 'open doc:"Cast"');
  assert.equal(line('The "old" town'), 'open doc:"The \\"old\\" town"');
  assert.equal(line('doc:"Cast" §marie'), 'open doc:"Cast" §marie');
  assert.equal(line("[a7x2]"), "open [a7x2]");
  assert.equal(line("a7x2 lines:3-9"), "open a7x2 lines:3-9");
  assert.equal(line("the lost key"), 'find "the lost key" open');
  assert.equal(line("b2b4 deals"), 'find "b2b4 deals" open');
});
