import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused } from "../live/api.js";
import { freshPage, held, place, treePage } from "../testing/dom.js";
import { LoomBuffer } from "./loom-buffer.js";

customElements.define("loom-buffer", LoomBuffer);

/** An editor that keeps what it is given: its nodes, and what is written behind them. */
function fakeEditor(leaves) {
  const editor = {
    tail: "",
    ids: leaves.map(({ id }) => id),
    book: { nodes: leaves.map(({ id, slot }) => ({ id, slot })), dirty: new Set() },
    view: { composing: false },
    shown: [],
    put: (at, text) => (at === editor.ids.length ? (editor.tail = text) : editor.shown.push([at, text])),
    putTail: (text) => (editor.tail = text),
    touched: () => [],
    settle() {},
    update: (now, tail) => {
      editor.ids = now.map(({ id }) => id);
      if (tail !== null) editor.tail = tail;
    },
    turn: (_, __, change) => change(),
    spot: () => ({ slot: "" }),
    cutPast() {},
    toEnd() {},
    focus() {},
    markNow: () => 1,
    untype: () => true,
    retype: () => true,
    destroy() {},
  };
  return editor;
}

const leaf = (id) => ({ id, slot: id, text: `text of ${id}` });

function buffer({ path = async (id) => [leaf("n1"), leaf(id)].filter(({ id: nodeId }, at) => !at || nodeId !== "n1"), ...values } = {}) {
  freshPage();
  const kept = new Map();
  const name = ({ kind, slot }) => `${kind} ${slot}`;
  const drafts = Object.assign(new EventTarget(), { of: (where) => kept.get(name(where)) ?? "", write: (where, text) => kept.set(name(where), text), cut: (where) => kept.set(name(where), "(cut)"), isCut: () => false, isInHand: () => false, slots: () => new Set() });
  const store = { slotOf: (id) => Number(id.slice(1)), pathTo: () => [], isPruned: () => false, ids: ["n0", "n1", "n2", "n3"] };
  const page = treePage({ drafts, store, can: {}, acts: { forget() {}, amend() {}, isTypedLast: () => true, isTypingNext: () => false }, ...values });
  const element = place(LoomBuffer);
  Object.assign(element, {
    leaves: { path, known: new Map([["n1", leaf("n1")]]) },
    place: { kind: "buffer", slot: "n1" },
    editor: fakeEditor([leaf("n1")]),
    saving: { isBusy: false, left: () => [], pending: () => [], edits: async () => {}, leave: async () => {}, isSent: () => false, isStored: () => false, isHeld: () => false, drawn: () => ({ stored: new Set(), typed: [] }), elsewhere: new Map(), warn() {}, putBack() {} },
    bar: { tell() {} },
    wheel: { show() {}, cardOf: () => null, weave: { untake: () => true } },
    writing: { soon() {} },
  });
  return { page, element, kept, editor: element.editor };
}

test("a reader has the text and no editor", () => {
  const { element } = buffer();
  assert.equal(element.ahead, undefined);
});

test("the newest of two readings is shown, whichever comes last", async () => {
  const [older, newer] = [held(), held()];
  const answers = [older, newer];
  const { element, editor } = buffer({ path: () => answers.shift().promise });
  const reads = [element.sync(), element.sync()];
  newer.give([leaf("n1"), leaf("n2")]);
  await reads[1];
  older.give([leaf("n1")]);
  await reads[0];
  assert.deepEqual(editor.ids, ["n1", "n2"]);
});

test("what is typed behind the text is a draft of its place, and comes back with it", async () => {
  const { element, page, kept, editor } = buffer();
  editor.tail = "Words behind it.";
  element.keep();
  page.position = "n2";
  await element.sync();
  assert.equal(editor.tail, "");
  page.position = "n1";
  await element.sync();
  assert.equal(editor.tail, "Words behind it.");
  assert.equal(kept.get("buffer n1"), "Words behind it.");
});

test("what was typed while another path was on its way is kept where it was typed", async () => {
  const late = held();
  const { element, page, kept, editor } = buffer({ path: () => late.promise });
  page.position = "n2";
  const reading = element.sync();
  editor.tail = "Typed late.";
  element.typed();
  late.give([leaf("n1"), leaf("n2")]);
  await reading;
  assert.equal(kept.get("buffer n1"), "Typed late.");
  assert.equal(editor.tail, "");
});

test("the answer for a place that was left is not drawn", async () => {
  const late = held();
  const { element, page, editor } = buffer({ path: () => late.promise });
  page.position = "n2";
  const reading = element.sync();
  page.position = "n3";
  late.give([leaf("n2")]);
  await reading;
  assert.deepEqual(editor.ids, ["n1"]);
});

