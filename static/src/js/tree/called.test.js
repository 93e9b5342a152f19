import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, treePage } from "../testing/dom.js";
import { called, calledOf } from "./called.js";

test("a text is called by its first words, on one line and cut off", () => {
  assert.equal(called(" The  house\nstood empty. "), "“The house stood empty.”");
  assert.equal(called("It was a long evening, and nobody came to the gate."), "“It was a long evening, and nobody came…”");
  assert.equal(called(" \n"), "this text");
});

test("a text of the tree is called by what is drawn, else by what is known of it", () => {
  freshPage('<article data-id="a7x2"><div class="text">Drawn here.</div></article>');
  const page = treePage();
  page.excerpts.known = new Map([["b2c3", "Read for the map."]]);
  assert.equal(calledOf(page, "a7x2"), "“Drawn here.”");
  assert.equal(calledOf(page, "b2c3"), "“Read for the map.”");
  assert.equal(calledOf(page, "zzzz"), "this text");
});
