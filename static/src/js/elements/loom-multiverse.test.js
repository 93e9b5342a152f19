import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, settled } from "../testing/dom.js";
import { LoomMultiverse, percent, visible } from "./loom-multiverse.js";

customElements.define("loom-multiverse", LoomMultiverse);

const PAGE = `<loom-multiverse data-url="/next" data-agent="a1"><mark data-begun></mark><form><input type="hidden" name="begun"><button data-take disabled></button><button type="button" data-stop hidden></button><span data-said></span></form><div data-picture></div><ul data-tree></ul></loom-multiverse>`;
const FIRST = [
  { text: " door", probability: 0.8, goes_on: true },
  { text: "<|end|>", probability: 0.1, goes_on: false },
];

async function opened(reply) {
  const sent = [];
  const { body } = freshPage("", (request) => {
    sent.push(request);
    return reply(sent.length);
  });
  const holder = document.createElement("div");
  holder.innerHTML = PAGE;
  body.append(holder);
  await settled();
  return { element: body.querySelector("loom-multiverse"), sent };
}

test("each opening is one request, and what was opened once is not asked for again", async () => {
  const { element, sent } = await opened(() => ({ agent: "a1", tokens: FIRST, read: 9, usd: 0.001 }));
  assert.equal(sent.length, 0);
  await element.open(element.root);
  const [door, end] = element.root.below;
  await element.open(door);
  assert.equal(sent.length, 2);
  assert.equal(door.below[0].path, " door door");
  element.close(door);
  await element.open(door);
  await element.open(end);
  assert.equal(sent.length, 2);
  assert.equal(element.requests, 2);
  assert.ok(Math.abs(element.usd - 0.002) < 1e-9);
  assert.equal(element.querySelector("[name=begun]").value, " door");
  assert.equal(element.querySelectorAll("[role=treeitem]").length, 5);
});

test("what the endpoint refuses is said, and nothing is counted", async () => {
  const { element } = await opened(() => new Response(JSON.stringify({ ok: false, code: "UNAVAILABLE", message: "No.", hint: "" }), { status: 503 }));
  await element.open(element.root);
  assert.equal(element.box("said").textContent, "No.");
  assert.equal(element.root.isOpen, false);
  assert.equal(element.requests, 0);
});

test("blanks of a token are visible, and shares are percent", () => {
  assert.equal(visible(" a\n"), "·a↵");
  assert.equal(percent(0.8187), "81.9 %");
  assert.equal(percent(0.00001), "< 0.1 %");
});
