import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, place, settled, treePage } from "../testing/dom.js";
import { LoomComposer } from "./loom-composer.js";
import { Refused } from "../live/api.js";

customElements.define("loom-composer", LoomComposer);

const MARKUP = '<form><input name="at" value="n1"><textarea></textarea><p data-answer hidden></p><p data-cost></p></form>';

function composer(values = {}, reply = () => ({ money: { left_usd: null }, participants: [] })) {
  freshPage("", reply);
  const kept = new Map();
  const drafts = Object.assign(new EventTarget(), { of: ({ slot }) => kept.get(slot) ?? "", write: ({ slot }, text) => kept.set(slot, text), slots: () => new Set() });
  const sent = [];
  const page = treePage({ drafts, contexts: { of: async () => undefined }, say: async (what, how) => (sent.push([what, how]), { reply: "✓ done", position: "n2" }), ...values });
  const element = place(LoomComposer, { markup: MARKUP });
  element.asks = { read: () => ({ using: [], n: "2" }), picked: () => [], other: () => null, models: { counts: {} }, pickOther() {}, show() {}, offer() {}, keep() {}, pick() {}, take() {} };
  clearTimeout(element.weighing);
  return { page, element, sent, kept, field: element.text };
}
const type = (field, text) => {
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};

test("what is typed is a draft of its place, and the new place has its own", () => {
  const { element, page, kept, field } = composer();
  type(field, "At the gate");
  kept.set("n2", "At the barn");
  page.position = "n2";
  page.emit("moved", { from: "n1" });
  assert.equal(field.value, "At the barn");
  assert.equal(element.form.elements.namedItem("at").value, "n2");
  page.position = "n1";
  page.emit("moved", { from: "n2" });
  assert.equal(field.value, "At the gate");
});

test("a line is marked as a command and goes with Enter alone; a text does not", async () => {
  const { element, sent, field } = composer();
  const enter = () => field.dispatchEvent(Object.assign(new Event("keydown", { bubbles: true, cancelable: true }), { key: "Enter" }));
  type(field, "A gate.");
  enter();
  await settled();
  assert.deepEqual(sent, []);
  type(field, "→ tag here #a");
  assert.ok(element.form.classList.contains("is-command"));
  enter();
  await settled();
  assert.deepEqual(sent.map(([what]) => what), ["tag here #a"]);
  assert.equal(element.querySelector("[data-answer]").textContent, "✓ done");
});

test("a text is added as a node, and then the models are asked below it", async () => {
  const { element, sent, field } = composer();
  type(field, "A gate.");
  await element.go("continue");
  assert.deepEqual(sent[0][0], { command: "respond", args: { content: "A gate." } });
  assert.deepEqual(sent[0][1].then, [{ command: "continue", args: { n: "2" } }]);
  // Another tab that sends what follows the text sends it with the same key.
  const { key } = sent[0][1];
  assert.ok(key);
  assert.deepEqual(sent[1], [{ command: "continue", args: { n: "2" } }, { at: "n2", quiet: true, key: `${key}.0` }]);
  assert.equal(field.value, "");
});

test("a text waits for the one before it, and stays where that comes back", async () => {
  let stored;
  const sending = new Set(["one"]);
  const { element, sent, field } = composer({ sending, sent: () => new Promise((done) => (stored = done)) });
  const answer = element.querySelector("[data-answer]");
  for (const [isStored, typed, goes] of [[false, "Two.", 0], [true, "Two, and more.", 0], [true, "Two.", 1]]) {
    type(field, "Two.");
    const gone = element.go("respond");
    await element.go("respond"); // pressed again
    assert.equal(answer.textContent, "This is sent once the text before it is stored.");
    if (typed !== "Two.") type(field, typed);
    stored(isStored);
    await gone;
    assert.equal(sent.length, goes);
    assert.equal(field.value, goes ? "" : typed);
    assert.equal(answer.textContent, "");
  }
});

test("nothing typed asks where the reader is, and adds nothing", async () => {
  const { element, sent } = composer();
  await element.go("respond");
  assert.deepEqual(sent, []);
  await element.go("continue");
  const [[command, { at }]] = sent;
  assert.deepEqual([sent.length, command, at], [1, { command: "continue", args: { n: "2" } }, "n1"]);
});

test("a refusal is said below the field", async () => {
  const { element, field } = composer({
    say: async () => {
      throw new Refused({ code: "NOT_FOUND", message: "There is no such node.", hint: "view the tree" }, 404);
    },
  });
  const answer = element.querySelector("[data-answer]");
  type(field, "→ tag zzzz #a");
  await element.go("respond");
  assert.match(answer.textContent, /^✗ NOT_FOUND/);
  type(field, "A gate.");
  assert.equal(answer.hidden, true);
  await element.go("respond");
  assert.equal(answer.textContent, "There is no such node.\nView the tree.");
  assert.ok(answer.classList.contains("bad"));
});

