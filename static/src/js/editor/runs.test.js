import assert from "node:assert/strict";
import { test } from "node:test";
import { codePoints, cut, joined, leastChange, nextWord, ownerOf, repainted, stretched, spread } from "./runs.js";

const change = (from, to, length) => ({ from, to, length });
const after = (lengths, ...changes) => {
  const { lengths: next, touched } = stretched(lengths, changes);
  return [next, [...touched].sort()];
};

test("what is typed in a node is the node's, behind the last one the working buffer's", () => {
  assert.deepEqual(after([5, 5, 0], change(2, 2, 3)), [[8, 5, 0], [0]]);
  assert.deepEqual(after([5, 5, 0], change(10, 10, 3)), [[5, 5, 3], [2]]);
  assert.deepEqual(after([5, 5, 4], change(12, 12, 1)), [[5, 5, 5], [2]]);
  assert.deepEqual(after([0], change(0, 0, 4)), [[4], [0]]);
});

test("between two nodes it belongs to the one before, at the very start to the first", () => {
  assert.deepEqual(after([5, 5, 0], change(5, 5, 2)), [[7, 5, 0], [0]]);
  assert.deepEqual(after([5, 5, 0], change(0, 0, 2)), [[7, 5, 0], [0]]);
  assert.equal(ownerOf([5, 0, 0], 5), 2);
});

test("a selection over several nodes is taken from each, and what came goes to the first", () => {
  assert.deepEqual(after([5, 5, 5, 2], change(3, 12, 4)), [[7, 0, 3, 2], [0, 1, 2]]);
  assert.deepEqual(after([5, 5, 2], change(5, 12, 1)), [[5, 1, 0], [1, 2]]);
  assert.deepEqual(after([5, 5, 2], change(0, 12, 0)), [[0, 0, 0], [0, 1, 2]]);
});

test("several changes at once count in the old places", () => {
  assert.deepEqual(after([5, 5, 0], change(1, 2, 1), change(5, 6, 3), change(10, 10, 2)), [[5, 7, 2], [0, 1, 2]]);
});

test("lengths always add up, whatever is changed", () => {
  let seed = 7;
  const dice = (most) => (seed = (seed * 48271) % 2147483647) % (most + 1);
  for (let round = 0; round < 500; round += 1) {
    const lengths = Array.from({ length: 1 + dice(6) }, () => dice(8));
    const total = lengths.reduce((sum, part) => sum + part, 0);
    const from = dice(total);
    const to = from + dice(total - from);
    const length = dice(5);
    const next = stretched(lengths, [change(from, to, length)]).lengths;
    assert.ok(next.every((part) => part >= 0));
    assert.equal(next.reduce((sum, part) => sum + part, 0), total - (to - from) + length);
    const pieces = joined(lengths.map((size, at) => [{ who: String(at), length: size, fresh: false }]));
    const painted = repainted(pieces, [change(from, to, length)], "me");
    assert.equal(painted.reduce((sum, piece) => sum + piece.length, 0), total - (to - from) + length);
  }
});

test("typed characters are the typist's, the rest stays whose it was", () => {
  const pieces = [{ who: "m", length: 10, fresh: false }];
  assert.deepEqual(repainted(pieces, [change(4, 6, 3)], "me"), [
    { who: "m", length: 4, fresh: false },
    { who: "me", length: 3, fresh: true },
    { who: "m", length: 4, fresh: false },
  ]);
  assert.deepEqual(cut(repainted(pieces, [change(4, 6, 3)], "me"), 3, 8), [
    { who: "m", length: 1, fresh: false },
    { who: "me", length: 3, fresh: true },
    { who: "m", length: 1, fresh: false },
  ]);
});

test("the least change leaves both ends alone and cuts no character", () => {
  assert.deepEqual(leastChange("one two three", "one 2 three"), { from: 4, to: 7, insert: "2" });
  assert.deepEqual(leastChange("aaa", "aaaa"), { from: 3, to: 3, insert: "a" });
  assert.deepEqual(leastChange("a🦉b", "a🦊b"), { from: 1, to: 3, insert: "🦊" });
  assert.deepEqual(leastChange("same", "same"), { from: 4, to: 4, insert: "" });
  for (const [before, now] of [["", "x"], ["x", ""], ["ab\r\n", "ab\n"], ["🦉🦉", "🦉"]]) {
    const { from, to, insert } = leastChange(before, now);
    assert.equal(before.slice(0, from) + insert + before.slice(to), now);
  }
});

test("a ghost is taken word by word, with the blanks before each", () => {
  const words = [];
  let rest = " it was warm, as ‘if’ it’d …\n\nBeen";
  while (rest) {
    words.push(nextWord(rest));
    rest = rest.slice(words.at(-1).length);
  }
  assert.deepEqual(words.slice(0, 4), [" it", " was", " warm", ","]);
  assert.equal(words.join(""), " it was warm, as ‘if’ it’d …\n\nBeen");
  assert.equal(nextWord("   "), "   ");
});

test("places are told in characters, as the server counts them", () => {
  assert.equal(codePoints("a🦉e\u0301"), 4);
});

test("what is typed anywhere in many pieces changes those characters and no others", () => {
  let seed = 7;
  const dice = (/** @type {number} */ most) => (seed = (seed * 48271) % 2147483647) % most;
  const spelled = (/** @type {any[]} */ pieces) => pieces.flatMap(({ who, length, fresh }) => Array(length).fill(who + Number(fresh)));
  for (let round = 0; round < 500; round += 1) {
    const pieces = joined([Array.from({ length: dice(8) }, () => ({ who: "ab"[dice(2)], length: dice(5), fresh: dice(2) === 0 }))]);
    const before = spelled(pieces);
    const kept = JSON.stringify(pieces);
    const changes = [];
    const after = [];
    let at = 0;
    for (let many = dice(4); many > 0; many -= 1) {
      const from = at + dice(before.length - at + 1);
      const to = from + dice(before.length - from + 1);
      const length = dice(3);
      changes.push({ from, to, length });
      after.push(...before.slice(at, from), ...Array(length).fill("a1"));
      at = to;
    }
    after.push(...before.slice(at));
    const painted = repainted(pieces, changes, "a");
    assert.deepEqual(spelled(painted), after);
    assert.ok(painted.every((piece, place) => piece.length && (!place || piece.who !== painted[place - 1].who || piece.fresh !== painted[place - 1].fresh)));
    assert.equal(JSON.stringify(pieces), kept, "a piece may be part of another book");
    const [from, to] = [dice(before.length + 2), dice(before.length + 2)];
    assert.deepEqual(spelled(cut(pieces, from, to)), before.slice(from, Math.max(from, to)));
  }
});

test("texts that follow each other take over what was typed in them as one", () => {
  assert.deepEqual(spread(["The ", "house"], "The big house"), ["The big ", "house"]);
  assert.deepEqual(spread(["The ", "house"], "The house."), ["The ", "house."]);
  assert.deepEqual(spread(["The ", "old ", "house"], "That house"), ["That", " ", "house"]);
  assert.deepEqual(spread(["The ", "house"], "The house"), ["The ", "house"]);
});
