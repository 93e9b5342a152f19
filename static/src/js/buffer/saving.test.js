import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused } from "../live/api.js";
import { freshPage, treePage } from "../testing/dom.js";
import { EditBar } from "./bar.js";
import { Saving } from "./saving.js";

/** Words behind a text whose Add is refused, and what the page says of it. */
function refusedTail(answers) {
  freshPage();
  const page = treePage({ say: async () => Promise.reject(answers.shift()) });
  const editor = { tail: "my words", ids: ["n1"], book: { nodes: [] }, replaced: null, touched: () => [], sendTail() {}, takeBack: () => (editor.isBack = true), spot: () => ({ isTail: true, offset: 8, text: "my words" }) };
  const saving = new Saving({ soon() {}, leaves: { known: new Map() } }, page, editor);
  return { saving, page, editor };
}

/** The composer of the page: what it answers. */
function composerThatSays() {
  const said = [];
  document.body.append(Object.assign(document.createElement("loom-composer"), { answer: (words, bad) => said.push([words, bad]) }));
  return said;
}

const hidden = () => new Refused({ code: "REJECTED", message: "[n2] is hidden.", hint: "Restore n2 first." }, 409);

test("words that could not be added say why at the composer, by Add and by Continue", async () => {
  const { saving, editor } = refusedTail([hidden(), hidden()]);
  const said = composerThatSays();
  assert.equal(await saving.all(), false);
  assert.deepEqual(said.at(-1), ["[n2] is hidden.\nRestore n2 first.", true]);
  assert.equal(editor.isBack, true);
  said.length = 0;
  await saving.continueHere();
  assert.deepEqual(said.at(-1), ["[n2] is hidden.\nRestore n2 first.", true]);
});

test("a page without a composer says as a message why words could not be added", async () => {
  const { saving, page } = refusedTail([new Refused({ message: "The server returned 500." }, 500)]);
  await saving.all();
  assert.equal(page.emitted.at(-1)[0], "refused");
});

/** An edit of the text n1 that is typed and not saved. */
function typedEdit() {
  freshPage("<div id=book></div>");
  const page = treePage({ cast: new Map([["bea", { name: "Bea" }]]) });
  const shown = [];
  const editor = { ids: ["n1"], book: { nodes: [{ id: "n1", slot: "n1" }] }, view: { composing: false }, touched: () => [{ id: "n1", slot: "n1", text: "my wording", place: 0, from: 0 }], sayAt: (element, slot) => shown.push([element, slot]), focus() {} };
  const host = { isConnected: true, soon() {}, keep() {}, leaves: { known: new Map([["n1", { text: "the first" }]]) } };
  host.bar = new EditBar(document.getElementById("book"), editor);
  return { saving: new Saving(host, page, editor), host, shown };
}

test("another version of a passage that is being changed is told at once, and can be read", () => {
  const { saving, host, shown } = typedEdit();
  const node = { id: "n5", slot: "n1", text: "her wording" };
  saving.newer(node, "ada");
  saving.newer({ ...node, slot: "n4" }, "bea");
  assert.equal(shown.length, 0);
  saving.newer(node, "bea");
  const { words } = host.bar;
  assert.equal(shown.at(-1)[1], "n1");
  assert.match(words.querySelector(".bad").textContent, /Bea saved another version while you were writing/);
  assert.equal(words.querySelector("details > div").textContent, "her wording");
  assert.deepEqual([...words.querySelectorAll("button")].map((button) => button.textContent), ["Save as a branch", "Discard"]);
  host.bar.tell([{ id: "n1", slot: "n1" }], { way: "version", save() {}, back() {} });
  assert.match(words.textContent, /her wording/);
});

test("a question that waits for its answer is not taken away by news of another version", () => {
  const { saving, host, shown } = typedEdit();
  host.bar.ask({ slot: "n1" });
  saving.isBusy = true;
  saving.newer({ id: "n5", slot: "n1", text: "her wording" }, "bea");
  assert.match(host.bar.words.textContent, /How should this edit be saved/);
  saving.isBusy = false;
  host.bar.isRefused = true;
  const before = shown.length;
  saving.newer({ id: "n5", slot: "n1", text: "her wording" }, "bea", true);
  assert.equal(shown.length, before);
});

test("a refusal at its passage names it no second time", () => {
  const { saving, host } = typedEdit();
  const stretch = { id: "n1", slot: "n1", text: "my wording", place: 0, from: 0 };
  saving.refused(new Refused({ code: "CONFLICT", message: "[n1] has a newer version." }, 409), stretch);
  assert.match(host.bar.words.textContent, /^\[n1\] has a newer/);
});

/** Words behind the text of n1, which is shown while the page is at n2 already. */
function tailOfShown(values = {}) {
  freshPage();
  const said = [];
  const written = [];
  const drafts = { write: ({ slot }, text) => written.push([slot, text]) };
  const say = async (what, how) => (said.push([what, how]), { refs: ["n9"], position: "n9" });
  const page = treePage({ say, drafts, position: "n2", settings: { me: "ada", node: "n0", slot: "n0" }, ...values });
  const editor = { tail: "my words", ids: ["n1"], book: { nodes: [] }, replaced: null, touched: () => [], settle() {}, takeBack() {}, sendTail: () => (editor.tail = ""), spot: () => ({ isTail: true, offset: 8, text: "my words" }) };
  const host = { soon() {}, leaves: { known: new Map(), take() {} }, shown: "n1", place: { kind: "buffer", slot: "n1" } };
  return { saving: new Saving(host, page, editor), host, said, written };
}

test("what is sent while another text is still read hangs below the text that is shown", async () => {
  const { saving, host, said, written } = tailOfShown();
  assert.equal(await saving.all(), true);
  const [[what, { at, draft }]] = said;
  assert.deepEqual([what.args.content, at, draft], ["my words", "n1", { kind: "buffer", slot: "n1" }]);
  // What is typed now is behind the new text, and the draft of the other place is left alone.
  assert.deepEqual([host.shown, host.place.slot], ["n9", "n9"]);
  assert.deepEqual(written, [["n9", ""], ["n1", ""]]);
});

test("what is sent behind an edit that led to a branch hangs below that branch", async () => {
  const { saving, said } = tailOfShown();
  saving.led = "n2";
  await saving.all();
  assert.deepEqual([said[0][1].at, said[0][1].draft.slot], ["n2", "n2"]);
});

test("continuations are asked for where the text was sent, with keys of its request", async () => {
  const { saving, said } = tailOfShown();
  const asked = [];
  const fields = { answer() {}, asks: { read: () => ({ using: [], n: "2" }) }, askFor: async (...words) => asked.push(words) };
  document.body.append(Object.assign(document.createElement("loom-composer"), fields));
  await saving.continueHere();
  const { then, key } = said[0][1];
  assert.deepEqual(asked, [["n9", { calls: then, key }]]);
});
