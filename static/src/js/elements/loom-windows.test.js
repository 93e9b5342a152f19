import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, place, settled, treePage } from "../testing/dom.js";
import { LoomToast } from "./loom-toast.js";
import { LoomWindows } from "./loom-windows.js";

customElements.define("loom-windows", LoomWindows);
customElements.define("loom-toast", LoomToast);

const MARKUP = '<select><option value="">Your own</option></select><form data-open><input name="what"></form><p data-refused hidden></p><div data-shown></div>';
const shown = (values) => ({ number: 3, kind: "node", visible: true, keep: false, ref: "[a7x2]", label: "", text: "The gate.", before: [], after: [], as: null, open: true, current: null, document: null, revision: null, ...values });

function windows(reply = () => ({ results: [], drawn: {} }), values = {}) {
  freshPage("<loom-toast></loom-toast>", reply);
  const page = treePage(values);
  const element = place(LoomWindows, { markup: MARKUP, workspace: "w" });
  clearTimeout(element.timer);
  return { page, element, box: element.querySelector("[data-shown]") };
}

const refusal = () => new Response('{"message": "There is no window #9.", "hint": "list them"}', { status: 404 });

test("an older answer does not take the place of a newer one", async () => {
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  const { element, box } = windows(() => answers.shift().promise);
  const draws = [element.draw(), element.draw()];
  newer.give({ results: [shown({ text: "New." })], drawn: {} });
  await draws[1];
  older.give({ results: [shown({ text: "Old." })], drawn: {} });
  await draws[0];
  assert.match(box.textContent, /New\./);
  assert.doesNotMatch(box.textContent, /Old\./);
});

test("the workspace is that of the agent who was chosen last", async () => {
  const late = held();
  const { element } = windows((url) => (url.startsWith("/api/workspaces?") ? late.promise : { results: [], drawn: {} }), {
    cast: new Map([["a", { id: "a", name: "Latecomer", is_agent: true, is_archived: false }]]),
  });
  element.fill();
  element.list.value = "a";
  const first = element.choose();
  element.list.value = "";
  await element.choose();
  late.give({ id: "theirs" });
  await first;
  assert.equal(element.workspace, "w");
});

test("agents are offered, and an archived one no longer", () => {
  const who = (id, values) => [id, { id, name: id, is_agent: true, is_archived: false, ...values }];
  const { element } = windows(undefined, { cast: new Map([who("muse"), who("old", { is_archived: true }), who("ada", { is_agent: false })]) });
  assert.deepEqual([...element.list.options].map((option) => option.textContent), ["Your own", "muse"]);
});

test("a refusal is shown until something goes well", async () => {
  let answer = refusal;
  const { element } = windows(() => answer());
  const box = element.querySelector("[data-refused]");
  assert.equal(await element.run({ command: "close", args: { windows: ["#9"] } }), false);
  assert.equal(box.textContent, "There is no window #9.\nList them.");
  answer = () => ({ refs: ["#1"], results: [], drawn: {} });
  assert.deepEqual(await element.run({ command: "open", args: { ref: "n1" } }), ["#1"]);
  assert.equal(box.hidden, true);
});

test("what is typed is opened, and the field keeps what was refused", async () => {
  const sent = [];
  const { element } = windows((url, { body }) => {
    if (body) sent.push(body);
    if (url.startsWith("/api/documents")) return { results: [{ title: "The lighthouse" }] };
    return body?.args.ref === "doc:missing" ? refusal() : { refs: ["#1"], results: [], drawn: {} };
  });
  const field = element.form.elements.namedItem("what");
  for (const words of ["the lighthouse", "doc:missing"]) {
    field.value = words;
    element.form.requestSubmit();
    for (let turn = 0; turn < 9; turn += 1) await settled();
  }
  assert.deepEqual(sent.map(({ command, args }) => [command, args.ref]), [["open", 'doc:"The lighthouse"'], ["open", "doc:missing"]]);
  assert.equal(field.value, "doc:missing");
});

test("what is typed while the answer is on its way stays in the field", async () => {
  const { element } = windows((url) => (url.startsWith("/api/documents") ? { results: [] } : { refs: ["#1"], results: [], drawn: {} }));
  const field = element.form.elements.namedItem("what");
  field.value = "late";
  element.form.requestSubmit();
  field.value = "early";
  for (let turn = 0; turn < 9; turn += 1) await settled();
  assert.equal(field.value, "early");
});

test("an arrow key moves a window and keeps the order", async () => {
  const sent = [];
  const { element, box } = windows((_, { body }) => (body ? sent.push(body) && {} : { results: [shown({ number: 1 }), shown({ number: 2 })], drawn: {} }));
  await element.draw();
  const grip = box.querySelectorAll(".grip")[1];
  grip.dispatchEvent(Object.assign(new Event("keydown", { bubbles: true, cancelable: true }), { key: "ArrowUp" }));
  await settled();
  assert.deepEqual([...box.querySelectorAll("li")].map((row) => row.dataset.number), ["2", "1"]);
  assert.deepEqual(sent, [{ settings: { order: [2, 1] } }]);
  assert.equal(document.activeElement, grip);
});

test("a selection is stashed under its first words, and under another name the second time", async () => {
  const sent = [];
  const { element } = windows((_, { body }) => (body ? sent.push(body.args.label) && { refs: [] } : { results: [shown({ kind: "stash", visible: false, label: "She said 'no' and went out" })], drawn: {} }));
  await element.draw();
  globalThis.getSelection = () => 'She said "no" and went out into the cold';
  assert.equal(element.stash(), true);
  globalThis.getSelection = () => "";
  assert.equal(element.stash(), false);
  await settled();
  assert.deepEqual(sent, ["She said 'no' and went out 2"]);
});

test("a selection that is stashed twice is one stash, and the page says so", async () => {
  const stashes = [];
  const { element } = windows((_, { body }) => {
    if (!body) return { results: stashes.map((label) => shown({ kind: "stash", visible: false, label })), drawn: {} };
    stashes.push(body.args.label);
    return { refs: [] };
  });
  const said = () => document.querySelector("loom-toast").textContent;
  globalThis.getSelection = () => "The harbour sleeps.";
  element.stash();
  element.stash();
  while (!said()) await settled();
  assert.equal(said(), "Stashed: “The harbour sleeps.”");
  element.stash();
  assert.equal(said(), "“The harbour sleeps.” is stashed already.");
  assert.deepEqual(stashes, ["The harbour sleeps."]);
  // One that was dropped may be stashed again.
  stashes.pop();
  await element.draw();
  element.stash();
  await settled();
  assert.deepEqual(stashes, ["The harbour sleeps."]);
});
