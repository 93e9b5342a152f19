import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { learn } from "../t.js";
import { contextParts, withTyped } from "./context-view.js";

const section = (name, values) => ({ name, tokens: 100, text: "words", detail: "", note: "", nodes: [], ...values });
const context = (values) => ({ how: "continue", open: true, messages: [], prompt: "Once", sections: [], tokens: 900, limit: 1000, note: "", price: { tokens: 900, how: "counted", usd: null, cached_usd: null, answer_usd: null }, before: null, ...values });

function view(values, opened = new Set(), without = new Set()) {
  const { body } = freshPage();
  body.append(...contextParts("Muse", context(values), { opened, without }));
  return body;
}

test("it says how much is sent of how much may be", () => {
  assert.match(view({}).textContent, /^What Muse is sent next: 900 of 1,000 tokens\./);
});

test("a price is said where one is known, and what its beginning costs where it is cached", () => {
  const price = { tokens: 1, how: "counted", usd: 0.12, answer_usd: 0.34, cached_usd: null };
  assert.match(view({ price }).textContent, /About \$0\.12 to send, and up to \$0\.34 for the answer\./);
  assert.match(view({ price: { ...price, cached_usd: 0.011 } }).textContent, /\$0\.011 where its beginning is cached\./);
  assert.doesNotMatch(view({}).textContent, /to send/);
});

test("a section has its name and its size, and its share of the bar of all that is sent", () => {
  const box = view({ sections: [section("PATH", { tokens: 250, detail: "12 nodes", count: 12, note: "cut" }), section("NEW ONE", { text: "", tokens: 0 })] });
  const [path, unknown] = box.querySelectorAll(".sections details");
  assert.equal(path.querySelector("b").textContent, "Path");
  assert.equal(path.querySelector(".said").textContent, "12 nodes · cut");
  assert.deepEqual([...box.querySelectorAll(".sent-piece")].map((piece) => piece.style.getPropertyValue("--share")), ["250"]);
  assert.equal(unknown.querySelector("b").textContent, "NEW ONE");
  assert.ok(unknown.parentElement.matches(".left-out"));
});

test("what was cut of a part is said at the part, and not once more below", () => {
  const note = "left out 3 nodes in the middle";
  const words = (values) => view(values).textContent.split(note).length - 1;
  assert.equal(words({ note, sections: [section("PATH", { note })] }), 1);
  assert.equal(words({ note, sections: [section("PATH", {})] }), 1);
});

test("what a section counts is said in the language of the reader", () => {
  learn({ "{n} node": ["{n} Knoten", "{n} Knoten"], "{n} paragraph before the end": ["{n} Absatz vor dem Ende", "{n} Absätze vor dem Ende"] });
  const box = view({
    sections: [
      section("PATH", { detail: "1 node", count: 1 }),
      section("PATH", { detail: "1,200 nodes", count: 1200 }),
      section("NOTE", { detail: "3 paragraphs before the end", count: 3 }),
      section("RESULTS", { detail: "2 rounds", count: 2 }),
      section("LORE", { detail: "5 nodes of it" }),
    ],
  });
  learn({});
  const said = [...box.querySelectorAll(".said")].map((words) => words.textContent);
  assert.deepEqual(said, ["1 Knoten", "1,200 Knoten", "3 Absätze vor dem Ende", "2 rounds", "5 nodes of it"]);
});

test("what stands in the field of a dialogue is a part behind the path, and counts", () => {
  const whole = context({ sections: [section("MEMORY"), section("PATH"), section("NOTE")] });
  const { sections, tokens } = withTyped(whole, "four letters, and more");
  assert.deepEqual(sections.map(({ name }) => name), ["MEMORY", "PATH", "TYPED", "NOTE"]);
  assert.equal(tokens, 906);
  assert.equal(withTyped(whole, ""), whole);
});

test("what was unfolded is unfolded when it is drawn again", () => {
  const sections = [section("PATH", { detail: "12 nodes" }), section("LORE")];
  assert.deepEqual([...view({ sections }, new Set(["PATH 12 nodes"])).querySelectorAll(".sections details")].map((box) => box.open), [true, false]);
});

test("who may not see a text of it sees the sizes alone", () => {
  const box = view({ open: false, prompt: "a secret", sections: [section("PATH")] });
  assert.match(box.textContent, /text that you may not see/);
  assert.doesNotMatch(box.textContent, /a secret/);
});

test("the exact request is a prompt, or its messages by role", () => {
  assert.deepEqual([...view({}).querySelectorAll("h2")].map((head) => head.textContent), ["prompt"]);
  const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Go on." }];
  assert.deepEqual([...view({ prompt: null, messages }).querySelectorAll("h2")].map((head) => head.textContent), ["system", "user"]);
});

test("it says how much of the request before is the same, and marks what differs", () => {
  const box = view({ before: { share: 0.875, lines: ["-old", "+new", " same"], cut: true } });
  const fold = box.querySelector('[data-key="difference"]');
  assert.equal(fold.querySelector("summary").textContent, "Since the last request: 88% the same from the start, 2 lines differ");
  assert.equal(fold.querySelector("ins").textContent, "+new\n");
  assert.match(fold.textContent, /…$/);
  assert.match(view({ before: { share: 1, lines: [], cut: false } }).textContent, /The same as the last request/);
});

test("what can be left out has an eye, in a continuation alone", () => {
  const sections = [section("MEMORY"), section("PATH"), section("LORE", { detail: "Mill; old" }), section("NOTE", { text: "", tokens: 0 })];
  const eyes = (box) => [...box.querySelectorAll("[data-leave]")].map((eye) => `${eye.getAttribute("data-leave")} ${eye.getAttribute("aria-pressed")}`);
  assert.deepEqual(eyes(view({ sections })), ["memory false", "lore:Mill, old false"]);
  assert.deepEqual(eyes(view({ sections }, new Set(), new Set(["memory", "note"]))), ["memory true", "lore:Mill, old false", "note true"]);
  assert.deepEqual(eyes(view({ sections, how: "turn" })), []);
});

test("the second path of an agent has a name of its own", () => {
  const box = view({ sections: [section("PATH"), section("STATUS"), section("PATH", { detail: "ids" })] });
  const names = [...box.querySelectorAll("summary b")].map((name) => name.textContent);
  assert.deepEqual(names, ["Path", "Status", "Path in short, with ids"]);
});
