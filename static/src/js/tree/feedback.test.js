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
