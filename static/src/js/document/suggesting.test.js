import assert from "node:assert/strict";
import { test } from "node:test";

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { freshPage, held, settled } from "../testing/dom.js";
import { commentHere, commenting } from "./commenting.js";
import { placesOf } from "../editor/places.js";
import { renew, reread, runner, suggesting } from "./suggesting.js";

globalThis.Window = window.Window; // by which the editor knows what scrolls
Object.assign(window.Range.prototype, { getClientRects: () => [], getBoundingClientRect: () => new window.DOMRect() });
const form = (name, node = "") => `<form action="/documents/d/do/${name}"><input type="hidden" name="node" value="${node}"><input name="text" aria-label="${name} ${node}"><button>Reply</button><p class="refused"></p></form>`;
const note = (node, words) => `<article data-comment="${node}">${words}${form("reply", node)}</article>`;
const list = (...notes) => `<div data-comments>${notes.join("")}${form("comment")}</div>`;
const page = (markup) => new DOMParser().parseFromString(markup, "text/html");
const comments = () => document.querySelector("[data-comments]");
const field = (label) => document.querySelector(`input[aria-label="${label}"]`);
/** Draws the list as another page has it. */
const renewed = (markup) => renew(comments(), page(markup).querySelector("[data-comments]"));

test("a change is found by what is around it, also where that was written on", () => {
  const edits = [["The ", "old", "new", " house stood."]];
  assert.deepEqual(placesOf(edits, "The old house stood."), [{ from: 4, to: 7, now: "new" }]);
  assert.deepEqual(placesOf(edits, "Once. The old house stood. Then"), [{ from: 10, to: 13, now: "new" }]);
  assert.deepEqual(placesOf(edits, "The old house fell."), [{ from: 4, to: 7, now: "new" }]);
  assert.deepEqual(placesOf(edits, "An old house stood."), [{ from: 3, to: 6, now: "new" }]);
  assert.deepEqual(placesOf(edits, "The young house stood."), []);
});

test("the same words twice are found one after the other", () => {
  const edits = [["a ", "b", "x", " c "], [" c a ", "b", "y", " c"]];
  assert.deepEqual(placesOf(edits, "a b c a b c").map(({ from, now }) => [from, now]), [[2, "x"], [8, "y"]]);
});

test("words are put into an empty text, and what is only added stands between its neighbours", () => {
  assert.deepEqual(placesOf([["", "", "One.", ""]], ""), [{ from: 0, to: 0, now: "One." }]);
  assert.deepEqual(placesOf([["One.", "", " Two.", ""]], "One."), [{ from: 4, to: 4, now: " Two." }]);
});

test("a reply that somebody writes stays while another comment is drawn, also without the focus", () => {
  freshPage(list(note("a1", "First.")));
  field("reply a1").value = "My long reply";
  renewed(list(note("a1", "First."), note("b2", "Second.")));
  assert.match(comments().textContent, /Second/);
  assert.equal(field("reply a1").value, "My long reply");
  assert.equal(field("reply b2").value, "");
});

test("the focus and the caret stay in a field whose list is drawn again", () => {
  freshPage(list(note("a1", "First.")));
  field("comment ").value = "On the whole";
  field("comment ").focus();
  field("comment ").setSelectionRange(3, 6);
  renewed(list());
  assert.equal(document.activeElement, field("comment "));
  assert.deepEqual([field("comment ").value, field("comment ").selectionStart, field("comment ").selectionEnd], ["On the whole", 3, 6]);
});

test("a reply to a comment that has gone is not erased", () => {
  freshPage(list(note("a1", "First.")));
  field("reply a1").value = "My long reply";
  renewed(list());
  assert.equal(field("reply a1").value, "My long reply");
  field("reply a1").value = "";
  renewed(list());
  assert.equal(field("reply a1"), null);
});

/** A document with its lists, of which `reply(url, options)` is what the server says. */
function written(reply, markup = list(note("a1", "First."))) {
  freshPage(`<main><div id="place"></div>${markup}</main>`, reply);
  const place = document.getElementById("place");
  const signal = new AbortController().signal;
  const run = runner("/documents/d", () => {});
  const view = new EditorView({
    parent: place,
    state: EditorState.create({
      doc: "She wanted the tower.",
      selection: { anchor: 0, head: 3 },
      extensions: [
        suggesting(place, { id: "d", tree: "t", address: "/documents/d", mayWrite: true, say() {}, signal }),
        commenting(place, "d", "t", (where, tree, command, args, stored) => run(where, tree, { command, args }, stored), signal),
      ],
    }),
  });
  return view;
}
const submit = (of) => of.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));

test("a reply that is stored leaves its field and is shown, and one that is sent twice is stored once", async () => {
  const answer = held();
  const lines = [];
  const view = written((url, { method }) => (method === "POST" ? (lines.push(url), answer.promise) : list(note("a1", "First. My reply."))));
  field("reply a1").focus();
  field("reply a1").value = "My reply";
  submit(field("reply a1").form);
  submit(field("reply a1").form);
  field("reply a1").value += " and more";
  answer.give({});
  for (let turn = 0; turn < 4; turn += 1) await settled();
  assert.equal(lines.length, 1);
  assert.match(comments().textContent, /My reply/);
  assert.equal(field("reply a1").value, " and more");
  assert.equal(document.activeElement, field("reply a1"));
  view.destroy();
});

test("a reply that is refused stays in its field", async () => {
  const view = written(() => new Response('{"message": "Not now."}', { status: 503 }));
  field("reply a1").value = "My reply";
  submit(field("reply a1").form);
  for (let turn = 0; turn < 4; turn += 1) await settled();
  assert.equal(field("reply a1").value, "My reply");
  assert.match(document.querySelector(".refused").textContent, /Not now/);
  view.destroy();
});

test("a comment on words is sent once, and its form closes though the list cannot be read", async () => {
  const answer = held();
  const lines = [];
  const view = written((url, { method }) => (method === "POST" ? (lines.push(url), answer.promise) : Promise.reject(new TypeError("no connection"))));
  commentHere(view);
  const dom = document.querySelector(".comment-form");
  dom.querySelector("textarea").value = "Who?";
  submit(dom);
  submit(dom);
  answer.give({});
  for (let turn = 0; turn < 4; turn += 1) await settled();
  assert.equal(lines.length, 1);
  assert.equal(document.querySelector(".comment-form"), null);
  view.destroy();
});

test("lists that cannot be read are read again later, once", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let asked = 0;
  const view = written(() => ((asked += 1) < 3 ? new Response("", { status: 503 }) : list(note("b2", "Second."))));
  await Promise.all([reread(view, "/documents/d"), reread(view, "/documents/d")]);
  context.mock.timers.tick(5000);
  context.mock.timers.reset();
  for (let turn = 0; turn < 4; turn += 1) await settled();
  assert.equal(asked, 3);
  assert.match(comments().textContent, /Second/);
  view.destroy();
});
