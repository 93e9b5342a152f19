import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place, settled, treePage } from "../testing/dom.js";
import { LoomWeave } from "./loom-weave.js";

customElements.define("loom-weave", LoomWeave);

const coming = (id, key = "1", by = "ada") => `<article class="card coming" data-generation="${id}" data-key="${key}" data-asked-by="${by}"><div class="card-text"><span data-text></span></div><span data-state></span></article>`;
const card = (id, key = "1", data = "") => `<article class="card" data-id="${id}" data-key="${key}" ${data}><div class="card-text"><a data-go="${id}">text of ${id}</a></div><span data-below></span></article>`;

function weave(cards, { reply, asked = "", ...values } = {}) {
  freshPage("<p data-spoken></p>", reply);
  const gone = [];
  const sent = [];
  const page = treePage({ go: (id, how) => gone.push([id, how]), say: async (what) => sent.push(what), ...values });
  const element = place(LoomWeave, { markup: `<section data-weave data-point="n1" ${asked}>${cards}<button data-act="more"></button><p class="weave-hint"></p></section>` });
  return { page, element, gone, sent };
}
const names = (page) => page.emitted.map(([name]) => name);
const ended = (values) => ({ id: "g1", node: "n2", status: "done", error: null, ...values });

test("a candidate that is coming grows, also where its pieces came before its card", () => {
  const { page, element } = weave(coming("g1"));
  for (const [chunk, text] of [[1, "The "], [2, "gate"]]) page.emit("delta", { generation: "g1", chunk, text });
  assert.equal(element.querySelector("[data-text]").textContent, "The gate");
  assert.equal(element.querySelector("[data-state]").textContent, "writing");
  page.emit("delta", { generation: "g2", chunk: 1, text: "A barn" });
  element.querySelector("section").innerHTML = coming("g2");
  element.finishDrawing();
  assert.equal(element.querySelector("[data-text]").textContent, "A barn");
});

test("a piece that holds all so far takes the place of what was there", () => {
  const { page, element } = weave(coming("g1"));
  page.emit("delta", { generation: "g1", chunk: 1, text: "The " });
  page.emit("delta", { generation: "g1", chunk: 9, text: "The whole text", whole: true });
  assert.equal(element.querySelector("[data-text]").textContent, "The whole text");
});

test("a candidate that is taken is gone to, and one that is coming when it ends", () => {
  const { page, element, gone } = weave(card("n2") + coming("g1", "2"));
  assert.equal(element.takeKey(1), true);
  assert.deepEqual(gone.pop(), ["n2", { isStill: false }]);
  element.takeKey(2);
  assert.deepEqual(gone, []);
  assert.ok(names(page).includes("awaited"));
  element.ended(ended({ node: "n3" }));
  assert.deepEqual(gone, [["n3", { isStill: true }]]);
  assert.equal(element.takeKey(7), false);
});

test("a candidate that would be accepted can be taken back before it ends", () => {
  const { element, gone } = weave(coming("g1"));
  assert.equal(element.untake(), false);
  element.takeKey(1);
  assert.equal(element.untake(), true);
  element.ended(ended());
  assert.deepEqual(gone, []);
});

test("taking one stops the reader's others where that is wished", async () => {
  const stopped = [];
  const { element } = weave(card("n2") + coming("g1", "2") + coming("g2", "3", "eve"), { reply: (url) => (stopped.push(url), {}) });
  element.takeKey(1);
  await settled();
  assert.deepEqual(stopped, []);
  localStorage.setItem("heddle.rest", "stop");
  element.takeKey(1);
  await settled();
  assert.deepEqual(stopped, ["/api/generations/g1/stop"]);
});

test("all that the reader asked for is stopped at once, also elsewhere", async () => {
  const stopped = [];
  const { element } = weave(coming("g1"), { reply: (url) => (stopped.push(url), {}) });
  element.mine.add("g9");
  assert.equal(element.haltAll(), true);
  await settled();
  assert.deepEqual(stopped, ["/api/generations/g1/stop", "/api/generations/g9/stop"]);
  assert.equal(weave("").element.haltAll(), false);
});

test("what became of a candidate is spoken, and a failure drawn again for who asked", () => {
  const { page, element } = weave(coming("g1"));
  const spoken = document.querySelector("[data-spoken]");
  page.emit("delta", { generation: "g1", chunk: 1, text: "The gate." });
  element.ended(ended());
  assert.match(spoken.textContent, /Candidate 1 is complete\. The gate\./);
  element.ended(ended({ status: "cancelled" }));
  assert.match(spoken.textContent, /Candidate 1 has stopped; its text so far is kept\./);
  element.ended(ended({ node: null, error: { message: "No key." } }));
  assert.match(spoken.textContent, /Candidate 1 ended without a text\. No key\./);
  assert.ok(names(page).includes("redraw-weave"));
});

