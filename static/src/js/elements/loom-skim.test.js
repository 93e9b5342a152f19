import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place, settled } from "../testing/dom.js";
import { LoomSkim } from "./loom-skim.js";

customElements.define("loom-skim", LoomSkim);

const cell = (id, more = "") => `<li class="skim-cell" tabindex="-1" data-id="${id}" ${more}><div>text of ${id}</div></li>`;
const grid = (...cells) => `<div data-grid data-coming="0"><ul>${cells.join("")}</ul></div>`;

function skim(cells, reply) {
  const asked = freshPage("<p data-said></p>", reply);
  const element = place(LoomSkim, { markup: grid(...cells) });
  element.setAttribute("data-tree", "t1");
  element.setAttribute("data-may-write", "");
  return { element, asked };
}
const press = (element, key) => element.current().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));

test("arrows move, and one cell at a time is in the order of Tab", () => {
  const { element } = skim([cell("a2b2"), cell("b3c3"), cell("c4d4")]);
  element.cells()[0].focus();
  press(element, "ArrowRight");
  assert.equal(document.activeElement?.dataset.id, "b3c3");
  assert.deepEqual(element.cells().map((cell) => cell.tabIndex), [-1, 0, -1]);
  press(element, "End");
  assert.equal(element.current().dataset.id, "c4d4");
  press(element, "ArrowRight");
  assert.equal(element.current().dataset.id, "c4d4");
});

test("a pruned candidate is gone, and its neighbour is in focus", async () => {
  const sent = [];
  const { element } = skim([cell("a2b2"), cell("b3c3")], (url, options) => {
    sent.push([url, options?.body]);
    return options?.method === "POST" ? { reply: "✓ pruned [a2b2]" } : grid(cell("b3c3"));
  });
  element.cells()[0].focus();
  press(element, "x");
  await settled();
  await settled();
  assert.equal(sent[0][0], "/api/trees/t1/commands");
  assert.deepEqual(sent[0][1], { command: "prune", args: { ref: "a2b2" } });
  assert.equal(document.querySelector("[data-said]").textContent, "✓ pruned [a2b2]");
  assert.deepEqual(element.cells().map((cell) => cell.dataset.id), ["b3c3"]);
});

test("who may only read prunes nothing", () => {
  let asked = 0;
  const { element } = skim([cell("a2b2")], () => ((asked += 1), {}));
  element.removeAttribute("data-may-write");
  element.cells()[0].focus();
  press(element, "x");
  press(element, "b");
  assert.equal(asked, 0);
});
