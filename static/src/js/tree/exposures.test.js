import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { Exposures } from "./exposures.js";

Object.assign(globalThis, { innerHeight: 900, innerWidth: 1440 });
const onScreen = { top: 0, bottom: 10, left: 0, right: 10 };
const away = { top: 90_000, bottom: 90_010, left: 0, right: 10 };
const card = (id, place = onScreen) => ({ getAttribute: () => id, getBoundingClientRect: () => place });

function logged(cards, reply = { logged: true }) {
  const sent = [];
  freshPage("", (url, options) => {
    sent.push([url, options.body]);
    return reply;
  });
  Object.defineProperty(document, "visibilityState", { value: "visible", configurable: true });
  const shown = { point: "p", order: "siblings", cards };
  return { sent, shown, exposures: new Exposures("t1", "tree", () => shown) };
}

test("what was on the screen is told once, in its order", async () => {
  const { sent, exposures } = logged([card("b"), card("a"), card("c", away)]);
  await exposures.tell();
  await exposures.tell();
  assert.equal(sent.length, 1);
  assert.equal(sent[0][0], "/api/trees/t1/exposures");
  assert.deepEqual(sent[0][1], { point: "p", shown: ["b", "a"], where: "tree", order: "siblings" });
});

test("what comes to the screen later is told with what was seen before", async () => {
  const { sent, shown, exposures } = logged([card("a"), card("b"), card("c", away)]);
  await exposures.tell();
  shown.cards = [card("a", away), card("b"), card("c")];
  await exposures.tell();
  assert.deepEqual(sent[1][1].shown, ["a", "b", "c"]);
});

test("one card alone is no choice, and what was not seen was not opened", async () => {
  const { sent, exposures } = logged([card("a"), card("b", away)]);
  await exposures.tell();
  await exposures.opened("b");
  assert.deepEqual(sent, []);
});

test("nothing more is told once it is switched off", async () => {
  const { sent, shown, exposures } = logged([card("a"), card("b")], { logged: false });
  await exposures.tell();
  shown.cards = [card("b"), card("a")];
  await exposures.tell();
  assert.equal(sent.length, 1);
});
