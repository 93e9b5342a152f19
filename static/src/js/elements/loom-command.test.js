import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, place, settled, treePage } from "../testing/dom.js";
import { LoomCommand } from "./loom-command.js";
import { Refused } from "../live/api.js";

customElements.define("loom-command", LoomCommand);

function bar(values = {}) {
  freshPage("<p data-spoken></p>");
  const page = treePage(values);
  const element = place(LoomCommand);
  element.suggest = async () => {};
  element.dialog.showModal();
  return { page, element, field: element.input };
}
const choice = (values) => ({ group: "", parts: [{ kind: "words", text: "a gate" }], ...values });
const press = (element, key, values = {}) => element.pressed(Object.assign(new Event("keydown", { cancelable: true }), { key, ...values }));
const chosen = (element) => [...element.list.querySelectorAll('[aria-selected="true"]')].map((option) => option.id);

test("the first of what is found is chosen, and none for a line of a command", () => {
  const { element, field } = bar();
  element.draw([choice({ go: "n2" }), choice({ go: "n3" })]);
  assert.deepEqual(chosen(element), ["choice-0"]);
  assert.equal(field.getAttribute("aria-activedescendant"), "choice-0");
  field.value = "→ tag";
  element.draw([choice({ complete: "→ tag here" })]);
  assert.deepEqual(chosen(element), []);
  assert.equal(field.getAttribute("aria-activedescendant"), null);
});

test("arrows choose within the list", () => {
  const { element, field } = bar();
  field.value = "gate";
  element.draw([choice({ go: "n2" }), choice({ go: "n3" })]);
  for (const key of ["ArrowDown", "ArrowDown"]) press(element, key);
  assert.deepEqual(chosen(element), ["choice-1"]);
  for (const key of ["ArrowUp", "ArrowUp", "ArrowUp"]) press(element, key);
  assert.deepEqual(chosen(element), []);
});

test("a key that comes after the bar was closed is left to the page", () => {
  const { element } = bar();
  const after = () => {
    const event = Object.assign(new Event("keydown", { cancelable: true }), { key: "k", ctrlKey: true, isLeft: true, stopPropagation() { event.isLeft = false; } });
    element.pressed(event);
    return event.isLeft;
  };
  assert.equal(after(), false);
  element.dialog.close();
  assert.equal(after(), true);
});

test("a group has its name once", () => {
  const { element } = bar();
  element.draw([choice({ group: "Texts" }), choice({ group: "Texts" }), choice({ group: "Documents" })]);
  assert.deepEqual([...element.list.querySelectorAll(".command-group")].map((group) => group.textContent), ["Texts", "Documents"]);
});

test("Enter goes to what is chosen and closes", () => {
  const gone = [];
  const { element } = bar({ go: (id) => gone.push(id) });
  element.open("gate");
  element.draw([choice({ go: "n2" })]);
  press(element, "Enter");
  assert.deepEqual(gone, ["n2"]);
  assert.equal(element.dialog.open, false);
});

test("Enter before the list fits what is typed waits for it", async () => {
  const gone = [];
  const { element } = bar({ go: (id) => gone.push(id) });
  element.open("gate");
  element.suggest = async () => element.draw([choice({ go: "n7" })]);
  press(element, "Enter");
  assert.deepEqual(gone, []);
  await null;
  await null;
  assert.deepEqual(gone, ["n7"]);
});

test("Tab completes what is chosen, else the first that can be", () => {
  const { element, field } = bar();
  field.value = "→ ta";
  element.draw([choice({ complete: "→ tag " })]);
  press(element, "Tab");
  assert.equal(field.value, "→ tag ");
});

test("lines that were run come back by the arrow up, in an empty field", async () => {
  const { element, field } = bar({ say: async () => ({ reply: "✓ done" }) });
  for (const line of ["→ tag here #a", "→ tag here #b"]) {
    field.value = line;
    await element.run(line);
  }
  field.value = "";
  element.typed();
  press(element, "ArrowUp");
  press(element, "ArrowUp");
  assert.equal(field.value, "→ tag here #a");
  press(element, "ArrowDown");
  press(element, "ArrowDown");
  assert.equal(field.value, "");
});

test("an answer is shown and spoken, and a refusal too", async () => {
  let answer = async () => ({ reply: "✓ tagged" });
  const { element, field } = bar({ say: () => answer() });
  field.value = "→ tag here #a";
  await element.run(field.value);
  assert.equal(element.answer.textContent, "✓ tagged");
  answer = async () => {
    throw new Refused({ code: "NOT_FOUND", message: "There is no such node." }, 404);
  };
  await element.run(field.value);
  assert.match(element.answer.textContent, /^✗ NOT_FOUND: There is no such node\./);
  assert.match(document.querySelector("[data-spoken]").textContent, /✓ tagged .*NOT_FOUND/);
});

test("the answer to a line does not take away the next one that is typed", async () => {
  const late = held();
  const { element, field } = bar({ say: () => late.promise });
  field.value = "→ bookmark here";
  const running = element.run(field.value);
  field.value = "→ tag here #stone";
  late.give({ reply: "✓ bookmarked" });
  await running;
  assert.equal(field.value, "→ tag here #stone");
  assert.equal(element.answer.textContent, "");
});

test("a refusal that comes late names its line", async () => {
  const late = held();
  const { element, field } = bar({ say: () => late.promise });
  field.value = "→ bookmark here";
  const running = element.run(field.value);
  field.value = "→ tag";
  late.refuse(new Refused({ code: "REJECTED", message: "Not here." }, 409));
  await running;
  assert.match(element.answer.textContent, /^bookmark here: ✗ REJECTED/);
});

test("only a line that says what it is about is previewed", async () => {
  const asked = [];
  const { element } = bar({ preview: async (line) => (asked.push(line), { reply: "would tag" }) });
  const { signal } = new AbortController();
  for (const line of ["→ tag", "→ undo", "→ tag here #a"]) await element.preview(line, signal);
  assert.deepEqual(asked, ["undo", "tag here #a"]);
  assert.ok(element.answer.matches(".dry"));
});

test("a preview that is overtaken is not shown", async () => {
  const stop = new AbortController();
  const { element } = bar({ preview: async () => (stop.abort(), { reply: "would tag" }) });
  await element.preview("→ tag here #a", stop.signal);
  assert.equal(element.answer.textContent, "");
});

test("what is found is lit in the tree until the bar closes", () => {
  const { element, page } = bar();
  element.open("gate");
  element.dialog.close();
  assert.deepEqual(page.emitted.at(-1), ["hits", []]);
});

test("Enter pressed again while a line is on its way does not send it twice", async () => {
  const answers = [held(), held()];
  const sent = [];
  const { element, field } = bar({ say: (line) => answers[sent.push(line) - 1].promise });
  field.value = "→ respond here \"from the bar\"";
  press(element, "Enter");
  press(element, "Enter");
  assert.equal(sent.length, 1);
  answers[0].give({ reply: "✓ added" });
  for (let turn = 0; turn < 9; turn += 1) await settled();
  press(element, "Enter");
  assert.equal(sent.length, 2);
});
