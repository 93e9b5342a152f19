import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as soon } from "node:timers/promises";
import { freshPage, settled, treePage } from "../testing/dom.js";
import { LoomToast } from "../elements/loom-toast.js";
import { Refused } from "../live/api.js";
import { Acts } from "./undo.js";

customElements.define("loom-toast", LoomToast);

/** The acts of a page whose last change on the server is `undone`, and what is run. */
function acts(undone) {
  freshPage("<loom-toast></loom-toast>");
  const ran = [];
  const answer = { canonical: "→ undo", reply: "✓", events: [1], step: 9, position: "n1" };
  const page = treePage({ preview: async () => ({ did: { undone } }), say: async (what) => (ran.push(what.command), answer) });
  return { acts: new Acts(page, localStorage), ran };
}

test("a change of rights that was made elsewhere is not undone before it was asked for", async () => {
  const { acts: own, ran } = acts([{ verb: "allow", who: "Wanda" }]);
  await own.undo();
  assert.deepEqual(ran, []);
  const toast = document.querySelector("loom-toast");
  assert.equal(toast.querySelector("span").textContent, "Undo your last change: rights of Wanda?");
  toast.querySelector("button").click();
  await settled();
  assert.deepEqual(ran, ["undo"]);
});

test("any other change that was made elsewhere is undone at once", async () => {
  const { acts: own, ran } = acts([{ verb: "tag" }]);
  await own.undo();
  assert.deepEqual(ran, ["undo"]);
});

/** The acts of a page on which two texts were added, and where the first undo or redo fails with `status`. */
function addedTwo(status) {
  const ran = [];
  const say = async ({ command, args }) => {
    if (ran.push([command, args.ref]) === 1) throw new Refused({ message: "Not now." }, status);
    return { canonical: `→ ${command}`, reply: "", events: [1], step: 9, position: "n1", refs: [] };
  };
  freshPage("<loom-toast></loom-toast>");
  const own = new Acts(treePage({ say, go() {} }), localStorage);
  for (const step of [1, 2]) own.add({ verb: "tag", step, from: "n1", to: "n1" });
  const lists = () => Object.values(own.read()).map((list) => list.map((act) => act.step));
  return { own, ran, lists };
}

test("an undo that the server could not do just now is done by the next one", async () => {
  const { own, ran, lists } = addedTwo(503);
  await own.undo();
  assert.deepEqual(lists(), [[1, 2], []]);
  await own.undo();
  assert.deepEqual(ran.map(([, ref]) => ref), ["step:2", "step:2"]);
  assert.deepEqual(lists(), [[1], [2]]);
});

test("an undo of an earlier act that could not be done keeps its place", async () => {
  const { own, lists } = addedTwo(503);
  await own.undoNumber(1);
  assert.deepEqual(lists(), [[1, 2], []]);
});

test("a redo that the server could not do just now is done by the next one", async () => {
  const { own, lists } = addedTwo(503);
  own.keep({ done: [], undone: own.read().done });
  await own.redo();
  assert.deepEqual(lists(), [[], [1, 2]]);
  await own.redo();
  assert.deepEqual(lists(), [[2], [1]]);
});

test("an undo that is refused for good is not tried again", async () => {
  const { own, lists } = addedTwo(409);
  await own.undo();
  assert.deepEqual(lists(), [[1], []]);
});

test("redo leads back to where it was done, and an accepted candidate is redone", async () => {
  freshPage("<loom-toast></loom-toast>");
  const store = { slotOf: (id) => ["n1", "n2", "n3", "n4"].indexOf(id), selected: (slot) => ["n1", "n2", "n3", "n4"][slot], hasOnPath: (id, ids) => ids.includes(id), ids: ["n1", "n2", "n3", "n4"] };
  const say = async ({ command }) => ({ canonical: `→ ${command}`, reply: "", events: [1], step: 9, position: page.position, refs: [] });
  const page = treePage({ say, store, go: (id) => (page.position = id) });
  const own = new Acts(page, localStorage);
  page.position = "n4";
  own.keep({ done: [], undone: [{ verb: "take", from: "n2", to: "n3" }, { verb: "continue", step: 2, from: "n2", to: "n2" }, { verb: "split", step: 1, from: "n1", to: "n2" }] });
  const places = [];
  for (let times = 0; times < 3; times += 1) {
    await own.redo();
    places.push(page.position);
  }
  assert.deepEqual(places, ["n2", "n2", "n3"]);
  assert.equal(document.querySelector("loom-toast span").textContent, "Redone: accepting a candidate");
  assert.equal(document.querySelector("loom-toast button").textContent, "Undo");
});

test("redo leads to the version that is current once its events are here, though the answer came before", async () => {
  freshPage("<loom-toast></loom-toast>");
  const answer = { canonical: "→ redo", reply: "", stream: "tree:t", events: [6], step: 9, position: "n1", refs: [] };
  const went = [];
  const page = treePage({ say: async () => answer, go: (id) => went.push(id) });
  const store = { slotOf: () => 1, ids: ["n0", "n1"], selected: () => (page.events.seq < 6 ? "n1" : "n2"), hasOnPath: () => true };
  Object.assign(page, { store });
  Object.assign(page.drafts, { of: () => "" });
  page.events.seq = 5;
  const own = new Acts(page, localStorage);
  own.keep({ done: [], undone: [{ verb: "edit", step: 9, from: "n1", to: "n2" }] });
  const told = [];
  own.turns = (...words) => told.push([words[0], words[2]]);
  let isDone = false;
  own.redo().then(() => (isDone = true));
  await settled();
  assert.deepEqual(went, []);
  page.events.seq = 6;
  while (!isDone) await soon(1); // its own timers keep no test alive
  assert.deepEqual([went, told], [["n2"], [["redo", 6]]]);
});
