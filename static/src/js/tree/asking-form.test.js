import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { Asking, inFewWords } from "./asking.js";

const model = (name, checked = "") => `<div data-agent="id-${name}"><input type="checkbox" name="using" value="${name}" ${checked}><input name="n:${name}"></div>`;
const agent = (name, toy = "") => `<input type="radio" name="actor" value="id-${name}" data-name="${name}" ${toy}>`;
const MARKUP = `<form><span data-agents-shown></span><button data-offer hidden></button>${model("Muse", "checked")}${model("Wren")}${agent("Analyst", "data-toy")}${agent("Nestor")}<input name="n" value="3"><input name="tokens"><button data-do="continue"></button></form>`;

const asking = (tree = "t") => new Asking(document.querySelector("form"), tree);

test("beside models the first agent that is no toy is asked by one press", () => {
  freshPage(MARKUP);
  const asks = asking();
  assert.deepEqual(asks.other(), { names: ["Nestor"], ids: ["id-Nestor"], how: "turn" });
  asks.pickOther();
  assert.deepEqual(asks.picked(), [{ id: "id-Nestor", how: "turn" }]);
  assert.equal(document.querySelector("[data-agents-shown]").textContent, "Nestor");
});

test("a toy is offered where there is no other agent, and nobody where there is none", () => {
  freshPage(MARKUP.replace(agent("Nestor"), ""));
  assert.deepEqual(asking().other()?.names, ["Analyst"]);
  freshPage(MARKUP.replace(agent("Nestor"), "").replace(agent("Analyst", "data-toy"), ""));
  assert.equal(asking().other(), null);
});

test("beside an agent the models picked before are asked, as many times as before", () => {
  freshPage(MARKUP);
  let asks = asking();
  const wren = document.querySelector('[value="Wren"]');
  wren.checked = true;
  document.querySelector('[name="n:Wren"]').value = "2";
  asks.keep();
  asks.pickOther();
  assert.deepEqual(asks.other(), { names: ["Muse", "Wren"], ids: ["id-Muse", "id-Wren"], how: "continue" });
  // Another page knows it, too, and another tree.
  const kept = { ...localStorage };
  freshPage(MARKUP);
  for (const [name, value] of Object.entries(kept)) localStorage.setItem(name, value);
  asks = asking("another");
  assert.deepEqual(asks.picked(), [{ id: "id-Nestor", how: "turn" }]);
  asks.pickOther();
  assert.deepEqual(asks.read().using, ["Muse", "Wren"]);
  assert.deepEqual(asks.read().counts, { Wren: "2" });
  assert.deepEqual(asks.other()?.names, ["Nestor"]);
});

test("what somebody would read is named in few words", () => {
  const cost = { tokens: 1390, how: "estimated", usd: null, left: null, over: false, cut: null };
  assert.equal(inFewWords(cost), "about 1,390 tokens");
  assert.equal(inFewWords({ ...cost, how: "counted", usd: 0.01 }), "1,390 tokens, at most $0.010");
  assert.equal(inFewWords({ ...cost, how: "counted", usd: 0.01, isTurn: true }), "1,390 tokens, at most $0.010 for each request");
});
