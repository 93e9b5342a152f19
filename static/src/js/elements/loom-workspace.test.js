import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, place, settled, treePage } from "../testing/dom.js";
import { LoomWorkspace } from "./loom-workspace.js";

customElements.define("loom-workspace", LoomWorkspace);

const LISTS = ["budget", "sizes", "tasks", "augments", "notifications", "steps", "arrangements"].map((name) => `<ul data-list="${name}"></ul>`);
const MARKUP = `${LISTS.join("")}<form data-form="task"><input name="text"></form><form data-form="scratchpad"><textarea id="scratchpad-text" name="text"></textarea></form><form data-form="arrangement"><input name="text"></form><p data-mine></p><p data-acts></p><p data-refused hidden></p>`;
const body = (values) => ({ seq: 3, status: { steps: 0, budget: "no limit", tokens: 0, sections: {} }, tasks: [], scratchpad: "", augments: [], notifications: [], ...values });
const task = (text) => ({ ref: "todo:1", state: "unchecked", text, notes: [] });

function workspace(reply = () => body(), values = {}) {
  freshPage("", reply);
  const page = treePage(values);
  const element = place(LoomWorkspace, { markup: MARKUP, workspace: "w" });
  element.follow = () => {};
  element.soon = () => {};
  clearTimeout(element.timer);
  return { page, element };
}
const words = (element, name) => element.list(name).textContent;

test("what is empty says what could be there", async () => {
  const { element } = workspace((url) => (url.includes("/saved") ? { results: [] } : body()));
  await element.draw();
  assert.equal(words(element, "budget"), "no limit");
  assert.equal(words(element, "tasks"), "No tasks.");
  assert.match(words(element, "arrangements"), /^Save what is open under a name/);
});

test("an older answer does not take the place of a newer one", async () => {
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  const { element } = workspace((url) => (url.includes("/saved") ? { results: [] } : answers.shift().promise));
  const draws = [element.draw(), element.draw()];
  newer.give(body({ tasks: [task("Mend the gate")] }));
  await draws[1];
  older.give(body());
  await draws[0];
  assert.match(words(element, "tasks"), /^Mend the gate/);
});

test("the last actions are shown, the newest first", async () => {
  const asked = [];
  const step = (seq) => ({ seq, line: `line ${seq}`, canonical: "", outcome: "ok", loop_status: "ok", message: "", open: true });
  const { element } = workspace((url) => {
    asked.push(url);
    return url.startsWith("/api/steps") ? { results: [step(11), step(12)] } : url.includes("/saved") ? { results: [] } : body({ status: { steps: 12, budget: "", tokens: 0, sections: {} } });
  });
  await element.draw();
  assert.ok(asked.includes("/api/steps?workspace=w&after=2&limit=10"));
  const rows = [...element.list("steps").querySelectorAll(".line")];
  assert.deepEqual(rows.map((row) => row.textContent), ["line 12", "line 11"]);
  assert.deepEqual(rows.map((row) => row.title), ["12 line 12", "11 line 11"]);
});

test("of an agent's workspace a reader sees what is there and changes nothing", () => {
  const { element } = workspace();
  element.choose("theirs");
  assert.equal(element.querySelector("[data-mine]").hidden, true);
  assert.equal(element.querySelector("[data-acts]").hidden, false);
  element.page.settings.can = {};
  element.choose("theirs");
  assert.equal(element.querySelector("[data-acts]").hidden, true);
});

test("what is being typed in the scratchpad stays when it is drawn again, until another one is shown", () => {
  const { element } = workspace();
  const pad = element.querySelector("#scratchpad-text");
  element.pad("old");
  pad.value = "old and more";
  element.pad("old");
  assert.equal(pad.value, "old and more");
  element.workspace = "theirs";
  element.pad("hers");
  assert.equal(pad.value, "hers");
});

test("what had the focus has it after it is drawn again", () => {
  const { element } = workspace();
  element.show(body({ tasks: [task("Mend the gate")] }), [], []);
  element.list("tasks").querySelector("input").focus();
  element.keepFocus(() => element.show(body({ tasks: [task("Mend the gate")] }), [], []));
  assert.equal(document.activeElement, element.list("tasks").querySelector("input"));
});

test("a task is added by its form, and the field keeps what was refused", async () => {
  let answer = () => ({ refs: [] });
  const sent = [];
  const { element } = workspace((_, { body: given }) => (given ? sent.push(given) && answer() : body()));
  const form = element.querySelector('[data-form="task"]');
  const field = form.elements.namedItem("text");
  for (const text of ["Mend the gate", "too many"]) {
    field.value = text;
    form.requestSubmit();
    for (let turn = 0; turn < 5; turn += 1) await settled();
    if (text === "Mend the gate") assert.equal(field.value, "");
    answer = () => new Response('{"message": "There are 50 tasks."}', { status: 409 });
  }
  assert.deepEqual(sent.map(({ command, args, at }) => [command, args.texts[0], at]), [["todo_add", "Mend the gate", "n1"], ["todo_add", "too many", "n1"]]);
  assert.equal(field.value, "too many");
  assert.equal(element.querySelector("[data-refused]").textContent, "There are 50 tasks.");
});

test("an arrangement keeps each window that is open, once", async () => {
  const sent = [];
  const { element } = workspace((_, { body: given }) => {
    if (given) sent.push(given);
    return { results: [{ visible: true, opens: "open n1" }, { visible: true, opens: "open n1" }, { visible: false, opens: "open n2" }, { visible: true, opens: "" }] };
  });
  assert.equal(await element.keep("Proofs"), true);
  assert.deepEqual(sent, [{ kind: "windows", name: "Proofs", body: { lines: ["open n1"] } }]);
});

test("lines that are kept run each, whatever became of the others", async () => {
  const sent = [];
  const { element } = workspace((_, { body: given }) => sent.push(given.line) && (given.line === "open n1" ? new Response('{"message": "gone"}', { status: 404 }) : {}));
  assert.equal(await element.run(["open n1", "open n2"]), false);
  assert.deepEqual(sent, ["open n1", "open n2"]);
  assert.equal(element.querySelector("[data-refused]").textContent, "gone");
});

test("a task is made once by two presses, and has its key again where the answer was lost", async () => {
  const posted = [];
  let answer = held();
  const { element } = workspace((url, { method, body: sent }) => {
    if (method !== "POST") return url.includes("/saved") ? { results: [] } : body();
    posted.push(sent);
    return answer.promise;
  });
  element.heard = () => {};
  const form = element.querySelector('[data-form="task"]');
  const press = () => form.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  const field = form.elements.namedItem("text");
  field.value = "Mend the gate";
  press();
  press();
  await settled();
  assert.equal(posted.length, 1);
  answer.refuse(new TypeError("Failed to fetch"));
  await settled();
  await settled();
  assert.equal(field.value, "Mend the gate");
  answer = held();
  press();
  answer.give({});
  await settled();
  await settled();
  assert.equal(posted[1].key, posted[0].key);
  assert.equal(field.value, "");
});
