import assert from "node:assert/strict";
import { test } from "node:test";
import * as Y from "yjs";

globalThis.document = Object.assign(new EventTarget(), { querySelector: () => null, documentElement: { lang: "en", style: {} } });
globalThis.window ??= globalThis;
globalThis.location = { origin: "https://heddle.test" };
const { runsOf, shares, Writers } = await import("./authors.js");

/** A document that two clients have written in: 1 wrote "One.", 2 put " Two" into it and took the full stop. */
function written() {
  const [first, second] = [1, 2].map((client) => Object.assign(new Y.Doc(), { clientID: client }));
  first.getText("text").insert(0, "One. And more.");
  Y.applyUpdate(second, Y.encodeStateAsUpdate(first));
  second.getText("text").insert(3, " Two");
  second.getText("text").delete(7, 1);
  Y.applyUpdate(first, Y.encodeStateAsUpdate(second));
  return first;
}

test("letters are told apart by who typed them, and what was deleted is nobody's", () => {
  const doc = written();
  assert.equal(doc.getText("text").toString(), "One Two And more.");
  assert.deepEqual(runsOf(doc.getText("text")), [[1, 3], [2, 4], [1, 10]]);
});

test("each client is asked for once, and who is here is known without asking", async () => {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(String(url));
    return new Response(JSON.stringify({ clients: { 1: "ada" }, cast: { ada: [3, "Ada"] } }), { headers: { "Content-Type": "application/json" } });
  };
  const awareness = { getStates: () => new Map([[2, { user: { id: "ben" } }]]) };
  const cast = { ben: [1, "Ben"] };
  const writers = new Writers({ id: "d1", me: "me", doc: { clientID: 9 }, awareness }, cast);
  let news = 0;
  writers.addEventListener("known", () => (news += 1));
  await writers.ask([1, 2, 9, 1, 4]);
  await writers.ask([1, 4]);
  assert.equal(asked.length, 1);
  assert.match(asked[0], /\/documents\/d1\/writers\?clients=1,4$/);
  assert.deepEqual([1, 2, 9, 4].map((client) => writers.of(client)), ["ada", "ben", "me", ""]);
  assert.deepEqual(cast.ada, [3, "Ada"]);
  assert.equal(news, 1);
  assert.deepEqual(shares([[1, 3], [2, 4], [4, 9], [1, 10]], writers), [["ada", 13], ["ben", 4]]);
});
