import assert from "node:assert/strict";
import { test } from "node:test";
import { told, Refused } from "../live/api.js";
import { freshPage, treePage } from "../testing/dom.js";
import { follow } from "./page-drafts.js";
import { followSignIn } from "./signed-out.js";

const READER = "heddle.reader";
const shown = () => document.querySelector(".signed-out");

/** A page of Ada, where the browser knows that she is signed in. */
function page() {
  freshPage('<loom-composer><form class="composer"><textarea></textarea></form></loom-composer>');
  document.head.innerHTML = '<meta name="reader" content="ada">';
  localStorage.setItem(READER, "ada");
  const drafts = Object.assign(new EventTarget(), { loads: 0, heards: 0, load: async () => void (drafts.loads += 1), heard: () => (drafts.heards += 1), flushAll() {} });
  const socket = { state: "gone", resync: () => (socket.state = "live") };
  return treePage({ drafts, socket });
}

/** What another tab writes in the store of this browser. */
function elsewhere(key, newValue) {
  if (key === READER) localStorage.setItem(READER, newValue);
  window.dispatchEvent(Object.assign(new Event("storage"), { key, newValue }));
}

test("who signs out in another tab is told once, with the way back, and again signed in goes on", () => {
  const tree = page();
  const stop = new AbortController();
  followSignIn(tree, stop.signal);
  elsewhere(READER, "");
  tree.emit("state", { state: "gone", reason: "signed out" });
  tree.emit("refused", new Refused({ message: "You are signed out." }, 401));
  assert.equal(document.querySelectorAll(".signed-out").length, 1);
  assert.match(shown().querySelector("a").getAttribute("href"), /^\/signin\?next=%2Ftrees%2Ft/);
  elsewhere(READER, "ada");
  assert.equal(shown(), null);
  assert.deepEqual([tree.socket.state, tree.drafts.loads], ["live", 1]);
  stop.abort();
});

test("where somebody else signs in, nothing stays to be seen", () => {
  const tree = page();
  const stop = new AbortController();
  let reloads = 0;
  followSignIn(tree, stop.signal, () => (reloads += 1));
  elsewhere(READER, "bob");
  assert.equal(reloads, 1);
  stop.abort();
});

test("a draft that signing out took from this browser stays in its field", async () => {
  const tree = page();
  const stop = new AbortController();
  await follow(tree.drafts, stop.signal);
  elsewhere("heddle.draft.ada.t.buffer.n1", "{}");
  assert.equal(tree.drafts.heards, 1);
  elsewhere(READER, "");
  elsewhere("heddle.draft.ada.t.buffer.n1", null);
  assert.equal(tree.drafts.heards, 1);
  stop.abort();
});

test("a refusal for want of a person says on a page of a tree that what was typed is kept", () => {
  page();
  const refused = new Refused({ message: "You are signed out.", hint: "sign in at /signin" }, 401);
  assert.equal(told(refused), "You are signed out. What you typed is kept.");
  freshPage("");
  assert.equal(told(refused), "You are signed out.\nSign in at /signin");
});
