// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeStore } from "./store.js";
import { aboutVersion, followWordings } from "./newer-wordings.js";

/** root, a text "a" with versions a2 and a3, and "b" below. @param {Record<string, string>} [choices] */
const tree = (choices) =>
  new TreeStore({ seq: 0, ids: ["root", "a", "a2", "b", "a3"], parents: [null, 0, 0, 1, 0], slots: [0, 1, 1, 3, 1], kinds: ["text", "text", "text", "text", "text"], authors: [0, 0, 0, 0, 0], participants: [{ id: "p" }], flags: [0, 0, 0, 0, 0], lengths: [0, 1, 1, 1, 1] }, choices);

test("who stands at the wording before a new one goes to it", () => {
  assert.equal(aboutVersion(tree(), "a2", "a3"), "go");
  assert.equal(aboutVersion(tree(), "a3", "a3"), "");
  assert.equal(aboutVersion(tree(), "b", "a3"), ""); // drawn with it already
});

test("who reads an older wording on purpose is asked", () => {
  assert.equal(aboutVersion(tree(), "a", "a3"), "offer");
  assert.equal(aboutVersion(tree({ a: "a2" }), "a2", "a3"), "offer");
  assert.equal(aboutVersion(tree({ a: "a" }), "b", "a3"), "offer");
  assert.equal(aboutVersion(tree({ a: "a" }), "root", "a3"), "");
});

/** A page at a2, to which a3 has come. @param {import("node:test").TestContext} context */
function pageAtOlder(context) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  /** @type {any} */ (globalThis).document = { getElementById: () => null, querySelector: () => null };
  const page = Object.assign(new EventTarget(), {
    store: tree(),
    position: "a2",
    settings: { me: "p" },
    /** @param {string} id */
    go(id) {
      page.position = id;
      page.dispatchEvent(new Event("moved"));
    },
  });
  followWordings(/** @type {any} */ (page), new AbortController().signal);
  const node = { id: "a3", slot: "a", kind: "text" };
  page.dispatchEvent(new CustomEvent("event", { detail: { kind: "node.added", payload: { node }, actor: "p" } }));
  return page;
}

test("the page goes to a wording that was saved elsewhere", (context) => {
  const page = pageAtOlder(context);
  context.mock.timers.runAll();
  assert.equal(page.position, "a3");
});

test("who left a new wording again before it was looked at is not led back to it", (context) => {
  const page = pageAtOlder(context);
  page.go("a3"); // by the answer of the edit
  page.go("a2"); // by undo
  context.mock.timers.runAll();
  assert.equal(page.position, "a2");
});