test("more like these asks as this place was asked", async () => {
  const asked = JSON.stringify({ Muse: { n: 2, tokens: 60, temperature: null, settings: "" } }).replaceAll('"', "&quot;");
  const { element, sent } = weave("", { asked: `data-asked="${asked}" data-asked-here` });
  assert.equal(element.querySelector('[data-act="more"]').textContent, "More like these: 2 × 60 tokens");
  element.more();
  assert.deepEqual(sent, [{ command: "continue", args: { n: "2", tokens: "60", using: ['agent:"Muse"'] } }]);
});

test("elsewhere it asks as was asked last, without the place", () => {
  const { element, sent } = weave("");
  element.noteAsked({ said: { command: "continue", args: { ref: "n7", n: "2" } }, answer: { canonical: "→ continue from n7 n:2" } });
  element.noteAsked({ said: "tag here #a", answer: { canonical: "→ tag n1 #a" } });
  element.more();
  assert.deepEqual(sent, [{ command: "continue", args: { n: "2" } }]);
});

test("a failed candidate that was dismissed stays away, and cannot be taken", () => {
  const failed = '<article class="card failed" data-generation="g1"></article>';
  const { element, gone } = weave(failed);
  assert.equal(element.takeKey(1), false);
  assert.deepEqual(gone, []);
  element.dismiss(element.querySelector(".card"));
  assert.ok(element.dismissed.has("g1"));
  assert.equal(element.cards().length, 0);
  // The page is loaded again.
  const kept = localStorage.getItem("heddle.dismissed");
  freshPage();
  localStorage.setItem("heddle.dismissed", kept);
  treePage();
  const again = place(LoomWeave, { markup: `<section data-weave data-point="n1">${failed}${failed.replace("g1", "g2")}</section>` });
  assert.deepEqual(again.cards().map((card) => card.dataset.generation), ["g2"]);
});

test("each card says how much hangs below it, and the one that → leads to is lit", () => {
  const store = { slotOf: (id) => ({ n1: 1, n2: 2, n3: 3 })[id] ?? null, countBelow: (slot) => slot * 10, onward: () => 3, visited: new Set([1]), selected: (slot) => `n${slot}` };
  const { element } = weave(card("n2") + card("n3", "2"), { store });
  assert.deepEqual([...element.querySelectorAll("[data-below]")].map((words) => words.textContent), ["20 below", "30 below"]);
  assert.deepEqual(element.cards().map((card) => card.classList.contains("on")), [false, true]);
});

test("a text that was split leads from its card to its end", () => {
  const store = { slotOf: (id) => (id === "n4" ? 4 : null), leafBelow: () => 9, selected: (slot) => `n${slot}`, onward: () => undefined, visited: new Set(), countBelow: () => 0 };
  const { page, element, gone } = weave(card("n2", "1", 'data-rest="n4"'), { store });
  element.takeKey(1);
  assert.deepEqual(gone, [["n9", { isStill: false }]]);
  assert.deepEqual(page.emitted.find(([name]) => name === "taken")[1], { from: "n1", card: "n2", to: "n9", isLate: false });
});

test("a candidate is shown whole, fetched where it was cut", async () => {
  const asked = [];
  const { element } = weave(card("n2").replace("</article>", '<button class="expand" data-cut data-act="expand">Show all</button></article>'), { reply: (url) => (asked.push(url), "the whole text") });
  const button = element.querySelector(".expand");
  await element.expand(button);
  assert.equal(element.querySelector(".card-text a").textContent, "the whole text");
  assert.equal(button.textContent, "Show less");
  await element.expand(button);
  await element.expand(button);
  assert.deepEqual(asked, ["/trees/t/nodes/n2/text"]);
});

test("what the server drew for everybody is not taken where the reader chose another version", () => {
  const store = { slotOf: () => 2, selected: () => "other", onward: () => undefined, visited: new Set(), countBelow: () => 0 };
  const { element } = weave(card("n2"), { store });
  const fresh = document.createElement("section");
  fresh.innerHTML = card("n2");
  assert.equal(element.drawShared(fresh), false);
});

test("what is folded as alike is opened by a key, and closed again", () => {
  const { element } = weave(card("n2", "1").replace("</article>", '<details class="alike"><summary>1 alike</summary><a data-go="n3">a</a></details></article>'));
  const fold = element.querySelector("details.alike");
  assert.equal(element.unfold(), true);
  assert.equal(fold.open, true);
  element.unfold();
  assert.equal(fold.open, false);
  assert.equal(weave(card("n2")).element.unfold(), false);
});