test("nothing is drawn while a letter is being made, a text is being saved, or the past is shown", async () => {
  const { element, page, editor } = buffer();
  page.position = "n2";
  editor.view.composing = true;
  await element.sync();
  editor.view.composing = false;
  element.saving.isBusy = true;
  await element.sync();
  element.saving.isBusy = false;
  page.isPast = true;
  await element.sync();
  assert.deepEqual(editor.ids, ["n1"]);
});

test("an edit is a draft of its node, and no draft once it is as the node is", () => {
  const { element, kept, editor } = buffer();
  editor.touched = () => [{ slot: "n1", id: "n1", text: "another text" }];
  editor.book.dirty.add("n1");
  element.keep();
  assert.equal(kept.get("edit n1"), "another text");
  editor.touched = () => [];
  editor.book.dirty.clear();
  element.keep();
  assert.equal(kept.get("edit n1"), "");
  assert.equal(element.edited.size, 0);
});

test("words of a candidate that were taken before are part of it", () => {
  const { element, kept, editor } = buffer();
  const amended = [];
  element.page.acts.amend = (change) => amended.push(change);
  Object.assign(element.wheel, { cardOf: () => "card", textOf: () => "The gate was new." });
  editor.tail = "The gate";
  element.taken({ card: "n2" });
  assert.equal(editor.tail, "");
  assert.equal(kept.get("buffer n1"), "");
  assert.deepEqual(amended, [{ tail: "The gate" }]);
  editor.tail = "A barn";
  element.taken({ card: "n2" });
  assert.equal(editor.tail, "A barn");
});

test("what was typed after a candidate was taken comes behind its text", async () => {
  const { element, page, editor, kept } = buffer();
  editor.tail = "Before.";
  element.taken({ card: "n2" });
  editor.tail = "Before. And after.";
  page.position = "n2";
  await element.sync();
  assert.equal(kept.get("buffer n1"), "Before.");
  assert.equal(editor.tail, " And after.");
});

test("another tab's words come in, unless something is being saved", () => {
  const { element, kept, editor } = buffer();
  kept.set("buffer n1", "from elsewhere");
  element.heard({ kind: "buffer", slot: "n1" });
  assert.equal(editor.tail, "from elsewhere");
  kept.set("edit n1", "");
  element.heard({ kind: "edit", slot: "n1" });
  assert.deepEqual(editor.shown, [[0, "text of n1"]]);
  element.saving.isBusy = true;
  kept.set("buffer n1", "too late");
  element.heard({ kind: "buffer", slot: "n1" });
  assert.equal(editor.tail, "from elsewhere");
});

test("undo right after accepting what is coming takes that back, unless something was typed since", () => {
  const { element } = buffer();
  element.awaited = 3;
  assert.equal(element.untake(4), false);
  assert.equal(element.untake(3), true);
});

test("undo is the editor's only where typing was the last thing done", () => {
  const { element, page } = buffer();
  assert.equal(element.untype(), true);
  assert.equal(element.retype(), false);
  page.acts.isTypedLast = () => false;
  assert.equal(element.untype(), false);
});

test("a text that could not be read is read with the next connection, and one that is shown is not", () => {
  const { element, page } = buffer();
  const waits = [];
  element.soon = (wait) => waits.push(wait);
  element.shown = "n1";
  element.stated("live");
  page.position = "n2";
  element.stated("offline");
  assert.deepEqual(waits, []);
  element.stated("live");
  assert.deepEqual(waits, [0]);
});

test("what is typed while the page moves by itself stays behind the text, with what waited there", async () => {
  const late = held();
  const { element, page, kept, editor } = buffer({ path: () => late.promise });
  const to = { kind: "buffer", slot: "n2" };
  kept.set("buffer n2", " there.");
  editor.tail = "Begun";
  element.typed();
  element.carried({ from: { kind: "buffer", slot: "n1" }, to });
  assert.equal(kept.get("buffer n1"), "Begun");
  assert.equal(editor.tail, "Begun there.");
  page.position = "n2";
  const reading = element.sync();
  editor.tail = "Begun and ended there.";
  element.typed();
  late.give([leaf("n1"), leaf("n2")]);
  await reading;
  assert.equal(editor.tail, "Begun and ended there.");
  assert.equal(kept.get("buffer n2"), "Begun and ended there.");
  assert.equal(kept.get("buffer n1"), "Begun");
});

test("a text that does not come is told once and asked for again, and the older one stays", async () => {
  const answers = [503, 503, 0].map((status) => new Refused({ message: `The server returned ${status}.` }, status));
  const { element, page, editor } = buffer({ path: async (id) => (answers.length ? Promise.reject(answers.shift()) : [leaf(id)]) });
  const waits = [];
  element.soon = (wait) => waits.push(wait);
  element.shown = "n1";
  page.position = "n2";
  for (let tries = 0; tries < 3; tries += 1) await element.sync();
  assert.deepEqual(page.emitted.map(([name, error]) => [name, error.message]), [["refused", "The server returned 503."]]);
  assert.deepEqual(waits, [3000, 3000, 3000]);
  assert.deepEqual(editor.ids, ["n1"]);
  await element.sync();
  assert.deepEqual(editor.ids, ["n2"]);
  assert.equal(element.shown, "n2");
});

