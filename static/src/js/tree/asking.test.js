import assert from "node:assert/strict";
import { test } from "node:test";
import { bare, callsAgain, continueCall, continueCalls, costOf, dollars, inWords, isCommand, quoted } from "./asking.js";

const reader = { tokens: 2000, how: "counted", length: 500, prices: { input: 1, output: 2 }, caches_from: null };
const estimate = {
  money: { left_usd: 0.5 },
  participants: [
    { ...reader, name: "Muse" },
    { ...reader, name: "Keeper", prices: { input: 1, output: 2, cached: 0.1 }, caches_from: 1024 },
    { ...reader, name: "Free", prices: null, tokens: 3000, how: "estimated" },
  ],
};

test("each candidate reads the path and writes as much as it may", () => {
  const cost = costOf(estimate, { n: "3", tokens: "100", using: ["Muse"] }, "");
  assert.equal(cost.usd, (3 * 2000 + 3 * 100 * 2) / 1e6);
  assert.equal(inWords(cost), "2,000 input tokens · at most $0.0066 · $0.50 left today");
});

test("where the provider keeps paths, the others read it from there", () => {
  const cost = costOf(estimate, { n: "1", using: ["Keeper"], counts: { Keeper: "3" } }, "");
  assert.equal(cost.usd, (2000 * (1 + 2 * 0.1) + 3 * 500 * 2) / 1e6);
});

test("where no price is known none is said", () => {
  const cost = costOf(estimate, { n: "3", using: ["Free"] }, "");
  assert.equal(inWords(cost), "about 3,000 input tokens");
});

test("what is typed and not yet sent is read too", () => {
  assert.equal(costOf(estimate, { using: ["Muse"] }, "Marie waits.").tokens, 2003);
});

test("more than is left is said", () => {
  const cost = costOf({ ...estimate, money: { left_usd: 0.001 } }, { n: "5", using: ["Muse"] }, "");
  assert.ok(cost.over);
  assert.match(inWords(cost), /answers stop at this limit/);
});

test("amounts have two figures that count", () => {
  assert.deepEqual([0, 0.0000001, 0.0123, 0.999, 12.345].map(dollars), ["$0.00", "under $0.000001", "$0.012", "$1.00", "$12.35"]);
});

test("a question names only what was chosen", () => {
  assert.deepEqual(continueCall("", {}), { command: "continue", args: {} });
  assert.deepEqual(continueCall("a7x2", { n: "3", tokens: "60", temperature: "0.9", using: ['The "Muse"', "Ada"] }), {
    command: "continue",
    args: { ref: "a7x2", n: "3", tokens: "60", temperature: "0.9", using: ['agent:"The \\"Muse\\""', 'agent:"Ada"'] },
  });
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

test("models with the same number are asked at once", () => {
  assert.deepEqual(
    continueCalls({ n: "3", tokens: "60", using: ["A", "B", "C"], counts: { B: "1" } }).map(({ args }) => args),
    [
      { n: "3", tokens: "60", using: ['agent:"A"', 'agent:"C"'] },
      { n: "1", tokens: "60", using: ['agent:"B"'] },
    ],
  );
  assert.deepEqual(continueCalls({ n: "2" }), [{ command: "continue", args: { n: "2" } }]);
});

test("more of the same repeats every setting, each participant's own", () => {
  const asked = {
    Muse: { n: 2, tokens: 120, temperature: 0.7, settings: "" },
    Keeper: { n: 1, tokens: null, temperature: null, settings: "min_p=0.1" },
    Scribe: { n: 2, tokens: 120, temperature: 0.7, settings: "" },
  };
  assert.deepEqual(callsAgain(asked).map(({ args }) => args), [
    { n: "2", tokens: "120", temperature: "0.7", using: ['agent:"Muse"', 'agent:"Scribe"'] },
    { n: "1", settings: "min_p=0.1", using: ['agent:"Keeper"'] },
  ]);
  assert.deepEqual(callsAgain({}).map(({ args }) => args), [{ n: "3" }]);
});
