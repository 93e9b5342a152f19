import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, place, settled, treePage } from "../testing/dom.js";
import { openForm } from "../tree/forms.js";
import { TreeStore } from "../tree/store.js";
import { LoomPath } from "./loom-path.js";

customElements.define("loom-path", LoomPath);

const node = (id) => `<article id="n-${id}" class="node" data-id="${id}"><p class="text">text of ${id}</p></article>`;

/** root > a > b > (c, d) */
const tree = () =>
  new TreeStore({
    seq: 1,
    ids: ["root", "a", "b", "c", "d"],
    parents: [null, 0, 1, 2, 2],
    slots: [0, 1, 2, 3, 4],
    kinds: ["text", "text", "text", "text", "text"],
    authors: [0, 0, 0, 0, 0],
    participants: [{ id: "ada" }],
    flags: [0, 0, 0, 0, 0],
    lengths: [0, 1, 1, 1, 1],
  });

function path({ reply, ids = ["a", "b"], ...values } = {}) {
  const { body } = freshPage("<main></main>", reply);
  const page = treePage({ position: ids.at(-1), store: tree(), ...values });
  const element = place(LoomPath, { inside: body.querySelector("main"), markup: `<div class="stretch">${ids.map(node).join("")}</div><loom-weave></loom-weave>` });
  const brought = [];
  element.view?.stop();
  element.view = { still: (draw) => draw(), stop() {}, bring: (what) => brought.push(what), isLeft: () => false, settle() {}, natural: () => 9, fromCaret: () => "caret", room: { top: 0, bottom: 100 }, thread: body.querySelector("main") };
  const drawn = [];
  element.querySelector("loom-weave").draw = (weave) => drawn.push(weave);
  return { page, element, brought, drawn };
}
const ids = (element) => element.nodes().map((node) => node.getAttribute("data-id"));

test("a move asks only for what the new path does not share with the old one", async () => {
  const asked = [];
  const { element, page } = path({ ids: ["a", "b", "c"], reply: (url) => (asked.push(url), `<div class="stretch">${node("d")}</div>`) });
  element.draw = () => {};
  page.position = "d";
  await element.moved({ from: "c", isStill: false });
  assert.deepEqual(asked, ["/trees/t/path?node=d&after=b"]);
  assert.equal(element.drawn, "d");
});

test("where what is shared is gone, all of it is asked for", async () => {
  const asked = [];
  const answers = [new Response("", { status: 409 }), `<div class="stretch">${node("d")}</div>`];
  const { element, page } = path({ reply: (url) => (asked.push(url), answers.shift()) });
  element.draw = () => {};
  page.position = "d";
  await element.moved({ from: "b", isStill: false });
  assert.deepEqual(asked, ["/trees/t/path?node=d&after=b", "/trees/t/path?node=d"]);
  assert.deepEqual(ids(element), []);
});

test("a path that changed while it was asked for is asked for again", async () => {
  const late = held();
  const { element, page } = path({ reply: () => late.promise });
  let refreshed = 0;
  Object.assign(element, { draw() {}, refresh: () => (refreshed += 1) });
  page.position = "d";
  const move = element.moved({ from: "b", isStill: false });
  element.received({ changed: ["d"] });
  late.give("<div></div>");
  await move;
  assert.equal(refreshed, 1);
});

test("what changed on another branch asks for nothing", () => {
  const { element } = path();
  element.refresh = () => assert.fail("asked for");
  element.fetchNode = () => assert.fail("asked for");
  element.received({ changed: ["c"] });
  assert.equal(element.touches, 0);
});

test("a node that nobody drew yet is fetched, and an older answer does not take its place", async () => {
  const late = held();
  const { element } = path({ reply: () => late.promise });
  const put = [];
  element.replace = (_, markup) => put.push(markup);
  const [, old] = element.nodes();
  const fetched = element.fetchNode(old, "b", "a");
  element.touch(old);
  late.give(node("b"));
  await fetched;
  assert.deepEqual(put, []);
});

