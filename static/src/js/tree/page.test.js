import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { storage } from "../testing/storage.js";
import { freshPage, settled } from "../testing/dom.js";
import { Refused } from "../live/api.js";
import { call } from "../live/calls.js";
import { Outbox } from "../live/outbox.js";
import { TreePage } from "./page.js";

const SKELETON = { seq: 1, ids: ["root"], parents: [null], slots: [0], kinds: ["text"], authors: [0], participants: [{ id: "ada" }], flags: [0], lengths: [0] };
const settings = { tree: "t", title: "T", grove: "g", mode: "dialogue", seq: 1, node: "root", slot: "root", workspace: "w", me: "ada", can: { write: true }, role: "owner", versions: {}, cast: [], keys: [], edits: "ask" };
const turns = async () => {
  for (let turn = 0; turn < 30; turn += 1) await settled();
};

test("the shape of a tree that the server could not give at once is asked for again", async () => {
  let asked = 0;
  freshPage("", (url) => {
    if (!url.includes("/skeleton")) return { marks: [] };
    asked += 1;
    return asked === 1 ? new Response("", { status: 503 }) : SKELETON;
  });
  const page = new TreePage(settings);
  const later = mock.method(globalThis, "setTimeout", () => 0);
  await page.loadStore();
  const [again] = later.mock.calls.map((call) => call.arguments[0]);
  later.mock.restore();
  assert.equal(page.store, null);
  again();
  await turns();
  assert.equal(page.store?.ids[0], "root");
});

test("a refusal is shown once, whoever passes it on", () => {
  freshPage();
  const page = new TreePage(settings);
  const shown = [];
  page.addEventListener("refused", (event) => shown.push(event.detail));
  const error = new Refused({ message: "Not now." }, 409);
  page.refuse(error);
  page.refuse(error);
  assert.deepEqual(shown, [error]);
});

/** A page that is told by its test what lies where, and whose outbox sends by `post`. */
function page({ post = async () => ({ position: "n2", refs: ["n2"] }), store = storage(), texts = {} } = {}) {
  freshPage();
  const drafts = { of: ({ slot }) => texts[slot] ?? "", write: ({ slot }, text) => (texts[slot] = text) };
  const outbox = new Outbox("/c", { store, post, wait: async () => {} });
  const made = { position: "n1", settings: { node: "n1", slot: "n1" }, store: null, sending: new Set(), whereabouts: { tell() {} }, remember() {}, note() {}, emit() {} };
  return Object.assign(Object.create(TreePage.prototype), made, { drafts, outbox, texts });
}

test("what follows a text has the same keys in each tab that sends it, so that it runs once", async () => {
  const sent = [];
  const post = async (_, { said, key }) => {
    sent.push([said.command, key]);
    return { position: "n2", refs: ["n2"] };
  };
  const store = storage();
  const continuing = call("continue", { n: "2" });
  const slow = new Outbox("/c", { store, post: () => new Promise(() => {}) });
  slow.send(call("respond", { content: "A gate." }), "n1", undefined, undefined, [continuing, continuing], "k");
  const letters = store.getItem("heddle.outbox");
  for (const tab of [page({ post, store }), page({ post, store })]) {
    store.setItem("heddle.outbox", letters);
    tab.resume();
    await settled();
    await settled();
  }
  const once = [["respond", "k"], ["continue", "k.0"], ["continue", "k.1"]];
  assert.deepEqual(sent, [...once, ...once]);
});

test("what is typed goes along where the page moves by itself, and stays where its reader moves", () => {
  const tab = page({ texts: { n1: "Begun", n3: " there." } });
  tab.go("n2", { isStill: true });
  assert.deepEqual(tab.texts, { n1: "", n2: "Begun", n3: " there." });
  tab.go("n3", { isStill: true });
  assert.equal(tab.texts.n3, "Begun there.");
  tab.go("n4");
  assert.equal(tab.texts.n3, "Begun there.");
});

test("what went along comes back where the text that the page moved to cannot be read", () => {
  const tab = page({ texts: { n1: "Begun" } });
  tab.go("n2", { isStill: true });
  tab.texts.n2 += " and ended";
  tab.goBack("n1", { replace: true, isLed: true });
  assert.deepEqual(tab.texts, { n1: "Begun and ended", n2: "" });
  tab.go("n2");
  tab.goBack("n1", { replace: true });
  assert.equal(tab.texts.n1, "Begun and ended");
});

test("models are asked once by two presses, also where the first is answered; another place or text is another press", async () => {
  const sent = [];
  freshPage("", (_, { body }) => (sent.push(body?.command ?? body?.line), { reply: "✓", position: "root", refs: [] }));
  const tree = new TreePage(settings);
  let now = 0;
  tree.presses.now = () => now;
  const more = (at = "root") => tree.say(call("continue", { n: 2 }), { at });
  await Promise.all([more(), more()]);
  await more();
  assert.deepEqual(sent, ["continue"]);
  now = 500;
  await more();
  await more("n2");
  assert.equal(sent.length, 3);
  await Promise.all([tree.say(call("respond", { content: "A" })), tree.say(call("respond", { content: "A" })), tree.say(call("respond", { content: "B" }))]);
  assert.deepEqual(sent.slice(3), ["respond", "respond"]);
  await Promise.all([tree.say(call("undo")), tree.say(call("undo"))]);
  await Promise.all([tree.say("undo"), tree.say("undo")]);
  assert.equal(sent.length, 9);
});
