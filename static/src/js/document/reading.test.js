import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { readBox, readWords } from "./reading.js";

const TEXT = "# The bay\n\nA **gull** cried, and a gull fell.";
const MARKUP = "<h1>The bay</h1>\n<p>A <strong>gull</strong> cried, and a gull fell.</p>";

function selected(from, to) {
  freshPage(`<div data-read>${MARKUP}</div><p>Beside it.</p>`);
  const [first, last] = [from, to].map(([selector, at]) => [document.querySelector(selector), at]);
  const range = document.createRange();
  range.setStart(first[0].lastChild, first[1]);
  range.setEnd(last[0].lastChild, last[1]);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  return document.querySelector("[data-read]");
}
const words = (read) => {
  const place = readWords(read, TEXT);
  return place && TEXT.slice(place.from, place.to);
};

test("words selected in what is drawn are found in the text with its marks", () => {
  assert.equal(words(selected(["strong", 0], ["strong", 4])), "gull");
  const second = selected(["p", " cried, and a ".length], ["p", " cried, and a gull".length]);
  assert.deepEqual(readWords(second, TEXT), { from: TEXT.lastIndexOf("gull"), to: TEXT.lastIndexOf("gull") + 4 });
});

test("words that go on outside of it, or that nobody sees, are not meant", () => {
  const read = selected(["strong", 0], ["div + p", 3]);
  assert.equal(readBox(read), null);
  const hidden = selected(["strong", 0], ["strong", 4]);
  hidden.hidden = true;
  assert.equal(words(hidden), null);
});
