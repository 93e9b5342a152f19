import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { tidy, tidyAsides } from "./turn-lists.js";

const ids = (list) => [...list.children].map((turn) => turn.id);

test("turns that ended come before the one that works, the last three of them", () => {
  const { body } = freshPage('<p id="a" class="turn"></p><p id="w" class="turn working"></p><p id="b" class="turn"></p><p id="c" class="turn"></p><p id="d" class="turn"></p>');
  tidy(body);
  assert.deepEqual(ids(body), ["b", "c", "d", "w"]);
});

test("asides are twelve at most, and the words for none go with the first", () => {
  const turns = Array.from({ length: 13 }, (_, at) => `<p id="t${at}" class="turn"></p>`);
  const { body } = freshPage(`<p id="none">None yet.</p>${turns.join("")}`);
  tidyAsides(body);
  assert.deepEqual(ids(body), Array.from({ length: 12 }, (_, at) => `t${at}`));
  body.innerHTML = '<p id="none">None yet.</p>';
  tidyAsides(body);
  assert.deepEqual(ids(body), ["none"]);
});
