import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, settled } from "../testing/dom.js";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { suggesting } from "./suggesting.js";

test("a suggestion that is on its way is not sent again by its keys", async () => {
  const answer = held();
  let sent = 0;
  freshPage("<main></main>", (_, { method }) => (method === "POST" ? ((sent += 1), sent > 1 ? new Promise(() => {}) : answer.promise) : "<main></main>"));
  const main = document.querySelector("main");
  const { signal } = new AbortController();
  const view = new EditorView({ parent: main, state: EditorState.create({ doc: "The old house.", selection: { anchor: 4, head: 7 }, extensions: suggesting(main, { id: "d", tree: "t", address: "/documents/d", mayWrite: true, say() {}, signal }) }) });
  view.measure = () => {}; // there is no layout
  view.contentDOM.dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true, altKey: true, bubbles: true }));
  await settled();
  const form = document.querySelector(".suggest-form");
  const press = () => form.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
  press();
  press();
  assert.equal(sent, 1);
  answer.give(new Response('{"message": "Not now."}', { status: 503 }));
  const refused = form.querySelector(".refused");
  for (let turns = 0; turns < 100 && refused.hidden; turns += 1) await settled();
  assert.equal(refused.textContent, "Not now.");
  press();
  assert.equal(sent, 2);
  view.destroy();
});
