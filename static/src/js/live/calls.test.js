import assert from "node:assert/strict";
import { test } from "node:test";
import { asBody, call, callOf, putCall, verbOf } from "./calls.js";

test("arguments without a value are left out", () => {
  assert.deepEqual(call("continue", { ref: "", n: "3", tokens: null, using: undefined, keep: false }), { command: "continue", args: { n: "3", keep: false } });
  assert.deepEqual(call("undo"), { command: "undo", args: {} });
});

test("a typed line is sent as a line, a command by its name", () => {
  assert.deepEqual(asBody("view here"), { line: "view here" });
  assert.deepEqual(asBody({ ...call("tag", { ref: "a7x2", names: ["a b"] }), at: "x" }), { command: "tag", args: { ref: "a7x2", names: ["a b"] } });
});

test("a button keeps its command, whatever its arguments hold", () => {
  const kept = new Map();
  const button = { dataset: { set call(value) { kept.set("data-call", value); } }, getAttribute: (name) => kept.get(name) ?? null };
  assert.equal(callOf(button), null);
  const what = call("drop", { ref: 'stash:"a \\"b\\""' });
  putCall(button, what);
  assert.deepEqual(callOf(button), what);
});

test("the verb of a canonical line is its first word", () => {
  assert.equal(verbOf("→ respond\nOne.\n←"), "respond");
  assert.equal(verbOf("→ undo"), "undo");
});
