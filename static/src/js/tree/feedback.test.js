import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, treePage } from "../testing/dom.js";
import { LoomToast } from "../elements/loom-toast.js";
import { giveFeedback } from "./feedback.js";

customElements.define("loom-toast", LoomToast);

test("a change that is part of an act is said as the whole act, any other by itself", () => {
  freshPage("<loom-toast></loom-toast>");
  const page = treePage();
  const stop = new AbortController();
  giveFeedback(page, stop.signal);
  const answer = { canonical: "→ suggest a7x2", reply: "✓ suggestion [b2c3] on [a7x2]", events: [1], step: 4 };
  const said = () => document.querySelector("loom-toast summary").textContent;
  page.emit("said", { answer });
  assert.equal(said(), "Suggestion added");
  page.emit("said", { answer, act: { act: "k", doing: "suggested a wording of 3 passages" } });
  assert.equal(said(), "Suggested a wording of 3 passages");
  stop.abort();
});

test("undo is offered for what it takes back, and not for a check", () => {
  freshPage("<loom-toast></loom-toast>");
  const page = treePage();
  const stop = new AbortController();
  giveFeedback(page, stop.signal);
  const buttons = () => [...document.querySelectorAll("loom-toast button")].map((button) => button.textContent);
  const answer = (canonical, reply) => page.emit("said", { answer: { canonical, reply, events: [1], step: 4 } });
  answer("→ prune a7x2", "✓ pruned [a7x2]");
  assert.deepEqual(buttons(), ["Undo"]);
  answer("→ check a7x2", "✗ 1 failed: short 12 > 3");
  assert.deepEqual(buttons(), []);
  answer("→ undo", "✓ undid → prune a7x2");
  assert.deepEqual(buttons(), ["Redo"]);
  answer("→ redo", "✓ redid → prune a7x2");
  assert.deepEqual(buttons(), []);
  stop.abort();
});
