import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, treePage } from "../testing/dom.js";
import { LoomToast } from "../elements/loom-toast.js";
import { followRights } from "./rights.js";

customElements.define("loom-toast", LoomToast);

const ARCHIVED = { archived_at: "2026-11-28T16:00:00Z" };

/** What a page whose composer holds `typed` says after a change of its tree. */
function told(payload, { typed = "", actor = "bea" } = {}) {
  freshPage('<loom-toast></loom-toast><div class="composer"><textarea></textarea></div>');
  document.querySelector("textarea").value = typed;
  const handlers = [];
  const events = Object.assign(new EventTarget(), { on: (_, run) => (handlers.push(run), () => {}) });
  const stop = new AbortController();
  followRights(treePage({ events }), stop.signal);
  for (const run of handlers) run({ kind: "tree.changed", actor, payload });
  stop.abort();
  return document.querySelector("loom-toast").textContent;
}

test("whoever has typed something is told that the tree was archived, and stays", () => {
  assert.match(told(ARCHIVED, { typed: "half a thought" }), /^This tree was archived and can only be read now\..*Reload$/);
});

test("whoever has the tree open elsewhere is offered the page as it is now", () => {
  assert.match(told(ARCHIVED, { actor: "ada" }), /archived.*Reload$/);
  assert.match(told({ archived_at: null }, { actor: "ada" }), /^This tree was restored\..*Reload$/);
});

test("another change of a tree says nothing of rights", () => {
  assert.equal(told({ title: "New" }, { typed: "half a thought" }), "");
});

test("whoever gets another role in the grove is told so, once, and not when the page connects", () => {
  freshPage('<loom-toast></loom-toast><div class="composer"><textarea></textarea></div>');
  document.querySelector("textarea").value = "half a thought";
  const stop = new AbortController();
  const handlers = [];
  const events = Object.assign(new EventTarget(), { on: (_, run) => (handlers.push(run), () => {}) });
  const page = treePage({ events });
  page.settings = { ...page.settings, role: "writer" };
  followRights(page, stop.signal);
  const offers = () => document.querySelectorAll("loom-toast .toast").length;
  page.emit("role", "writer");
  assert.equal(offers(), 0);
  page.emit("role", "reader");
  for (const run of handlers) run({ kind: "tree.changed", actor: "bea", payload: { rights: { participant: "ada", right: "read" } } });
  assert.equal(offers(), 1);
  assert.match(document.querySelector("loom-toast").textContent, /^What you may do in this tree has changed\..*Reload$/);
  stop.abort();
});
