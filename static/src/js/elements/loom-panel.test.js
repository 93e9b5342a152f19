import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, place, settled, treePage } from "../testing/dom.js";
import { LoomPanel } from "./loom-panel.js";

customElements.define("loom-panel", LoomPanel);

function panel(reply, { ofNode, on, ...values } = {}) {
  freshPage("", reply);
  const page = treePage(values);
  const data = { src: "/trees/t/nodes/", ...(ofNode === undefined ? {} : { ofNode }), ...(on === undefined ? {} : { on }) };
  const element = place(LoomPanel, data);
  clearTimeout(element.timer);
  element.soon = () => {};
  return { page, element };
}

test("an older answer does not take the place of a newer one", async () => {
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  const { element } = panel(() => answers.shift().promise, { ofNode: "drawn" });
  const first = element.draw();
  const second = element.draw();
  newer.give("<p>#fence</p>");
  await second;
  older.give("<p>no tags</p>");
  await first;
  assert.equal(element.textContent, "#fence");
});

test("what changed while it was read is read again", async () => {
  const late = held();
  const asked = [];
  const { element } = panel((url) => (asked.push(url), late.promise), { ofNode: "" });
  const first = element.draw();
  element.heard({ kind: "mark.added", payload: {} });
  late.give("<p>before</p>");
  await first;
  assert.equal(element.drawn, "");
  await element.draw();
  await element.draw();
  assert.equal(asked.length, 2);
});

test("the answer for a node that was left is not shown", async () => {
  const late = held();
  const { element } = panel(() => late.promise, { ofNode: "" });
  const first = element.draw();
  element.look("n2");
  late.give("<p>about n1</p>");
  await first;
  assert.equal(element.textContent, "");
});

test("what is typed in a form of it is left alone", async () => {
  const { element } = panel(() => "<p>fresh</p>", {});
  element.innerHTML = "<form><input></form>";
  await element.draw();
  assert.notEqual(element.querySelector("form"), null);
});

test("it hears only of what it is about", () => {
  const { element } = panel(undefined, { on: "link" });
  let asked = 0;
  element.soon = () => (asked += 1);
  element.heard({ kind: "mark.added", payload: {} });
  element.heard({ kind: "link.added", payload: {} });
  assert.equal(asked, 1);
});

test("a panel of a node hears of that node's versions, and of no other text", () => {
  const store = { slotOf: () => 1, versionsOf: () => [1, 4], ids: ["root", "n1", "n2", "n3", "n4"] };
  const { element } = panel(undefined, { ofNode: "", on: "any", store });
  let asked = 0;
  element.soon = () => (asked += 1);
  element.heard({ kind: "link.added", payload: { link: { source: "n3" } } });
  assert.equal(asked, 0);
  element.heard({ kind: "link.added", payload: { link: { source: "n4" } } });
  assert.equal(asked, 1);
});

test("a refusal is said in its place", async () => {
  const { element } = panel(() => new Response("<p>There is no such node.</p>", { status: 404 }));
  await element.draw();
  assert.equal(element.textContent, "There is no such node.");
});

test("rows that follow take the place of the button that asks for them", async () => {
  const { element } = panel((url) => (url.includes("before") ? '<li><a href="?node=b">older</a></li>' : '<ul><li><a href="?node=a">newer</a></li><li><button data-more="/x?before=1">Older</button></li></ul>'));
  await element.draw();
  element.querySelector("[data-more]").click();
  for (let turn = 0; turn < 9; turn += 1) await settled();
  assert.deepEqual([...element.querySelectorAll("li")].map((row) => row.textContent), ["newer", "older"]);
  assert.equal(document.activeElement?.textContent, "older");
});

test("what was refused is asked for again with the next connection, and nothing else is", async () => {
  const answers = [new Response("No connection.", { status: 503 }), "<p>a bookmark</p>"];
  const { page, element } = panel(() => answers.shift());
  let asked = 0;
  element.soon = () => (asked += 1);
  await element.draw();
  page.emit("state", { state: "offline" });
  assert.equal(asked, 0);
  page.emit("state", { state: "live" });
  assert.equal(asked, 1);
  await element.draw();
  assert.equal(element.textContent, "a bookmark");
  page.emit("state", { state: "live" });
  assert.equal(asked, 1);
});
