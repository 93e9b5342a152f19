import assert from "node:assert/strict";
import test from "node:test";
import { sentencesOf, together } from "./sentences.js";

test("a text is its sentences, with the blanks behind each", () => {
  const text = " “Come in,” said Marie. She sat down.\n\nIt rained… and rained.";
  const sentences = sentencesOf(text);
  assert.equal(sentences.join(""), text);
  assert.deepEqual(sentences.map((sentence) => sentence.trim()), ["“Come in,” said Marie.", "She sat down.", "It rained… and rained."]);
});

test("a title before a name ends no sentence", () => {
  const texts = ["Dr. Smith left. ", "“Mrs. Dalloway,” said Prof. Müller. ", "He paid the dr. ", "Then St. Ives."];
  assert.deepEqual(sentencesOf(texts.join("")), texts);
});

test("blanks alone are no sentence", () => {
  assert.deepEqual(sentencesOf(""), []);
  assert.equal(sentencesOf("   One. \n \n").length, 1);
});

test("sentences are put together with one blank where there was none, and begin as their texts do", () => {
  const chosen = [
    { text: "It was dark.", of: " One lamp. It was dark." },
    { text: " She left. ", of: " She left. " },
    { text: "Then rain.\n\n", of: "Then rain.\n\nMore." },
  ];
  assert.equal(together(chosen), " It was dark. She left. Then rain.");
  assert.equal(together([]), "");
});
