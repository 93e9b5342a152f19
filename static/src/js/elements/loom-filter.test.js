import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place, treePage } from "../testing/dom.js";
import { LoomFilter } from "./loom-filter.js";

customElements.define("loom-filter", LoomFilter);

test("those are offered as authors who have written here, and whoever is chosen", () => {
  freshPage();
  const cast = new Map(["ada", "bo", "rhea"].map((id) => [id, { id, name: id }]));
  const marks = Object.assign(new EventTarget(), { tags: () => [] });
  const wish = { author: "", tag: "", bookmarked: false, pruned: false };
  const filter = Object.assign(new EventTarget(), { sieve: () => null, isOn: false, wish });
  const page = treePage({ cast, marks, filter });
  const element = place(LoomFilter);
  const offered = () => [...element.author.querySelectorAll("option")].map(({ value }) => value);
  assert.deepEqual(offered(), ["", "ada", "bo", "rhea"]);
  // Ada has made the tree and written nothing in it.
  page.store = { authors: ["ada", "bo", "bo"], parents: [null, 0, 1] };
  element.details.dispatchEvent(new Event("toggle"));
  assert.deepEqual(offered(), ["", "bo"]);
  // The fields were opened before the tree's shape came.
  page.store = { authors: ["ada", "ada"], parents: [null, 0] };
  page.emit("store");
  assert.deepEqual(offered(), ["", "bo"]);
  element.details.open = true;
  page.emit("store");
  assert.deepEqual(offered(), ["", "ada"]);
  wish.author = "rhea";
  filter.dispatchEvent(new Event("filter"));
  assert.deepEqual(offered(), ["", "ada", "rhea"]);
});
