import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, place, treePage } from "../testing/dom.js";
import { treeOf } from "../testing/trees.js";
import { TreeStore } from "../tree/store.js";
import { LoomOutline } from "./loom-outline.js";

customElements.define("loom-outline", LoomOutline);

/** root > a > b > (c, d > e) */
const tree = () => treeOf(["root", "a", "b", "c", "d", "e"], [null, 0, 1, 2, 2, 4]);

const LEFT = { expanded: [], collapsed: [], scores: {} };

function outline(reply = () => LEFT, values = {}) {
  const { body } = freshPage('<div id="pane"></div>', reply);
  const excerpts = Object.assign(new EventTarget(), { of: (id) => `text of ${id}` });
  const gone = [];
  const page = treePage({ position: "b", store: tree(), excerpts, go: (id) => gone.push(id), ...values });
  const pane = body.querySelector("#pane");
  Object.defineProperty(pane, "clientHeight", { value: 600 });
  const element = place(LoomOutline, { inside: pane });
  element.follow();
  return { page, element, gone, pane };
}
const rows = (element) => [...element.list.children].map((row) => row.querySelector(".excerpt").textContent.slice("text of ".length));
const press = (element, key) => element.pressed(Object.assign(new Event("keydown", { cancelable: true }), { key }));

test("the way to the reader's position is unfolded, and what is there", () => {
  assert.deepEqual(rows(outline().element), ["a", "b", "c", "d"]);
});

test("only rows in sight are drawn, and a scroll draws others", () => {
  const count = 400;
  const ids = Array.from({ length: count }, (_, at) => `n${at}`);
  const store = new TreeStore({ seq: 1, ids, parents: ids.map((_, at) => (at ? 0 : null)), slots: ids.map((_, at) => at), kinds: ids.map(() => "text"), authors: ids.map(() => 0), participants: [{ id: "ada" }], flags: ids.map(() => 0), lengths: ids.map(() => 1) });
  const { element, pane } = outline(undefined, { store, position: "n1" });
  assert.ok(element.list.childElementCount < 40);
  pane.scrollTop = 28 * 200;
  pane.dispatchEvent(new Event("scroll"));
  assert.ok(rows(element).includes("n210"));
  assert.ok(!rows(element).includes("n1"));
});

test("arrows unfold, go in, fold and go out", () => {
  const { element } = outline();
  const at = () => element.page.store.ids[element.rows[element.active].slot];
  press(element, "End");
  assert.equal(at(), "d");
  press(element, "ArrowRight");
  assert.deepEqual(rows(element), ["a", "b", "c", "d", "e"]);
  press(element, "ArrowRight");
  assert.equal(at(), "e");
  press(element, "ArrowLeft");
  assert.equal(at(), "d");
  press(element, "ArrowLeft");
  assert.deepEqual(rows(element), ["a", "b", "c", "d"]);
  press(element, "Home");
  assert.equal(at(), "a");
});

test("one row has the focus, and Enter goes to its text", () => {
  const { element, gone } = outline();
  press(element, "ArrowDown");
  press(element, "Enter");
  assert.deepEqual(gone, ["c"]);
  assert.deepEqual([...element.list.children].map((row) => row.tabIndex), [-1, -1, 0, -1]);
  assert.equal(document.activeElement, element.list.children[2]);
});

test("a press on its twig folds a row, elsewhere it goes there", () => {
  const { element, gone } = outline();
  element.list.children[1].querySelector(".twig").click();
  assert.deepEqual(rows(element), ["a", "b"]);
  element.list.children[0].querySelector(".excerpt").click();
  assert.deepEqual(gone, ["a"]);
});

test("rows that are as they were stay the same elements", () => {
  const { element } = outline();
  const before = element.list.children;
  element.paint();
  assert.deepEqual([...element.list.children].map((row, at) => row === before[at]), [true, true, true, true]);
});

test("what a line expanded, collapsed and found is shown so", async () => {
  const { element } = outline(() => ({ expanded: ["d"], collapsed: [], scores: { e: 0.5 } }));
  await element.read();
  assert.deepEqual(rows(element), ["a", "b", "c", "d", "e"]);
  assert.equal(element.list.children[4].querySelector(".hit").textContent, "● 0.50");
  const folded = outline(() => ({ expanded: [], collapsed: ["b"], scores: {} }));
  await folded.element.read();
  assert.deepEqual(rows(folded.element), ["a", "b"]);
});

test("the outline is as the last line left it, whichever answer comes last", async () => {
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  const { element } = outline(() => answers.shift().promise);
  const reads = [element.read(), element.read()];
  newer.give({ expanded: [], collapsed: ["b"], scores: {} });
  await reads[1];
  older.give({ expanded: ["d"], collapsed: [], scores: {} });
  await reads[0];
  assert.deepEqual(element.left.collapsed, ["b"]);
  assert.deepEqual(rows(element), ["a", "b"]);
});

test("what a filter shows is open until it is folded", () => {
  const store = tree();
  const sieve = { matches: new Set([4]), childrenOf: (slot) => ({ 0: [1], 1: [2], 2: [4] })[slot] ?? [] };
  const { element } = outline(undefined, { store, filter: Object.assign(new EventTarget(), { isOn: true, sieve: () => sieve }) });
  assert.deepEqual(rows(element), ["a", "b", "d"]);
  assert.deepEqual([...element.list.children].map((row) => row.classList.contains("aside")), [true, true, false]);
  element.list.children[1].querySelector(".twig").click();
  assert.deepEqual(rows(element), ["a", "b"]);
});
