// @ts-check
// What of an answer is a ref: pieces in order, the refs at odd places.

import assert from "node:assert/strict";
import test from "node:test";

import { REF } from "./refs.js";

const refs = (/** @type {string} */ words) => words.split(REF).filter((_, at) => at % 2);

test("refs are found as they are written, with the part that they name", () => {
  assert.deepEqual(refs('✓ opened #14 [a7x2] lines 1–3 · keep'), ["[a7x2]"]);
  assert.deepEqual(refs('● doc:"Refs" lines:1 "…lamp is"'), ['doc:"Refs" lines:1']);
  assert.deepEqual(refs('doc:"notes" §motive, doc:"a \\"b\\"" lines:2-9'), ['doc:"notes" §motive', 'doc:"a \\"b\\"" lines:2-9']);
  assert.deepEqual(refs("[f3a7] ──[supports]──→ [doc:s23jvm326hnn42x4]"), ["[f3a7]", "[supports]", "doc:s23jvm326hnn42x4"]);
  assert.deepEqual(refs("[tree:hz6k2c7m node:b3k9]"), ["tree:hz6k2c7m node:b3k9"]);
  assert.deepEqual(refs('in tree:"The river" node:b3k9 and no doc: or tree:'), ['tree:"The river" node:b3k9']);
});