test("candidates that others ask for are not fetched, the reader's own are", () => {
  const { element } = path();
  const asked = [];
  element.refresh = (what) => asked.push(what);
  const started = (by, point) => element.heard({ kind: "generation.started", payload: { generation: { asked_by: by, point } } });
  started("eve", "b");
  started("ada", "c");
  started("ada", "b");
  assert.deepEqual(asked, ["weave"]);
});

test("what the reader asked for comes into view once, with room to grow", () => {
  const { element, brought } = path();
  element.querySelector("loom-weave").innerHTML = '<article class="card" data-generation="g1"></article>';
  brought.length = 0;
  element.expect({ answer: { generations: ["g1"] } });
  assert.deepEqual(brought, [{ top: 0, bottom: 40 }]);
  element.showExpected();
  assert.equal(brought.length, 1);
});

test("what comes slowly is not brought to who went on reading", () => {
  const { element, brought } = path();
  element.view.isLeft = () => true;
  element.querySelector("loom-weave").innerHTML = '<article class="card" data-id="n9"></article>';
  brought.length = 0;
  element.expected = { generations: ["g1"], at: 0 };
  element.ended({ id: "g1", node: "n9" });
  element.showExpected();
  assert.deepEqual(brought, []);
  assert.equal(element.expected, undefined);
});

test("the last node of the path is marked, and what is not sent yet stands below it", () => {
  const outbox = Object.assign(new EventTarget(), { waiting: true, left: () => [{ said: { command: "respond", args: { content: "offline" } }, at: "b" }] });
  const { element } = path({ outbox });
  element.mark();
  assert.deepEqual(element.nodes().map((node) => node.classList.contains("last")), [false, true]);
  assert.match(element.querySelector(".unsent").textContent, /^offlinenot sent yet/);
});

test("an editor that holds the text is asked only for what hangs below", async () => {
  const asked = [];
  const { element, page } = path({ reply: (url) => (asked.push(url), "<div data-weave></div>") });
  element.stretch().hidden = true;
  element.draw = () => {};
  page.position = "d";
  await element.moved({ from: "b", isStill: false });
  assert.match(asked[0], /^\/trees\/t\/weave\?node=d/);
});

test("the stretch above is put in once, and not for a path that was left", async () => {
  const late = held();
  const { element } = path({ reply: () => late.promise });
  element.stretch().innerHTML = `<p class="above"><a data-load-above="a">more</a></p>${node("b")}`;
  const loads = [element.loadAbove(), element.loadAbove()];
  late.give(node("a"));
  await Promise.all(loads);
  await settled();
  assert.deepEqual(ids(element), ["a", "b"]);
  assert.equal(await element.loadAbove(), false);
});

test("a text with an edit that was typed and not saved has a mark that opens it, until it is saved", () => {
  const waiting = new Set(["b"]);
  const drafts = Object.assign(new EventTarget(), { of: () => "", slots: () => waiting });
  const { element, page } = path({ drafts });
  for (const article of element.nodes()) article.append(document.createElement("footer"));
  element.mark();
  const marks = () => [...element.querySelectorAll("[data-act='edit']")].map((mark) => mark.closest("[data-id]").dataset.id);
  assert.deepEqual(marks(), ["b"]);
  element.mark();
  assert.deepEqual(marks(), ["b"]);
  waiting.clear();
  page.drafts.dispatchEvent(new CustomEvent("saved", { detail: true }));
  assert.deepEqual(marks(), []);
});

test("where a move is refused, the page goes back to the text that is drawn", async () => {
  const back = [];
  const { element, page } = path({ reply: () => new Response("", { status: 503 }), goBack: (...how) => back.push(how) });
  page.position = "d";
  await element.moved({ from: "b", isStill: false, isKept: true });
  page.position = "c";
  await element.moved({ from: "b", isStill: true, isKept: false });
  assert.deepEqual(back, [["b", { replace: true, isLed: false }], ["b", { replace: false, isLed: true }]]);
  assert.deepEqual(ids(element), ["a", "b"]);
});

