import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, settled, treePage } from "../testing/dom.js";
import { Drafts } from "../live/draft-sync.js";
import { perform } from "./actions.js";

const TEXTS = { n1: "The lamp was lit.", n2: "The gate was shut." };
const article = (id) => `<article class="node" id="n-${id}" data-id="${id}"><div class="text">${TEXTS[id]}</div><button data-act="annotate">Annotate</button></article>`;

/** A page of two texts, with a word of the first selected, and what is sent. */
function selectedInFirst() {
  freshPage(article("n1") + article("n2"), (url) => TEXTS[/nodes\/(\w+)\/text/.exec(url)?.[1]] ?? null);
  const sent = [];
  const page = treePage({ store: { ids: Object.keys(TEXTS), slotOf: (id) => Object.keys(TEXTS).indexOf(id), selected: (slot) => Object.keys(TEXTS)[slot] }, say: async (what) => sent.push(what) });
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

/** Annotate at a text, with drafts that another tab writes too, and a server that has another text. */
async function annotatedInTwoTabs(keep) {
  const { page } = selectedInFirst();
  const place = { kind: "note", slot: "n2" };
  page.drafts = new Drafts({ list: async () => ({ results: [{ ...place, text: "theirs", at: "9" }] }), keep }, { store: localStorage, name: "ada.t" });
  const host = document.getElementById("n-n2");
  perform("annotate", { page, id: "n2", host, button: host.querySelector("button") });
  for (let turns = 0; turns < 100 && !document.querySelector("form"); turns += 1) await settled();
  return { page, place, form: document.querySelector("form"), field: document.querySelector("form textarea") };
}

test("a form shows what another tab has typed into it, and leaves that alone once it is closed", async () => {
  const { page, form, field } = await annotatedInTwoTabs(async (_, text) => ({ text, at: "1" }));
  const hear = (text) => page.drafts.heard({ key: "heddle.draft.ada.t.note.n2", newValue: JSON.stringify({ text, held: "", agreed: text, at: "1" }) });
  hear("Long words of another tab");
  assert.equal(field.value, "Long words of another tab");
  form.dispatchEvent(new Event("close-form"));
  hear("More");
  assert.equal(field.value, "Long words of another tab");
});

test("a form asks which text stays where another device has another one", async () => {
  const { page, place, form, field } = await annotatedInTwoTabs(async () => assert.fail("kept"));
  page.drafts.timers.set("note.n2", 0); // nothing goes out before the list comes
  field.value = "mine";
  field.dispatchEvent(new Event("input"));
  await page.drafts.load();
  assert.match(form.querySelector(".contest").textContent, /“theirs”/);
  assert.equal(field.value, "mine");
  form.querySelector(".contest button:last-child").click();
  assert.deepEqual([field.value, page.drafts.of(place)], ["theirs", "theirs"]);
});

test("an act that cannot read its text says why", async () => {
  freshPage(article("n1"), () => new Response("", { status: 503 }));
  const page = treePage();
  for (const name of ["edit", "suggest", "split"]) perform(name, { page, id: "n1", host: document.getElementById("n-n1"), button: null });
  for (let turns = 0; turns < 9; turns += 1) await settled();
  assert.deepEqual(page.emitted.map(([name, { message }]) => `${name}: ${message}`), Array(3).fill("refused: The server returned 503."));
  assert.equal(document.querySelector("form"), null);
});

test("a check of a hash that failed says why, and does not go on for ever", async () => {
  freshPage('<div class="details"><span data-verified>not checked</span></div>', () => new Response("", { status: 503 }));
  const page = treePage();
  perform("verify", { page, id: "n1", host: document.querySelector(".details"), button: null });
  assert.equal(document.querySelector("[data-verified]").textContent, "checking");
  for (let turns = 0; turns < 9; turns += 1) await settled();
  assert.equal(document.querySelector("[data-verified]").textContent, "not checked");
  assert.deepEqual(page.emitted.map(([name]) => name), ["refused"]);
});
