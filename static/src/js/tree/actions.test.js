import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, settled, treePage } from "../testing/dom.js";
import { perform } from "./actions.js";

const TEXTS = { n1: "The lamp was lit.", n2: "The gate was shut." };
const article = (id) => `<article class="node" id="n-${id}" data-id="${id}"><div class="text">${TEXTS[id]}</div><button data-act="annotate">Annotate</button></article>`;

/** A page of two texts, with a word of the first selected, and what is sent. */
function selectedInFirst() {
  freshPage(article("n1") + article("n2"), (url) => TEXTS[/nodes\/(\w+)\/text/.exec(url)?.[1]] ?? null);
  const sent = [];
  const page = treePage({ store: { ids: Object.keys(TEXTS), slotOf: (id) => Object.keys(TEXTS).indexOf(id), selected: (slot) => Object.keys(TEXTS)[slot] }, say: async (what) => sent.push(what), drafts: { of: () => "", write() {}, slots: () => new Set() } });
  const words = document.querySelector("#n-n1 .text").firstChild;
  const range = document.createRange();
  range.setStart(words, 4);
  range.setEnd(words, 8);
  globalThis.getSelection = () => ({ rangeCount: 1, isCollapsed: false, getRangeAt: () => range });
  return { page, sent };
}

/** Annotates a text and sends the form; the id of the text at which it was. */
async function annotated(page, id, byButton) {
  const host = document.getElementById(`n-${id}`);
  perform("annotate", { page, id, host, button: byButton ? host.querySelector("button") : null });
  for (let turns = 0; turns < 100 && !document.querySelector("form"); turns += 1) await settled();
  const form = document.querySelector("form");
  const at = form.closest("article").dataset.id;
  form.querySelector("textarea").value = "Why?";
  form.dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
  return at;
}

test("Annotate at a text takes no words that are selected in another one", async () => {
  const { page, sent } = selectedInFirst();
  assert.equal(await annotated(page, "n2", true), "n2");
  assert.deepEqual([sent[0].args.ref, sent[0].args.words], ["n2", undefined]);
});

test("Annotate at the text of the selected words is about these", async () => {
  const { page, sent } = selectedInFirst();
  assert.equal(await annotated(page, "n1", true), "n1");
  assert.deepEqual([sent[0].args.ref, sent[0].args.words], ["n1", "lamp"]);
});

test("by key the form opens at the text of the selected words, where the note lands", async () => {
  const { page, sent } = selectedInFirst();
  assert.equal(await annotated(page, "n2", false), "n1");
  assert.deepEqual([sent[0].args.ref, sent[0].args.words], ["n1", "lamp"]);
});
