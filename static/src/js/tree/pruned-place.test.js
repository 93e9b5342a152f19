import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { freshPage, treePage } from "../testing/dom.js";
import { Contexts } from "./contexts.js";
import { followPrunedPlace, heldUp, prunedAbove } from "./pruned-place.js";
import { TreeStore } from "./store.js";

/** root > n1 > n2 > n3, of which some are pruned. */
function line(...pruned) {
  const ids = ["root", "n1", "n2", "n3"];
  return new TreeStore({ seq: 1, ids, parents: [null, 0, 1, 2], slots: [0, 1, 2, 3], kinds: ids.map(() => "text"), authors: [0, 0, 0, 0], participants: [{ id: "ada" }], flags: ids.map((id) => Number(pruned.includes(id))), lengths: [1, 1, 1, 1] });
}

function pageWith(values = {}, reply = () => null) {
  freshPage("<loom-composer><form></form></loom-composer>", reply);
  return treePage({ store: line("n2"), position: "n3", cast: new Map([["bob", { name: "Bob" }]]), ...values });
}

const shown = () => wait(150);
const box = () => document.querySelector("loom-composer form > .pruned-place");
const press = (label) => [...box().querySelectorAll("button")].find((button) => button.textContent === label).click();

test("at or below a pruned text the composer says so, also after a reload, and leads on", async () => {
  const [went, said] = [[], []];
  const page = pageWith({ go: (id) => went.push(id), say: async (what) => said.push(what) });
  followPrunedPlace(page, new AbortController().signal);
  await shown();
  assert.match(box().textContent, /^The text above was pruned\./);
  page.emit("event", { kind: "node.flagged", actor: "bob", payload: { node: "n2", flag: "pruned", value: true } });
  await shown();
  assert.match(box().textContent, /^The text above was pruned by Bob\./);
  press("Go to the text above");
  press("Restore it");
  assert.deepEqual([went, said], [["n1"], [{ command: "restore", args: { ref: "n2" } }]]);
  page.store = line();
  page.emit("changed");
  await shown();
  assert.equal(box(), null);
});

test("who may only read is not offered to restore, and nobody is told in the past", async () => {
  const page = pageWith({ can: {} });
  followPrunedPlace(page, new AbortController().signal);
  await shown();
  assert.deepEqual([...box().querySelectorAll("button")].map((button) => button.textContent), ["Go to the text above"]);
  assert.equal(prunedAbove({ ...page, isPast: true }), "");
  assert.equal(heldUp({ ...page, position: "n1" }), "");
});

test("what a model would be sent is not asked for there", async () => {
  const asked = [];
  const page = pageWith({ ended: new AbortController() }, (path) => (asked.push(path), {}));
  const contexts = new Contexts(page);
  await assert.rejects(contexts.of("m", "n3", "continue"), /The text above was pruned/);
  assert.deepEqual(asked, []);
  await contexts.of("m", "n1", "continue");
  assert.equal(asked.length, 1);
});
