import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeStore } from "../tree/store.js";
import { Leaves, leavesIn } from "./leaves.js";

const ANSWER = { people: ["me", "muse"], ids: ["b1c2", "d3e4"], texts: ["One. ", "🦉 two."], by: [0, [[1, 3], [0, 4]]], slots: { 0: "a1b2" }, at: { 0: "2026-11-22T10:00:00.000000Z" }, excluded: [1] };

/** A page of a path of two texts, the first with two versions; `answers` is asked for each address. */
function pageOf(answers) {
  const heard = {};
  const store = new TreeStore({ seq: 4, ids: ["r1r1", "a1b2", "d3e4", "b1c2"], parents: [null, 0, 1, 0], slots: [0, 1, 2, 1], kinds: ["text", "text", "text", "text"], authors: [0, 0, 0, 0], participants: [{ id: "me" }], flags: [0, 0, 0, 0], lengths: [0, 5, 6, 5] });
  globalThis.fetch = async (url) => {
    const answer = answers(url);
    if (!answer) throw new TypeError("no connection");
    return new Response(JSON.stringify(answer), { headers: { "Content-Type": "application/json" } });
  };
  return { page: { web: "/trees/t", store, events: { on: (kind, run) => (heard[kind] = run) } }, tell: (kind, payload) => heard[kind]({ payload }) };
}

test("an answer in columns becomes nodes, with what it leaves out", () => {
  const [first, second] = leavesIn(ANSWER);
  assert.deepEqual(first, { id: "b1c2", slot: "a1b2", text: "One. ", by: [["me", 5]], at: ANSWER.at[0] });
  assert.deepEqual(second, { id: "d3e4", slot: "d3e4", text: "🦉 two.", by: [["muse", 3], ["me", 4]], excluded: true });
});

test("what was written below another version is marked, until that was read", async () => {
  let wordings = ["a1b2"];
  const { page, tell } = pageOf((url) => ({ ...ANSWER, wordings: url.includes("ids=") ? { 0: null, 1: wordings } : undefined }));
  let changes = 0;
  const leaves = new Leaves(page, () => (changes += 1));
  const older = async () => (await leaves.path("d3e4")).map((leaf) => leaf.older);
  assert.deepEqual(await older(), [false, true]);
  wordings = null;
  assert.deepEqual(await older(), [false, true]); // it is asked for once
  tell("mark.added", { mark: { kind: "read", item: "d3e4" } });
  assert.equal(changes, 1);
  assert.deepEqual(await older(), [false, false]);
});

test("without a connection the texts that are known are shown without marks", async () => {
  const { page } = pageOf(() => null);
  const leaves = new Leaves(page, () => {});
  leaves.take(leavesIn(ANSWER));
  assert.deepEqual((await leaves.path("d3e4")).map((leaf) => [leaf.text, leaf.older]), [["One. ", false], ["🦉 two.", false]]);
});
