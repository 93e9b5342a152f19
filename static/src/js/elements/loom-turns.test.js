import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place, settled, treePage } from "../testing/dom.js";
import { LoomTurns } from "./loom-turns.js";
import { LoomToast } from "./loom-toast.js";

customElements.define("loom-turns", LoomTurns);
customElements.define("loom-toast", LoomToast);

const turn = ({ id = "t1", classes = "", data = "", inside = "" } = {}) => `<article id="turn-${id}" class="turn ${classes}" data-turn="${id}" ${data}><b class="by">Muse</b>${inside}</article>`;
const STOP = '<button data-turn-act="stop"></button>';

function turns(reply = () => "<div></div>", values = {}) {
  const { body } = freshPage("<loom-toast></loom-toast><p data-spoken></p><div data-asides></div>", reply);
  const page = treePage({ cast: new Map([["m", { name: "Muse" }]]), ...values });
  const element = place(LoomTurns, { markup: '<div data-turns></div><p data-elsewhere></p>' });
  Object.defineProperty(element, "path", { value: { isHere: (id) => id === page.position, querySelector: () => null, querySelectorAll: () => [] } });
  element.views = { watch() {} };
  element.soon = () => {};
  clearTimeout(element.timer);
  return { page, element, body, list: element.querySelector("[data-turns]"), asides: body.querySelector("[data-asides]") };
}
const ids = (list) => [...list.querySelectorAll(".turn")].map((card) => card.getAttribute("data-turn"));
const press = (element, act, data = {}) => {
  const button = Object.assign(document.createElement("button"), {});
  button.setAttribute("data-turn-act", act);
  for (const [name, value] of Object.entries(data)) button.setAttribute(`data-${name}`, value);
  element.querySelector(".turn").append(button);
  button.click();
};

test("a turn that works where the reader is comes into the list; one elsewhere is only named", () => {
  const { element, list } = turns();
  element.put(turn({ classes: "working", data: 'data-answers-below="n1"' }));
  element.put(turn({ id: "t2", classes: "working", data: 'data-answers-below="n7"', inside: "<template><a data-works=\"t2\">Muse at n7</a></template>" }));
  assert.deepEqual(ids(list), ["t1"]);
  assert.equal(element.querySelector("[data-elsewhere]").textContent.trim(), "Muse at n7");
});

test("an aside is drawn beside the text, the newest first", () => {
  const { element, list, asides } = turns();
  element.put(turn({ data: "data-aside" }));
  element.put(turn({ id: "t2", data: "data-aside" }));
  assert.deepEqual([ids(list), ids(asides)], [[], ["t2", "t1"]]);
});

test("a turn that nobody drew for everybody is fetched", () => {
  const { element } = turns();
  let asked = 0;
  element.soon = () => (asked += 1);
  element.received({ turns: { t1: "" } });
  element.received({ turns: {} });
  element.received({ again: true });
  assert.equal(asked, 2);
});

test("only who asked may take a turn back, and who may erase", () => {
  const undo = '<button data-turn-act="undo" data-asked-by="eve"></button>';
  const mine = turns();
  mine.element.put(turn({ data: 'data-answers-below="n1"', inside: undo }));
  assert.equal(mine.list.querySelector("[data-asked-by]"), null);
  const keeper = turns(undefined, { can: { erase: true } });
  keeper.element.put(turn({ data: 'data-answers-below="n1"', inside: undo }));
  assert.notEqual(keeper.list.querySelector("[data-asked-by]"), null);
});

test("a stop is asked once, and its button rests until the turn has ended", async () => {
  const sent = [];
  const { element } = turns((url) => (sent.push(url), {}));
  element.put(turn({ classes: "working", data: 'data-answers-below="n1"', inside: STOP }));
  const card = element.querySelector(".turn");
  assert.equal(element.halt([card]), true);
  element.halt([card]);
  await settled();
  assert.deepEqual(sent, ["/api/turns/t1/stop"]);
  assert.ok(card.querySelector('[data-turn-act="stop"]').disabled);
  element.ended({ id: "t1", participant: "m", invoked_by: "eve", error: null, steps: [] });
  assert.equal(element.stopping.has("t1"), false);
});

test("a stop that was refused says why, and can be asked again", async () => {
  const { element, body } = turns(() => new Response('{"message": "The turn has ended."}', { status: 409 }));
  element.put(turn({ classes: "working", data: 'data-answers-below="n1"', inside: STOP }));
  element.halt([element.querySelector(".turn")]);
  for (let round = 0; round < 4; round += 1) await settled();
  assert.equal(element.stopping.size, 0);
  assert.match(body.querySelector("loom-toast").textContent, /The turn has ended\./);
});

