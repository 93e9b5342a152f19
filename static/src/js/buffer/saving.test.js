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
  page.said = [];
  page.say = async (...words) => page.said.push(words);
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

const REFUSED = { id: "n1", slot: "n1", text: "my wording", place: 0, from: 0 };
const waysOf = ({ bar }) => [...bar.words.querySelectorAll("button")].map((button) => button.textContent);

test("an edit that somebody was faster with says so in a sentence, without ids or a line to write", () => {
  const { saving, host } = typedEdit();
  saving.refused(new Refused({ code: "CONFLICT", message: "[n1] has a newer version.", hint: "look at n5, then edit that" }, 409), REFUSED);
  assert.match(host.bar.words.textContent, /^Somebody saved another version while you were writing\. Save as a branch Discard/);
});

test("saving an edit that somebody was faster with asks and sends nothing, and shows the ways again", async () => {
  const { saving, host } = typedEdit();
  saving.newer({ id: "n5", slot: "n1", text: "her wording" }, "bea");
  host.bar.clear();
  await saving.edits();
  assert.deepEqual(saving.page.said, []);
  assert.match(host.bar.words.textContent, /Bea saved another version while you were writing/);
  assert.deepEqual(waysOf(host), ["Save as a branch", "Discard"]);
});

/** A page of three texts, of which some were typed into, and what it sends. */
function passages(typed, values = {}) {
  freshPage("<div id=book></div>");
  localStorage.setItem("heddle.edit-as.buffer", values.way ?? "fork");
  const texts = ["One.", " Two.", " Three."];
  const stretches = texts.map((text, place) => ({ place, id: `n${place + 1}`, slot: `n${place + 1}`, from: 0, text: typed[place] ?? text }));
  const said = [];
  const carried = [];
  const amended = [];
  let answers = 0;
  const say = async (what, how) => {
    said.push([what.command, what.args, how.follow]);
    carried.push(how.draft);
    await values.meanwhile?.();
    if (values.refuses?.(what)) throw new Refused({ code: "INVALID_SYNTAX", message: "No." }, 400);
    return { refs: [`b${(answers += 1)}`], position: `b${answers}`, generations: [] };
  };
  const store = { ids: ["n0", "n1", "n2", "n3"], authors: [], slotOf: () => null, versionsOf: () => [] };
  const page = treePage({ say, store, acts: { amend: (more) => amended.push(more) }, arrivals: { again() {} }, settings: { me: "ada", edits: "ask" } });
  const settled = new Set();
  const touched = () => stretches.filter(({ slot, place, text }) => text !== texts[place] && !settled.has(slot));
  const editor = { tail: values.tail ?? "", ids: ["n1", "n2", "n3"], book: { nodes: stretches, pieces: [] }, replaced: null, touched, stretch: (place) => stretches[place], settle: (slot) => settled.add(slot), sayAt() {}, sendTail: () => (editor.tail = ""), takeBack() {}, focus() {}, spot: () => ({ isTail: true, offset: 0, text: "", slot: "n3" }) };
  const known = new Map(texts.map((text, place) => [`n${place + 1}`, { text }]));
  const host = { isConnected: true, soon() {}, keep() {}, leaves: { known, add() {}, take() {} } };
  host.bar = new EditBar(document.getElementById("book"), editor);
  const saving = new Saving(host, page, editor);
  return { saving, said, carried, amended, stretches, host, page, editor };
}

test("an edit that was saved as a branch is sent once, however often it is left before that is drawn", async () => {
  const { saving, said } = passages({ 1: " Two!" });
  await saving.leave(saving.left(""));
  await Promise.all([saving.leave(saving.pending()), saving.edits(), saving.all()]);
  assert.deepEqual(said, [["edit", { ref: "n2", content: " Two!", way: "fork" }, true]]);
  assert.deepEqual([saving.pending(), saving.left("")], [[], []]);
});

for (const way of ["fork", "version"]) {
  test(`an edit that is left and saved while it is on its way is sent once, as a ${way}`, async () => {
    const again = [];
    const { saving, said } = passages({ 1: " Two!" }, { way, meanwhile: () => again.push(saving.leave(saving.left("")), saving.edits(), saving.all()) });
    await saving.edits();
    await Promise.all(again);
    assert.equal(said.length, 1);
  });
}

test("edits of several passages are one branch with all from the first to the last of them", async () => {
  const { saving, said, carried } = passages({ 0: "One!", 2: " Three!" });
  await saving.edits();
  assert.deepEqual(said, [["respond", { ref: "n0", content: "One! Two. Three!", sources: ["n1", "n2", "n3"], role: "parts" }, true]]);
  // Its line carries all of them: a page that sends it later has none of them left.
  assert.deepEqual(carried, [[{ slot: "n1", kind: "edit", text: "One!" }, { slot: "n3", kind: "edit", text: " Three!" }]]);
  assert.deepEqual(saving.pending(), []);
});