test("a text beside an answer asks once where it belongs", async () => {
  const { element, sent, field, page } = composer();
  const turns = Object.assign(document.createElement("loom-turns"), { answerBelow: () => ({ name: "Muse", node: "n9" }) });
  document.body.append(turns);
  const gone = [];
  page.acts.leave = (node) => gone.push(node);
  type(field, "A gate.");
  const first = element.go("respond");
  const [on] = element.querySelectorAll(".contest.past button");
  assert.equal(document.activeElement, on);
  on.click();
  await first;
  assert.deepEqual([gone, sent], [["n9"], []]);
  const second = element.go("respond");
  element.querySelectorAll(".contest.past button")[1].click();
  await second;
  assert.equal(sent.length, 1);
  type(field, "Another.");
  await element.go("respond");
  assert.equal(sent.length, 2);
});

test("a price is that of the place where the reader is, whichever answer comes last", async () => {
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  const { element } = composer({}, () => answers.shift().promise);
  const reads = [element.readCost(), element.readCost()];
  newer.give({ money: { left_usd: 2 }, participants: [] });
  await reads[1];
  older.give({ money: { left_usd: 1 }, participants: [] });
  await reads[0];
  assert.equal(element.estimate.money.left_usd, 2);
});

test("what a question costs is said for those who are picked, with what is typed", () => {
  const { element, field } = composer();
  const muse = { name: "Muse", tokens: 2000, how: "counted", length: 500, prices: { input: 1, output: 2 }, caches_from: null };
  element.asks.read = () => ({ using: ["Muse"], n: "1" });
  element.estimate = { money: { left_usd: 0.001 }, participants: [muse] };
  type(field, "Marie waits.");
  const cost = element.querySelector("[data-cost]");
  assert.match(cost.textContent, /^about 2,003 input tokens · at most \$0\.0030 · .*answers stop at this limit/);
  assert.ok(cost.classList.contains("bad"));
  type(field, "→ tag here #a");
  assert.equal(cost.textContent, "");
});

test("what an agent's context counts takes the place of the estimate", async () => {
  const muse = { participant: "m", name: "Muse", tokens: 1, how: "estimated" };
  const { element } = composer({ contexts: { of: async () => ({ tokens: 1234, price: { how: "counted" } }) } }, () => ({ money: { left_usd: null }, participants: [muse] }));
  element.asks.picked = () => [{ id: "m", how: "continue" }];
  await element.readCost();
  assert.deepEqual(element.estimate.participants[0], { ...muse, tokens: 1234, how: "counted" });
});

test("the key for the agent asks the agent, whoever is picked", () => {
  const { element } = composer();
  const pressed = [];
  element.askOther = () => pressed.push("other");
  element.go = (action) => pressed.push(action);
  element.asks.actor = () => undefined;
  element.askAgent();
  element.asks.actor = () => ({ value: "x" });
  element.askAgent();
  assert.deepEqual(pressed, ["other", "continue"]);
});

test("below a pruned text nothing is sent, and it is said why in plain words", async () => {
  const store = { pathTo: () => [0], isPruned: () => true, ids: ["n1"], slotOf: () => 0 };
  const { element, sent, field } = composer({ store });
  type(field, "And then?");
  await element.go("continue");
  assert.deepEqual(sent, []);
  assert.equal(field.value, "And then?");
  assert.match(element.querySelector("[data-answer]").textContent, /^The text above was pruned: /);
  type(field, "→ restore n1");
  await element.go("respond");
  assert.equal(sent.length, 1);
});

test("what those beside would be sent is asked once for a text, and only where their button is seen", async () => {
  const muse = { participant: "m", name: "Muse", tokens: 1, how: "estimated" };
  const asked = [];
  const of = async (id, at) => (asked.push(`${id} ${at}`), { tokens: 1234, price: { how: "counted" } });
  const { element, page } = composer({ contexts: { of } }, () => ({ money: { left_usd: null }, participants: [muse] }));
  element.asks.other = () => ({ names: ["Nestor"], ids: ["x"], how: "turn" });
  const rest = async () => {
    await element.readCost();
    await element.readBeside(element.weighs.asked);
  };
  element.otherSeen(false);
  await rest();
  assert.deepEqual(asked, []);
  element.otherSeen(true);
  await rest();
  await rest();
  assert.deepEqual(asked, ["x n1"]);
  page.position = "n2";
  await rest();
  assert.deepEqual(asked, ["x n1", "x n2"]);
});

test("the caret stays in what was typed where the page moves by itself to a place that has a draft", () => {
  const { page, kept, field } = composer();
  field.focus();
  type(field, "My next");
  field.setSelectionRange(2, 7);
  kept.set("n2", "My next words");
  page.position = "n2";
  page.emit("moved", { from: "n1", isStill: true });
  assert.deepEqual([field.value, field.selectionStart, field.selectionEnd], ["My next words", 2, 7]);
});