test("the end of a turn is spoken to all, and whoever asked may take it back", () => {
  const undone = [];
  const { element, body } = turns(undefined, { acts: { undoTurn: async (id) => undone.push(id) } });
  const ended = { id: "t1", participant: "m", error: { message: "No key." }, steps: [], node: "n2", as: "aside" };
  element.ended({ ...ended, invoked_by: "eve" });
  assert.match(body.querySelector("[data-spoken]").textContent, /The turn of Muse has failed\./);
  element.ended({ ...ended, invoked_by: "ada" });
  const box = body.querySelector("loom-toast");
  assert.match(box.textContent, /The turn of Muse has failed\./);
  box.querySelector("button").click();
  assert.deepEqual(undone, ["t1"]);
});

test("a turn that changed nothing has nothing to take back", () => {
  const { element, body } = turns();
  element.ended({ id: "t1", participant: "m", invoked_by: "ada", error: null, steps: [], node: null, as: "aside" });
  assert.equal(body.querySelector("loom-toast button"), null);
});

test("whoever asked is led to the answer, unless they have gone on", async () => {
  const gone = [];
  const { element, page } = turns(undefined, { go: (id) => gone.push(id) });
  const ended = { id: "t1", participant: "m", invoked_by: "ada", error: null, steps: [], node: "n2", as: "continuation", answers_below: "n1" };
  await element.lead(ended);
  page.position = "n5";
  await element.lead(ended);
  assert.deepEqual(gone, ["n2"]);
});

test("whoever asked is led to the text that was written by command, where it is below", async () => {
  const gone = [];
  const store = { slotOf: (id) => ({ n1: 1, n8: 8 })[id] ?? null, pathTo: (id) => (id === "n8" ? [0, 1, 8] : []) };
  const { element } = turns(undefined, { go: (id) => gone.push(id), store });
  element.fetch = async () => {};
  element.put(turn({ data: 'data-answers-below="n1" data-wrote="n8"' }));
  await element.lead({ id: "t1", invoked_by: "ada", steps: [3], node: "n2", answers_below: "n1" });
  assert.deepEqual(gone, ["n8"]);
});

test("an answer that begins below the position is known until it is read", () => {
  const { element } = turns();
  assert.equal(element.answerBelow(), null);
  element.put(turn({ data: 'data-answers-below="n1" data-node="n2"' }));
  assert.deepEqual(element.answerBelow(), { name: "Muse", node: "n2" });
});

test("steps that a turn asks for are given to it, and after its end in another turn", async () => {
  const sent = [];
  const { element } = turns((url, { body }) => (sent.push([url, body]), { id: "t9", answers_below: "n3" }), { go() {} });
  element.put(turn({ data: 'data-answers-below="n1" data-participant="m" data-preset="short" data-node="n2"' }));
  press(element, "extend", { steps: "5", tokens: "900" });
  await settled();
  press(element, "go-on", { steps: "5", tokens: "900" });
  for (let round = 0; round < 6; round += 1) await settled();
  assert.deepEqual(sent, [
    ["/api/turns/t1/extend", { steps: 5, tokens: 900 }],
    ["/api/trees/t/turns", { participant: "m", budget: "short", as: "continuation", input: "", node: "n2" }],
    ["/api/turns/t9/extend", { steps: 5, tokens: 900 }],
  ]);
});

test("words that are being written grow in their place", () => {
  const { element, page, list } = turns();
  element.put(turn({ classes: "working", data: 'data-answers-below="n1"', inside: '<p class="live" data-generation="g1"><span data-text></span></p>' }));
  for (const [chunk, text] of [[1, "The ga"], [2, "te.\n→ tag here"]]) page.emit("delta", { generation: "g1", chunk, text });
  assert.equal(list.querySelector("[data-text]").textContent, "The gate.\n→ tag here");
  assert.equal(list.querySelector("code.line").textContent, "→ tag here");
});

test("a tool that a turn asks for is allowed or refused, and after its end the agent goes on", async () => {
  const sent = [];
  const { element } = turns((url, { body }) => (sent.push([url, body]), { id: "t9", answers_below: "n3" }), { go() {} });
  element.put(turn({ data: 'data-answers-below="n1" data-participant="m" data-preset="short" data-node="n2"' }));
  press(element, "tool", { tool: "weather.forecast" });
  await settled();
  press(element, "tool", { tool: "weather.forecast", allow: "1", "go-on": "" });
  for (let round = 0; round < 6; round += 1) await settled();
  assert.deepEqual(sent, [
    ["/api/turns/t1/tools", { tool: "weather.forecast", allow: false }],
    ["/api/turns/t1/tools", { tool: "weather.forecast", allow: true }],
    ["/api/trees/t/turns", { participant: "m", budget: "short", as: "continuation", input: "", node: "n2" }],
  ]);
});