test("what was typed behind a candidate is not sent before that is shown", async () => {
  const { element, page, editor } = buffer();
  const sent = [];
  element.saving.all = async () => sent.push(editor.tail);
  element.taken({ card: "n2" });
  editor.tail = "And after.";
  page.position = "n2";
  element.isDrawn = async () => false;
  await element.go("respond");
  assert.deepEqual(sent, []);
  element.isDrawn = async () => {
    await element.sync();
    return true;
  };
  await element.go("respond");
  assert.deepEqual(sent, ["And after."]);
});

test("what is typed on in an edit that is on its way is a draft, and what is on its way is none", () => {
  const { element, kept, page, editor } = buffer();
  page.drafts.isInHand = () => true;
  element.saving.isSent = (_, text) => text === "sent";
  let text = "sent, and more";
  editor.touched = () => [{ slot: "n1", id: "n1", text }];
  editor.book.dirty.add("n1");
  element.keep();
  assert.equal(kept.get("edit n1"), "sent, and more");
  text = "sent";
  element.keep();
  assert.equal(kept.get("edit n1"), "");
  page.drafts.isInHand = () => false;
  kept.set("edit n1", "sent");
  element.keep(); // it waits for its turn
  assert.equal(kept.get("edit n1"), "sent");
});

test("a passage that was cut out is kept as that, and is cut out when its text is shown again", () => {
  const { element, kept, page, editor } = buffer();
  editor.touched = () => [{ slot: "n1", id: "n1", text: "" }];
  editor.book.dirty.add("n1");
  element.keep();
  assert.equal(kept.get("edit n1"), "(cut)");
  Object.assign(page.drafts, { slots: () => new Set(["n1"]), of: () => "", isCut: () => true });
  element.restore();
  element.heard({ kind: "edit", slot: "n1" });
  assert.deepEqual(editor.shown, [[0, ""], [0, ""]]);
});

/** A buffer whose whole text a test sets, and where its caret was led. */
function turnedBuffer() {
  const made = buffer();
  const { editor, page } = made;
  const led = [];
  page.events.seq = 5;
  Object.assign(editor, { text: "One. Two.", head: 0, showPlace: (at) => led.push(at) });
  const change = (text) => (editor.update = () => (editor.text = text));
  return { ...made, led, change };
}

test("undo leads to what it changes in the text, once all of it is here", async () => {
  const { element, page, led, change } = turnedBuffer();
  element.turns("undo", { verb: "edit", from: "n1", to: "n1" }, 6);
  await element.sync();
  page.events.seq = 6;
  change("One! Two.");
  await element.sync();
  assert.deepEqual(led, [4]);
});

test("undo of what is no text leads nowhere when somebody changes the text later", async () => {
  const { element, led, change } = turnedBuffer();
  element.turns("undo", { verb: "tag", from: "n1", to: "n1" }, 5);
  await element.sync();
  change("One! Two.");
  await element.sync();
  assert.deepEqual(led, []);
});

test("who goes to another text after undo is not led into the difference", () => {
  const { element } = turnedBuffer();
  element.turns("undo", { verb: "edit", from: "n1", to: "n2" }, 9);
  element.moved({ isHeld: true });
  assert.ok(element.turned);
  element.moved({});
  assert.equal(element.turned, undefined);
});

test("below a pruned text neither Add nor the key that continues sends anything", async () => {
  const { element, page } = buffer();
  const said = [];
  document.body.append(Object.assign(document.createElement("loom-composer"), { answer: (...words) => said.push(words) }));
  const sent = [];
  Object.assign(element.saving, { all: () => sent.push("all"), continueHere: () => sent.push("continue") });
  Object.assign(page.store, { pathTo: () => [1], isPruned: () => true });
  for (const action of ["respond", "continue"]) await element.go(action);
  assert.deepEqual([sent, said.length], [[], 2]);
  assert.match(said[0][0], /was pruned/);
});

test("what is said of the words behind the text is of their own draft", () => {
  const { element, page, editor } = buffer();
  const told = [];
  element.bar.keep = (...words) => told.push(words);
  editor.tail = "Words";
  Object.assign(page.drafts, { isKept: ({ kind }) => kind === "buffer", isRefused: ({ kind }) => kind !== "buffer" });
  element.kept();
  assert.deepEqual(told, [["Words", true, false]]);
});