test("an edit that is saved because the page goes elsewhere does not lead it to its branch", async () => {
  const { saving, said } = passages({ 1: " Two!" });
  await saving.leave(saving.left(""), false);
  assert.equal(said[0][2], false);
  assert.equal(saving.led, "");
});

test("what is typed into a branch before it is drawn is in its texts then", async () => {
  const { saving, stretches } = passages({ 1: " Two!" });
  await saving.edits();
  stretches[1].text = " Two! And more.";
  assert.equal(saving.pending().length, 1);
  const { stored, typed } = saving.drawn([{ id: "n1", slot: "n1", text: "One." }, { id: "b1", slot: "b1", text: " Two!" }]);
  assert.deepEqual([[...stored], typed], [["n2"], [{ id: "b1", text: " Two! And more." }]]);
});

test("what another tab has typed is not saved by this one when a caret moves here", () => {
  const { saving, stretches } = passages({ 1: " Two!" });
  saving.elsewhere.set("n2", " Two!");
  assert.deepEqual(saving.left(""), []);
  stretches[1].text = " Two?";
  assert.equal(saving.left("").length, 1);
});

test("an edit that is refused holds up neither other edits nor what is added, and the composer leads to it", async () => {
  const { saving, said, host, editor } = passages({ 0: "", 1: " Two!" }, { way: "version", tail: " And on.", refuses: ({ args }) => args.ref === "n1" });
  const leads = [];
  document.body.append(Object.assign(document.createElement("loom-composer"), { answer() {}, answerWith: (...words) => leads.push(words) }));
  host.place = { kind: "buffer", slot: "n3" };
  editor.reveal = (slot) => leads.push(slot);
  assert.equal(await saving.all(), true);
  assert.deepEqual(said.map(([command, { content }]) => [command, content]), [["edit", ""], ["edit", " Two!"], ["respond", " And on."]]);
  const [words, label, run] = leads[0];
  assert.deepEqual([words, label], ["1 edit above is not saved.", "Go to it"]);
  run();
  assert.equal(leads[1], "n1");
  // It is not sent again with the next text.
  editor.tail = " Still on.";
  await saving.all();
  assert.equal(said.length, 4);
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

for (const way of ["fork", "version"]) {
  test(`only the very text that is on its way needs no draft, as a ${way}`, async () => {
    const kept = [];
    const { saving, stretches } = passages({ 1: " Two!" }, { way, meanwhile: () => {
      kept.push(saving.isSent("n2", " Two!"));
      stretches[1].text = " Two! And more.";
      kept.push(saving.isSent("n2", " Two! And more."));
    } });
    await saving.edits();
    assert.deepEqual(kept, [true, false]);
  });
}

test("no text is split for Continue in a passage whose edit is not saved", async () => {
  const { saving, said, editor } = passages({ 1: " Two words." }, { way: "version", refuses: ({ command }) => command === "edit" });
  editor.spot = () => ({ place: 1, isTail: false, offset: 8, text: " Two words.", slot: "n2" });
  const leads = [];
  const fields = { answer() {}, answerWith: (...words) => leads.push(words[0]), askFor: async () => leads.push("asked") };
  document.body.append(Object.assign(document.createElement("loom-composer"), fields));
  await saving.continueHere();
  assert.deepEqual(said.map(([command]) => command), ["edit"]);
  assert.deepEqual(leads, ["1 edit above is not saved."]);
});

test("what is typed between the edits of a branch before it is drawn is in its texts then", async () => {
  const { saving, stretches } = passages({ 0: "One!", 2: " Three!" });
  await saving.edits();
  stretches[1].text = " Two and a half.";
  const { stored, typed } = saving.drawn([{ id: "b1", slot: "b1", text: "One! Two. Three!" }]);
  assert.deepEqual([...stored], ["n1", "n2", "n3"]);
  assert.deepEqual(typed, [{ id: "b1", text: "One! Two and a half. Three!" }]);
});

test("an edit that somebody was faster with keeps no other one from being sent again", async () => {
  const { saving, said, stretches } = passages({ 0: "One!", 2: " Three!" }, { way: "version" });
  saving.overtaken(stretches[0]);
  saving.refused(new Refused({ message: "The server is busy." }, 503), stretches[2]);
  await saving.edits();
  assert.deepEqual(said.map(([, { ref }]) => ref), ["n3"]);
});

for (const way of ["fork", "version"]) {
  test(`words that were replaced everywhere change no earlier act where nothing was saved, as a ${way}`, async () => {
    for (const isRefused of [true, false]) {
      const { saving, amended, editor } = passages({ 0: "One!", 2: " Three!" }, { way, refuses: () => isRefused });
      editor.replaced = { query: ".", text: "!", tail: "Four.", tailNow: "Four!" };
      await saving.edits();
      assert.deepEqual(amended, isRefused ? [] : [{ swap: ["Four.", "Four!"] }]);
    }
  });
}
