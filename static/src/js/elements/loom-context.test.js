import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused } from "../live/api.js";
import { freshPage, held, place, treePage } from "../testing/dom.js";
import { LoomContext } from "./loom-context.js";

customElements.define("loom-context", LoomContext);

const MARKUP = '<form class="context-of"><select name="participant"><option value="">Asked next</option></select><select name="how"><option value="turn">turn</option><option value="continue">continue</option></select></form><div data-shown></div>';
const CONTEXT = { open: true, messages: [], prompt: "Once", sections: [], tokens: 9, limit: 100, note: "", price: { usd: null }, before: null };
const who = (id, values) => [id, { id, name: id, kind: "model", is_agent: false, is_archived: false, ...values }];

function context(of = async () => CONTEXT, cast = [who("Muse"), who("Scribe", { is_agent: true })]) {
  freshPage();
  const asked = [];
  const page = treePage({ cast: new Map(cast), contexts: { of: (...args) => (asked.push(args), of(...args)), forget() {} } });
  const element = place(LoomContext, { markup: MARKUP });
  clearTimeout(element.timer);
  return { page, element, asked, box: element.querySelector("[data-shown]") };
}

test("models are offered, without people and what is archived", () => {
  const { element } = context(undefined, [who("Muse"), who("Ada", { kind: "person" }), who("Old", { is_archived: true })]);
  assert.deepEqual([...element.field("participant").options].map((option) => option.value), ["", "Muse"]);
  clearTimeout(element.timer);
});

test("the first model is shown until another one is chosen, an agent also for a turn", async () => {
  const { element, asked, box } = context();
  await element.draw();
  assert.match(box.textContent, /^What Muse is sent next/);
  element.field("participant").value = "Scribe";
  await element.draw();
  element.field("how").value = "continue";
  await element.draw();
  assert.deepEqual(asked, [["Muse", "n1", "continue"], ["Scribe", "n1", "turn"], ["Scribe", "n1", "continue"]]);
});

test("how a model is asked is a choice for agents alone", async () => {
  const { element } = context();
  element.field("participant").value = "Muse";
  await element.draw();
  assert.equal(element.field("how").hidden, true);
  element.field("participant").value = "Scribe";
  await element.draw();
  assert.equal(element.field("how").hidden, false);
});

test("an older answer does not take the place of a newer one", async () => {
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  const { element, box } = context(() => answers.shift().promise);
  const draws = [element.draw(), element.draw()];
  newer.give({ ...CONTEXT, tokens: 22 });
  await draws[1];
  older.give({ ...CONTEXT, tokens: 11 });
  await draws[0];
  assert.match(box.textContent, /22 of 100/);
});

test("a refusal says in words what its reader may not do, without the names of permissions", async () => {
  const refused = new Refused({ code: "PERMISSION_DENIED", message: "continue needs loom_generate.", lacks: ["loom_generate"], hint: "ask an owner of the grove" }, 403);
  const { element, box } = context(async () => Promise.reject(refused));
  await element.draw();
  assert.equal(box.textContent, "You may not do this here.\nAsk an owner of the grove.");
});

test("where no model is set up it says so, and in the past it is left alone", async () => {
  const { element, box } = context(undefined, []);
  await element.draw();
  assert.match(box.textContent, /^No model is set up here yet/);
  const past = context();
  past.page.isPast = true;
  await past.element.draw();
  assert.deepEqual(past.asked, []);
});

test("a node elsewhere changes what an agent is sent for a turn, and no continuation", () => {
  const { element, page } = context();
  let reads = 0;
  element.soon = () => (reads += 1);
  page.store = { isOnPath: () => false };
  element.heard({ kind: "node.added", payload: {} });
  assert.equal(reads, 0);
  element.field("participant").value = "Scribe";
  element.field("how").value = "turn";
  element.heard({ kind: "node.added", payload: {} });
  element.heard({ kind: "presence", payload: {} });
  assert.equal(reads, 1);
});

test("what is unfolded is remembered by its key", () => {
  const { element } = context();
  element.toggled({ open: true, dataset: { key: "PATH 3" } });
  assert.deepEqual([...element.opened], ["PATH 3"]);
  element.toggled({ open: false, dataset: { key: "PATH 3" } });
  assert.deepEqual([...element.opened], []);
});

test("what was refused is asked for again with the next connection", async () => {
  const answers = [Promise.reject(new Refused({ message: "No connection to the server." }, 0)), Promise.resolve(CONTEXT)];
  const { element, page, box } = context(() => answers.shift());
  await element.draw();
  assert.equal(box.textContent, "No connection to the server.");
  let asked = 0;
  element.soon = () => (asked += 1);
  page.emit("state", { state: "live" });
  assert.equal(asked, 1);
  await element.draw();
  page.emit("state", { state: "live" });
  assert.equal(asked, 1);
});

test("where what is typed does not fit, the server says what is cut of it", async () => {
  const cut = { ...CONTEXT, tokens: 100, note: "cut" };
  const { element, page, asked, box } = context(async (_, __, ___, options) => (options?.isTyped ? cut : { ...CONTEXT, tokens: 90 }));
  const flushed = [];
  page.drafts.flush = async (where) => flushed.push(where);
  const composer = document.body.appendChild(Object.assign(document.createElement("loom-composer"), { message: () => "word" }));
  await element.draw();
  assert.match(box.textContent, /91 of 100/);
  assert.deepEqual([asked.length, flushed], [1, []]);
  composer.message = () => "word ".repeat(20);
  await element.draw();
  assert.match(box.textContent, /100 of 100/);
  assert.deepEqual([asked.at(-1), flushed], [["Muse", "n1", "continue", { isTyped: true }], [{ kind: "buffer", slot: "n1" }]]);
});
