import assert from "node:assert/strict";
import { test } from "node:test";
import { countOf, sumOf } from "./counting.js";
import { matchesIn, towardsMatch } from "../tree/matches.js";
import { markdownOf, storable } from "./pasting.js";
import { spansIn } from "./styling.js";

const sought = (query, isExact = false) => ({ query, isExact, isReplacing: false });

test("matches are found as typed, in any case, and signs mean themselves", () => {
  assert.deepEqual(matchesIn("A cat. a CAT", sought("cat"), 10), [{ from: 12, to: 15 }, { from: 19, to: 22 }]);
  assert.equal(matchesIn("A cat. a CAT", sought("cat", true)).length, 1);
  assert.deepEqual(matchesIn("1+1 (x)", sought("(x)")), [{ from: 4, to: 7 }]);
  assert.deepEqual(matchesIn("🙂a", sought("a")), [{ from: 2, to: 3 }]);
  assert.deepEqual(matchesIn("aaaa", sought("aa")).length, 2);
  assert.deepEqual(matchesIn("a", sought("")), []);
});

test("the next match is behind the caret, and around at the ends", () => {
  const matches = [{ from: 2, to: 4 }, { from: 8, to: 10 }];
  assert.equal(towardsMatch(matches, { from: 4, to: 4 }, 1), matches[1]);
  assert.equal(towardsMatch(matches, matches[1], 1), matches[0]);
  assert.equal(towardsMatch(matches, matches[0], -1), matches[1]);
  assert.equal(towardsMatch([], { from: 0, to: 0 }, 1), undefined);
});

test("Markdown is styled with its signs in place", () => {
  assert.deepEqual(spansIn("## A *b*").map((span) => [span.kind, span.from, span.to]), [["heading h2", 0, 8], ["sign", 0, 2], ["em", 6, 7], ["sign", 5, 6], ["sign", 7, 8]]);
  assert.deepEqual(spansIn("**bold** `co*de*`").filter((span) => span.kind !== "sign").map((span) => span.kind), ["strong", "code"]);
  assert.deepEqual(spansIn("> said").map((span) => span.kind), ["quote", "sign"]);
});

test("what only looks like Markdown stays plain, and so does a huge line", () => {
  for (const line of ["#hash", "2 * 3 * 4", "snake_case_name", "a*", "**", "* item"]) assert.deepEqual(spansIn(line), [], line);
  assert.deepEqual(spansIn(`*a* ${"x".repeat(5000)}`), []);
});

test("words across the nodes of a path are counted once", () => {
  const sum = (...texts) => sumOf(texts.map(countOf));
  assert.equal(sum("She put", " her hand"), 4);
  assert.equal(sum("She pu", "t her"), 3);
  assert.equal(sum("a", "", "b"), 1);
  assert.equal(sum("a ", "", "b"), 2);
  assert.equal(sum("", "  ", ""), 0);
  assert.equal(sum("猫が", "いる"), 4);
  assert.equal(sum("🙂", "🙂 x"), 2);
});

const text = (words) => ({ nodeType: 3, nodeName: "#text", textContent: words, childNodes: [] });
const element = (name, children, attributes = {}) => ({
  nodeType: 1,
  nodeName: name,
  childNodes: children.map((child) => (typeof child === "string" ? text(child) : child)),
  textContent: children.map((child) => (typeof child === "string" ? child : child.textContent)).join(""),
  getAttribute: (wanted) => attributes[wanted] ?? null,
});

test("what was copied from a page becomes Markdown", () => {
  const page = element("BODY", [
    element("H2", ["A title"]),
    element("P", ["One ", element("B", ["bold "]), element("I", ["word"]), element("BR", []), "next"]),
    element("UL", [element("LI", ["a"]), element("LI", ["b"])]),
    element("OL", [element("LI", ["x"]), element("LI", ["y"])]),
    element("BLOCKQUOTE", [element("P", ["said"])]),
    element("P", [element("A", ["there"], { href: "https://a.b/" }), element("A", ["no"], { href: "javascript:x" })]),
    element("SCRIPT", ["bad()"]),
    element("B", ["not bold"], { style: "font-weight:normal" }),
  ]);
  assert.equal(markdownOf(page), "## A title\n\nOne **bold** *word*\nnext\n\n- a\n- b\n\n1. x\n2. y\n\n> said\n\n[there](https://a.b/)no\n\nnot bold");
});

test("what cannot be kept of a pasted text is left out, and nothing else", () => {
  assert.equal(storable("a\0b\u0001\tc\r\n"), "ab\u0001\tc\r\n");
  assert.equal(storable("half \ud83d, other half \ude00, whole 😀"), "half \ufffd, other half \ufffd, whole 😀");
});