test("a move that another one has overtaken leads nowhere when it is refused", async () => {
  const [late, newer] = [held(), held()];
  const answers = [late, newer];
  const { element, page } = path({ reply: () => answers.shift().promise, goBack: () => assert.fail("gone back") });
  element.draw = () => {};
  page.position = "c";
  const first = element.moved({ from: "b", isStill: false });
  page.position = "d";
  const second = element.moved({ from: "c", isStill: false });
  late.refuse(new TypeError("no connection"));
  await first;
  newer.give("<div></div>");
  await second;
  assert.equal(element.drawn, "d");
});

test("an editor keeps the place that could not be read, which is drawn with the next connection", async () => {
  const answers = [new Response("", { status: 503 }), "<div data-weave></div>"];
  const { element, page } = path({ reply: () => answers.shift(), goBack: () => assert.fail("gone back") });
  element.stretch().hidden = true;
  element.draw = () => {};
  page.position = "d";
  await element.moved({ from: "b", isStill: false });
  assert.equal(element.drawn, "b");
  page.emit("state", { state: "live" });
  for (let turn = 0; turn < 9; turn += 1) await settled();
  assert.equal(element.drawn, "d");
});

test("going back to what is drawn only asks whether it has changed", async () => {
  const { element } = path({ reply: () => assert.fail("asked for") });
  const refreshed = [];
  element.refresh = (what = "path") => refreshed.push(what);
  await element.moved({ from: "d", isStill: true, isBack: true });
  assert.deepEqual(refreshed, ["path"]);
});

test("a text that a key led to is read out: who wrote it, and how it begins", async () => {
  const { element, page } = path({ ids: ["a", "b", "c"], reply: () => "<div></div>", cast: new Map([["ada", { name: "Ada" }]]) });
  const spoken = document.body.appendChild(Object.assign(document.createElement("p"), { className: "spoken" }));
  spoken.dataset.spoken = "";
  element.draw = () => element.nodes().at(-1).remove();
  page.position = "b";
  await element.moved({ from: "c", isStill: false, isSpoken: true });
  assert.equal(spoken.textContent, "Ada: text of b ");
  page.position = "a";
  await element.moved({ from: "b", isStill: false });
  assert.equal(spoken.textContent, "Ada: text of b ");
});

/** A path of which `b`, in which somebody is writing, has got another version, `e`. */
function writingAtB() {
  const store = new TreeStore({ seq: 1, ids: ["root", "a", "b", "c", "e"], parents: [null, 0, 1, 2, 1], slots: [0, 1, 2, 3, 2], kinds: Array(5).fill("text"), authors: Array(5).fill(0), participants: [{ id: "ada" }], flags: Array(5).fill(0), lengths: [0, 1, 1, 1, 1] });
  const { element } = path({ ids: ["a", "b", "c"], store });
  const old = element.nodes()[1];
  openForm(old, { label: "Another wording", submit: "Suggest" }, async () => {}, { before: old.querySelector(".text") });
  const field = element.querySelector("textarea");
  field.value = "A much better word";
  field.setSelectionRange(2, 6);
  const isKept = () => field.isConnected && document.activeElement === field && field.value === "A much better word" && field.selectionStart === 2;
  return { element, field, isKept };
}
const textsOf = (element) => element.nodes().map((node) => node.querySelector(".text").textContent);

test("a new version of a text leaves the form that is open in it, with its focus, caret and words", () => {
  const { element, field, isKept } = writingAtB();
  element.put(element.nodes()[1], node("e"), "a");
  assert.ok(isKept());
  assert.deepEqual([ids(element), textsOf(element)[1]], [["a", "e", "c"], "text of e"]);
  assert.match(field.form.querySelector("[role=status]").textContent, /newer wording/);
});

test("a path that is drawn again with another version of a text leaves the form that is open in it", () => {
  const { element, isKept } = writingAtB();
  element.draw(`<div class="stretch">${["a", "e", "c"].map(node).join("")}</div>`, "");
  assert.ok(isKept());
  assert.deepEqual([ids(element), textsOf(element)[1]], [["a", "e", "c"], "text of e"]);
});

test("a path through other texts takes an open form away with its text", () => {
  const { element, field } = writingAtB();
  element.draw(`<div class="stretch">${["a", "d"].map(node).join("")}</div>`, "");
  assert.equal(field.isConnected, false);
});
