import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused } from "../live/api.js";
import { freshPage, treePage } from "../testing/dom.js";
import { Saving } from "./saving.js";

/** Words behind a text whose Add is refused, and what the page says of it. */
function refusedTail(answers) {
  freshPage();
  const page = treePage({ say: async () => Promise.reject(answers.shift()) });
  const editor = { tail: "my words", ids: ["n1"], book: { nodes: [] }, replaced: null, touched: () => [], sendTail() {}, takeBack: () => (editor.isBack = true), spot: () => ({ isTail: true, offset: 8, text: "my words" }) };
  const saving = new Saving({ soon() {}, leaves: { known: new Map() } }, page, editor);
  return { saving, page, editor };
}

/** The composer of the page: what it answers. */
function composerThatSays() {
  const said = [];
  document.body.append(Object.assign(document.createElement("loom-composer"), { answer: (words, bad) => said.push([words, bad]) }));
  return said;
}

const hidden = () => new Refused({ code: "REJECTED", message: "[n2] is hidden.", hint: "Restore n2 first." }, 409);

test("words that could not be added say why at the composer, by Add and by Continue", async () => {
  const { saving, editor } = refusedTail([hidden(), hidden()]);
  const said = composerThatSays();
  assert.equal(await saving.all(), false);
  assert.deepEqual(said.at(-1), ["[n2] is hidden.\nRestore n2 first.", true]);
  assert.equal(editor.isBack, true);
  said.length = 0;
  await saving.continueHere();
  assert.deepEqual(said.at(-1), ["[n2] is hidden.\nRestore n2 first.", true]);
});

test("a page without a composer says as a message why words could not be added", async () => {
  const { saving, page } = refusedTail([new Refused({ message: "The server returned 500." }, 500)]);
  await saving.all();
  assert.equal(page.emitted.at(-1)[0], "refused");
});
