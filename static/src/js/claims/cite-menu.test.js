import assert from "node:assert/strict";
import { test } from "node:test";
import { citing, matching, quotable } from "./cite-menu.js";

test("a quote has enough characters, and not too many", () => {
  assert.equal(quotable("  too short "), "");
  assert.equal(quotable(" the lamp goes out "), "the lamp goes out");
  assert.equal(quotable("a".repeat(1501)), "");
});

test("each side is a command of its own; without words all of the text is cited", () => {
  const chosen = { ref: "a7x2", words: "the lamp goes out", box: /** @type {any} */ (null) };
  assert.deepEqual(citing("for", chosen, "c4m2"), { command: "cite_for", args: { ref: "a7x2", words: "the lamp goes out", claim: "c4m2" } });
  assert.deepEqual(citing("against", { ...chosen, words: "" }, "c4m2"), { command: "cite_against", args: { ref: "a7x2", claim: "c4m2" } });
  assert.equal(citing("for", { ...chosen, ref: "doc:x2y3" }, "c4m2").command, "cite_document_for");
  assert.deepEqual(citing("undercuts", chosen, "c4m2", "b3k9").args.other, "b3k9");
});

test("claims are found by all of the words", () => {
  const claims = ["The lamp is lit", "The sailor is drunk"].map((statement, at) => ({ id: String(at), statement, state: "testing" }));
  assert.deepEqual(matching(claims, "LIT the").map(({ id }) => id), ["0"]);
  assert.equal(matching(claims, "").length, 2);
});
