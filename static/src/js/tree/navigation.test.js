import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, settled, treePage } from "../testing/dom.js";
import { LoomToast } from "../elements/loom-toast.js";
import { bookmarkBy, moveBy, nextBookmark } from "./navigation.js";
import { Marks } from "./node-facts.js";
import { treeOf } from "../testing/trees.js";

customElements.define("loom-toast", LoomToast);

/** root > a > (b > c, d > e), of which d and e were written before b and c */
const tree = () => treeOf(["root", "a", "d", "e", "b", "c"], [null, 0, 1, 2, 1, 4], { orders: [[1, [4, 2]]] });

/** A page with bookmarks that come when it asks, and where its keys led. */
function page(position, bookmarks) {
  freshPage("<loom-toast></loom-toast>");
  const gone = [];
  const marks = new Marks("", async () => ({ marks: bookmarks.map((item, at) => [`m${at}`, "bookmark", "", item]) }));
  const made = treePage({ position, store: tree(), marks, gone, go: (id, how) => gone.push([id, how?.isSpoken]) });
  return made;
}

const told = () => document.querySelector("loom-toast").textContent;

test("the keys of bookmarks follow the text, not the order in which they were put on", () => {
  const next = (from, step) => nextBookmark(tree(), new Set(["e", "c", "a"]), from, step);
  assert.deepEqual(["c", "e", "a"].map((from) => next(from, -1)), ["a", "c", "e"]);
  assert.deepEqual(["root", "a", "b", "c", "d", "e"].map((from) => next(from, 1)), ["a", "c", "c", "e", "e", "a"]);
});

test("a key of bookmarks waits for them, and no panel has to be open", async () => {
  const here = page("c", ["a", "e"]);
  bookmarkBy(-1)(here);
  assert.deepEqual(here.gone, []);
  await here.marks.load();
  assert.deepEqual(here.gone, [["a", true]]);
  bookmarkBy(1)(here);
  assert.deepEqual(here.gone.at(-1), ["e", true]);
});

test("where there are no bookmarks, the key says so", async () => {
  const here = page("c", []);
  await here.marks.load();
  bookmarkBy(1)(here);
  assert.deepEqual(here.gone, []);
  assert.equal(told(), "There are no bookmarks in this tree.");
});

test("a walk goes on to a child, and says where the path ends", async () => {
  const here = page("b", []);
  moveBy("walk")(here);
  await settled();
  assert.deepEqual(here.gone, [["c", true]]);
  here.position = "c";
  moveBy("walk")(here);
  await settled();
  assert.equal(here.gone.length, 1);
  assert.equal(told(), "The path ends here.");
});
