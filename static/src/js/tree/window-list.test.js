import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { drawAgain, revisionRow, windowList } from "./window-list.js";

const shown = (values) => ({ number: 3, kind: "node", visible: true, keep: false, ref: "[a7x2]", label: "", text: "The gate.", before: [], after: [], as: null, open: true, current: null, document: null, revision: null, ...values });

function list(windows, { markup = {}, ...viewer } = {}) {
  const { body } = freshPage();
  body.append(...windowList(windows, markup, { store: { slotOf: (id) => (id === "a7x2" ? 1 : null) }, mode: "dialogue", isOwn: true, onChanges() {}, ...viewer }));
  return body;
}
const buttons = (box) => [...box.querySelectorAll(".window-do button")].map((button) => button.textContent);

test("open windows come first, then stashes, then what is hidden", () => {
  const box = list([shown({ number: 1, visible: false }), shown({ number: 2, kind: "stash", visible: false, label: "line" }), shown({ number: 3 })]);
  assert.deepEqual([...box.querySelectorAll("h2")].map((head) => head.textContent), ["Open", "Stashed", "Hidden"]);
  assert.deepEqual([...box.querySelectorAll("li")].map((row) => row.dataset.number), ["3", "2", "1"]);
});

test("a list that is drawn again leaves the focus at the control of the same window", () => {
  const box = list([shown({ number: 3 }), shown({ number: 4 })]);
  const closing = (number) => [...box.querySelectorAll(`li[data-number="${number}"] button`)].at(-1);
  closing(3).focus();
  const rows = windowList([shown({ number: 4 }), shown({ number: 3 })], {}, { store: null, mode: "dialogue", isOwn: true, onChanges() {} });
  drawAgain(box, rows);
  assert.equal(document.activeElement, closing(3));
  assert.equal(document.activeElement.textContent, "Close");
});

test("nothing open says what could be", () => {
  assert.match(list([]).textContent, /^Nothing is open\. Pin a text/);
});

test("what may be done depends on how a window is shown and whose it is", () => {
  assert.deepEqual(buttons(list([shown()])), ["Pin", "Hide", "Insert into the composer", "Close"]);
  assert.deepEqual(buttons(list([shown({ keep: true })], { isOwn: false })), ["Hide", "Close"]);
  assert.deepEqual(buttons(list([shown({ visible: false })], { mode: "buffer" })), ["Show", "Insert into the text", "Close"]);
  assert.deepEqual(buttons(list([shown({ kind: "stash", visible: false, label: 'a "b"' })])), ["Recall", "Insert into the composer", "Drop"]);
});

test("no two controls of a list have one name, although the texts begin alike", () => {
  const text = `${"Donaudampfschiff ".repeat(9)}`;
  const box = list([shown({ number: 3, text }), shown({ number: 4, text }), shown({ number: 5, kind: "stash", visible: false, label: "kept" })]);
  const names = [...box.querySelectorAll("button")].map((button) => button.getAttribute("aria-label") ?? button.ariaLabel);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.some((name) => name.startsWith("Close: “Donaudampf") && name.endsWith("#4")));
  assert.ok(names.includes("Recall: kept"));
});

test("a button runs its command by name", () => {
  const box = list([shown({ kind: "stash", visible: false, label: 'a "b"' })]);
  const calls = [...box.querySelectorAll("[data-call]")].map((button) => JSON.parse(button.dataset.call));
  assert.deepEqual(calls, [{ command: "recall", args: { label: 'a "b"' } }, { command: "drop", args: { ref: 'stash:"a \\"b\\""' } }]);
});

test("a window leads to the text or document that it shows", () => {
  const known = list([shown()]).querySelector(".window-head a");
  assert.equal(known.dataset.go, "a7x2");
  assert.equal(known.textContent, "“The gate.”");
  const changes = list([shown({ as: "diff", text: "-The gate.\n+A gate." })]).querySelector(".window-head a");
  assert.equal(changes.textContent, "Go to the text");
  assert.equal(list([shown({ ref: "[zzzz]" })]).querySelector(".window-head a"), null);
  const document = list([shown({ document: "d1", revision: 4, ref: "doc:Plan" })]).querySelector(".window-head a");
  assert.equal(document.getAttribute("href"), "/documents/d1");
});

test("its marks say the revision, that it is pinned, and that its text is stale", () => {
  const marks = list([shown({ document: "d1", revision: 4, keep: true, current: "b2x9" })]).querySelector(".window-head .soft");
  assert.equal(marks.textContent, "revision 4 · pinned · an older version");
});

test("a difference marks what was added and removed", () => {
  const box = list([shown({ as: "diff", text: " same\n+new\n-old" })]);
  assert.equal(box.querySelector("pre.diff ins").textContent, "+new");
  assert.equal(box.querySelector("pre.diff del").textContent, "-old");
});

test("a long text folds behind its beginning and can be scrolled by keys", () => {
  const box = list([shown({ text: "word ".repeat(200) })]);
  assert.match(box.querySelector("summary").textContent, /^word .*word…$/);
  assert.equal(box.querySelector("details pre").tabIndex, 0);
});

test("a text that the path draws is drawn alike, with the lines around it", () => {
  const box = list([shown({ before: ["1"], after: ["3"] })], { markup: { 3: "<p>The <em>gate</em>.</p>" } });
  assert.equal(box.querySelector(".window-text em").textContent, "gate");
  assert.deepEqual([...box.querySelectorAll(".around")].map((lines) => lines.textContent), ["1", "3"]);
});

test("what may not be seen has words in its place and nothing to insert", () => {
  const box = list([shown({ open: false, text: "(not visible to you)" })]);
  assert.equal(box.querySelector("li > .soft").textContent, "(not visible to you)");
  assert.deepEqual(buttons(box), ["Pin", "Hide", "Close"]);
});

test("the last changes of a document are asked for once they are unfolded", () => {
  const asked = [];
  const box = list([shown({ document: "d1", revision: 4 })], { onChanges: (_, document) => asked.push(document) });
  const fold = [...box.querySelectorAll("details")].at(-1);
  fold.dispatchEvent(new Event("toggle"));
  assert.deepEqual(asked, []);
  fold.open = true;
  fold.dispatchEvent(new Event("toggle"));
  assert.deepEqual(asked, ["d1"]);
});

test("a revision shows what changed and only the ends of what stayed", () => {
  const row = revisionRow(7, ["Ada", "Muse"], [{ kind: "same", text: `a${"x".repeat(300)}z` }, { kind: "old", text: "barn" }, { kind: "new", text: "house" }]);
  assert.equal(row.querySelector(".soft").textContent, "revision 7 · Ada, Muse");
  assert.match(row.querySelector(".change").textContent, /^ax{59} … x{59}zbarnhouse$/);
  assert.equal(row.querySelector("ins").textContent, "house");
});
