import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { freshPage, treePage } from "../testing/dom.js";
import { nameOf, placeOf } from "../live/draft-storage.js";
import { followHiddenDrafts, hiddenDrafts, visibleAbove } from "./hidden-drafts.js";
import { TreeStore } from "./store.js";

/** root > n1 > n2 > n3, of which some are pruned. */
function line(...pruned) {
  const ids = ["root", "n1", "n2", "n3"];
  return new TreeStore({ seq: 1, ids, parents: [null, 0, 1, 2], slots: [0, 1, 2, 3], kinds: ids.map(() => "text"), authors: [0, 0, 0, 0], participants: [{ id: "ada" }], flags: ids.map((id) => Number(pruned.includes(id))), lengths: [1, 1, 1, 1] });
}

/** Drafts that live in memory. */
function draftsOf(kept) {
  const texts = new Map(Object.entries(kept));
  const drafts = Object.assign(new EventTarget(), {
    all: () => [...texts].filter(([, text]) => text),
    of: (where) => texts.get(nameOf(where)) ?? "",
    write: (where, text) => texts.set(nameOf(where), text),
    discard: (where) => {
      texts.set(nameOf(where), "");
      drafts.dispatchEvent(new CustomEvent("draft", { detail: where }));
    },
    load: async () => {},
  });
  return drafts;
}

function pageWith({ pruned = [], kept = {}, can = { write: true, comment: true }, ...values } = {}) {
  freshPage('<loom-toast></loom-toast><loom-composer><form><textarea id="composer-text"></textarea></form></loom-composer>');
  const page = treePage({ store: line(...pruned), drafts: draftsOf(kept), position: "n1", ...values });
  page.settings = { ...page.settings, can };
  return page;
}

const names = (page) => hiddenDrafts(page).map(([where]) => nameOf(where));
const shown = () => wait(150);
const at = (selector) => document.querySelector(selector);
const press = (label) => [...document.querySelectorAll(".hidden-draft button")].find((button) => button.textContent === label).click();

test("words below a pruned text are shown, but not where they are still in a field", () => {
  const kept = { "buffer.n3": "mine", "edit.n2": "better", "buffer.n1": "here" };
  assert.deepEqual(names(pageWith({ kept })), []);
  assert.deepEqual(names(pageWith({ kept, pruned: ["n2"] })), ["buffer.n3", "edit.n2"]);
  assert.deepEqual(names(pageWith({ kept, pruned: ["n2"], position: "n3" })), []);
  assert.deepEqual(names(pageWith({ kept, pruned: ["n2"], isPast: true })), []);
});

test("who may only read a tree sees all that they typed in it; who comments has their notes in forms", () => {
  const kept = { "buffer.n3": "mine", "note.n2": "why?" };
  assert.deepEqual(names(pageWith({ kept, can: {} })), ["buffer.n3", "note.n2"]);
  assert.deepEqual(names(pageWith({ kept, can: { comment: true } })), ["buffer.n3"]);
});

test("hidden words are taken to where one is, behind what stands there, and are then nowhere else", async () => {
  const page = pageWith({ kept: { "buffer.n3": "mine", "buffer.n1": "here" }, pruned: ["n2"] });
  followHiddenDrafts(page, new AbortController().signal);
  await shown();
  assert.match(at(".hidden-draft").textContent, /mine/);
  press("Take it here");
  await shown();
  assert.equal(page.drafts.of(placeOf("buffer.n1")), "here\nmine");
  assert.equal(page.drafts.of(placeOf("buffer.n3")), "");
  assert.equal(at(".hidden-draft"), null);
});

test("hidden words are discarded one after another, and elsewhere only copied", async () => {
  const page = pageWith({ kept: { "buffer.n3": "mine", "edit.n2": "better" }, can: {} });
  followHiddenDrafts(page, new AbortController().signal);
  await shown();
  assert.deepEqual([...document.querySelectorAll(".hidden-draft button")].map((button) => button.textContent), ["Copy", "Discard"]);
  press("Discard");
  await shown();
  assert.equal(at("[data-secret]").textContent, "better");
});

test("who has words where somebody else prunes is told, where they are elsewhere", async () => {
  const page = pageWith({ kept: { "buffer.n3": "mine" }, pruned: ["n2"], position: "n1" });
  const toasts = [];
  at("loom-toast").show = (words) => toasts.push(words);
  followHiddenDrafts(page, new AbortController().signal);
  const pruning = { kind: "node.flagged", actor: "bob", payload: { node: "n2", flag: "pruned", value: true } };
  page.emit("event", { ...pruning, actor: "ada" });
  page.emit("event", { ...pruning, payload: { ...pruning.payload, value: false } });
  assert.equal(toasts.length, 0);
  page.emit("event", pruning);
  page.position = "n3"; // where the composer says it
  page.emit("event", pruning);
  assert.equal(toasts.length, 1);
  assert.equal(visibleAbove(line("root"), "n3"), "");
});
