import assert from "node:assert/strict";
import { test } from "node:test";
import { storage } from "../testing/storage.js";
import { Refused } from "./api.js";
import { nameOf } from "./draft-storage.js";
import { Drafts } from "./draft-sync.js";

const PLACE = { slot: "a1b2", kind: "buffer" };
const NAME = "heddle.draft.me.buffer.a1b2";

/** A server of one draft that refuses what was not seen, as the real one does. */
function server() {
  let tick = 0;
  const it = {
    kept: null,
    asked: [],
    down: false,
    list: async () => ({ results: it.kept ? [{ ...PLACE, ...it.kept }] : [] }),
    keep: async (place, text, seen) => {
      it.asked.push(text);
      if (it.down) throw new Refused({ message: "No connection." }, 0);
      if (text === (it.kept?.text ?? "")) return { ...place, ...(it.kept ?? { at: null }) };
      if (seen !== (it.kept?.at ?? "")) throw new Refused({ code: "CONFLICT", message: "changed" }, 409);
      it.kept = text ? { text, at: String((tick += 1)) } : null;
      return { ...place, text, at: it.kept?.at ?? null };
    },
  };
  return it;
}

/** What drafts told of one kind. */
function heard(drafts, name) {
  const all = [];
  drafts.addEventListener(name, (event) => all.push(event.detail));
  return all;
}

test("what was typed is kept here at once and soon on the server", async () => {
  const store = storage();
  const at = server();
  const drafts = new Drafts(at, { store, name: "me" });
  drafts.write(PLACE, "one\r\n");
  drafts.write(PLACE, "one\r\ntwo");
  assert.equal(JSON.parse(store.getItem(NAME)).text, "one\r\ntwo");
  await drafts.flush(PLACE);
  assert.deepEqual(at.asked, ["one\r\ntwo"]);
  assert.ok(drafts.isQuiet());
});

test("the next page finds it, also without the server", () => {
  const store = storage();
  new Drafts(server(), { store, name: "me" }).write(PLACE, "half a thou");
  assert.equal(new Drafts(server(), { store, name: "me" }).of(PLACE), "half a thou");
  assert.equal(new Drafts(server(), { store, name: "else" }).of(PLACE), "");
});

test("another device's draft comes with the list, and what is only here goes there", async () => {
  const at = server();
  await at.keep(PLACE, "from the desk", "");
  const drafts = new Drafts(at, { store: storage(), name: "me" });
  const news = heard(drafts, "draft");
  await drafts.load();
  assert.equal(drafts.of(PLACE), "from the desk");
  assert.deepEqual(news, [PLACE]);
});

test("without a connection it stays unsaved, and is sent when there is one", async () => {
  const at = server();
  at.down = true;
  const drafts = new Drafts(at, { store: storage(), name: "me" });
  drafts.write(PLACE, "in the tunnel");
  await drafts.flush(PLACE);
  assert.equal(drafts.isQuiet(), false);
  at.down = false;
  await drafts.flush(PLACE);
  assert.equal(at.kept.text, "in the tunnel");
});

test("what the server refuses for good is said to be in this browser alone, until it is taken", async () => {
  const at = server();
  const keep = at.keep;
  at.keep = async () => {
    throw new Refused({ code: "PERMISSION_DENIED", message: "You may not do this here." }, 403);
  };
  const drafts = new Drafts(at, { store: storage(), name: "me" });
  drafts.write(PLACE, "as a reader");
  await drafts.flush(PLACE);
  assert.deepEqual([drafts.isQuiet(), drafts.isRefused(PLACE)], [false, true]);
  at.keep = keep;
  drafts.write(PLACE, "as a writer again");
  await drafts.flush(PLACE);
  assert.deepEqual([drafts.isQuiet(), drafts.isRefused(PLACE)], [true, false]);
});

test("two tabs that both typed are asked, not overwritten", async () => {
  const at = server();
  const [first, two] = [0, 1].map(() => new Drafts(at, { store: storage(), name: "me" }));
  first.write(PLACE, "one");
  two.write(PLACE, "two");
  await first.flush(PLACE);
  const asked = heard(two, "contested");
  await two.flush(PLACE);
  assert.deepEqual(asked, [{ ...PLACE, mine: "two", theirs: "one" }]);
  two.write(PLACE, "two, more");
  await two.flush(PLACE);
  assert.equal(at.kept.text, "one");
  two.decide(PLACE, "mine");
  await two.flush(PLACE);
  assert.equal(at.kept.text, "two, more");
});

test("the other text can be taken instead", async () => {
  const at = server();
  const drafts = new Drafts(at, { store: storage(), name: "me" });
  await at.keep(PLACE, "theirs", "");
  drafts.write(PLACE, "mine");
  await drafts.flush(PLACE);
  drafts.decide(PLACE, "theirs");
  assert.equal(drafts.of(PLACE), "theirs");
  assert.ok(drafts.isQuiet());
});

test("a tab that does not type follows the one that does", async () => {
  const at = server();
  const store = storage();
  const [first, two] = [0, 1].map(() => new Drafts(at, { store, name: "me" }));
  two.of(PLACE);
  first.write(PLACE, "word");
  two.heard({ key: NAME, newValue: store.getItem(NAME) });
  await first.flush(PLACE);
  two.heard({ key: NAME, newValue: store.getItem(NAME) });
  assert.equal(two.of(PLACE), "word");
  two.write(PLACE, "word by word");
  await two.flush(PLACE);
  assert.equal(at.kept.text, "word by word");
});

test("what is sent as a line stays kept until it is a node", async () => {
  const store = storage();
  const at = server();
  const drafts = new Drafts(at, { store, name: "me" });
  drafts.write(PLACE, "a node to be");
  await drafts.flush(PLACE);
  drafts.hold(PLACE);
  assert.equal(drafts.of(PLACE), "");
  drafts.write(PLACE, "the next");
  await drafts.flush(PLACE);
  assert.equal(at.kept.text, "a node to bethe next");
  drafts.release(PLACE, true);
  await drafts.flush(PLACE);
  assert.equal(at.kept.text, "the next");
});

test("each of two lines of one place has its own text", async () => {
  const drafts = new Drafts(server(), { store: storage(), name: "me" });
  const [one, two] = ["first", "second"].map((text) => {
    drafts.write(PLACE, text);
    return drafts.hold(PLACE);
  });
  drafts.write(PLACE, "third");
  drafts.release(one, true);
  assert.equal(drafts.of(PLACE), "third");
  drafts.release(two, false);
  assert.equal(drafts.of(PLACE), "second\nthird");
});

test("a refused text comes back before what was typed since", () => {
  const drafts = new Drafts(server(), { store: storage(), name: "me" });
  drafts.write(PLACE, "refused ");
  drafts.hold(PLACE);
  drafts.write(PLACE, "and more");
  const news = heard(drafts, "draft");
  drafts.release(PLACE, false);
  assert.equal(drafts.of(PLACE), "refused and more");
  assert.deepEqual(news, [PLACE]);
});

test("a page that died while sending shows the text again, unless the line still goes", () => {
  const store = storage();
  const dying = new Drafts(server(), { store, name: "me" });
  dying.write(PLACE, "sent?");
  dying.hold(PLACE);
  assert.equal(new Drafts(server(), { store, name: "me" }).of(PLACE), "sent?");
  assert.equal(new Drafts(server(), { store, name: "me", inHand: [PLACE] }).of(PLACE), "");
});

test("a draft that became a node elsewhere is gone here too", async () => {
  const at = server();
  const drafts = new Drafts(at, { store: storage(), name: "me" });
  drafts.write(PLACE, "sent from the desk");
  await drafts.flush(PLACE);
  at.kept = null;
  await drafts.load();
  assert.equal(drafts.of(PLACE), "");
});

/** A server whose lists come when the test says so. */
function slowLists(at) {
  const { list } = at;
  const lists = [];
  at.list = async () => {
    const known = await list();
    return new Promise((done) => lists.push(() => done(known)));
  };
  return lists;
}

test("a list that comes after what was kept since takes nothing of it away", async () => {
  const at = server();
  const drafts = new Drafts(at);
  const lists = slowLists(at);
  const told = heard(drafts, "draft");
  const loading = drafts.load();
  await Promise.resolve();
  drafts.write(PLACE, "typed meanwhile");
  await drafts.flush(PLACE);
  lists[0]();
  await loading;
  assert.equal(drafts.of(PLACE), "typed meanwhile");
  assert.deepEqual(told, []);

  const again = drafts.load();
  await Promise.resolve();
  drafts.write(PLACE, "typed meanwhile, and more");
  await drafts.flush(PLACE);
  lists[1]();
  await again;
  assert.equal(drafts.of(PLACE), "typed meanwhile, and more");
  assert.equal(at.kept.text, "typed meanwhile, and more");
});

test("word of what is on its way is not a text of somebody else", async () => {
  const at = server();
  const drafts = new Drafts(at);
  const contests = heard(drafts, "contested");
  const { keep } = at;
  let answer = () => {};
  at.keep = async (...asked) => {
    const kept = await keep(...asked);
    await new Promise((done) => (answer = () => done(undefined)));
    return kept;
  };
  drafts.write(PLACE, "one");
  const sent = drafts.flush(PLACE);
  await new Promise((done) => setImmediate(done));
  drafts.write(PLACE, "one two");
  await drafts.load();
  assert.deepEqual(contests, []);
  answer();
  await sent;
  at.keep = keep;
  await drafts.flush(PLACE);
  assert.deepEqual([drafts.of(PLACE), at.kept.text, drafts.isQuiet()], ["one two", "one two", true]);
});

test("an edit knows what it was typed over, until it is no edit of that any more", async () => {
  const drafts = new Drafts(server());
  const over = () => drafts.entry(nameOf(PLACE)).over;
  drafts.write(PLACE, "typed", "");
  drafts.write(PLACE, "typed on", "2026-07-01T00:00:00Z");
  assert.equal(over(), "");
  drafts.hold(PLACE);
  drafts.release(PLACE, false);
  assert.equal(over(), "");
  drafts.hold(PLACE);
  drafts.release(PLACE, true);
  assert.equal(over(), undefined);
  drafts.write(PLACE, "more", "2026-07-01T00:00:00Z");
  assert.equal(over(), "2026-07-01T00:00:00Z");
  drafts.write(PLACE, "");
  assert.equal(over(), undefined);
});

test("what the server would refuse is kept here, and never sent", async () => {
  const store = storage();
  const at = server();
  const writer = new Drafts(at, { store, name: "me" });
  writer.write(PLACE, "typed");
  await writer.flush(PLACE);
  writer.write(PLACE, "typed on");
  const reader = new Drafts(at, { store, name: "me", mayKeep: ({ kind }) => kind === "note" });
  const refusals = heard(reader, "refused");
  at.asked.length = 0;
  await reader.load();
  await reader.flushAll();
  assert.deepEqual([reader.of(PLACE), at.asked, refusals], ["typed on", [], []]);
});

const EDIT = { slot: "a1b2", kind: "edit" };

test("an edit that is typed on while it is on its way takes the place of what was sent", async () => {
  const store = storage();
  const at = server();
  const drafts = new Drafts(at, { store, name: "me" });
  drafts.write(EDIT, "The gate.");
  const letter = drafts.hold({ ...EDIT, text: "The gate." });
  drafts.write(EDIT, "The gate was new.");
  await drafts.flush(EDIT);
  assert.deepEqual(at.asked, ["The gate was new."]);
  for (const inHand of [[EDIT], []]) assert.equal(new Drafts(server(), { store, name: "me", inHand }).of(EDIT), "The gate was new.");
  drafts.release(letter, false);
  assert.equal(drafts.of(EDIT), "The gate was new.");
});

test("a line carries the text that it says, not what was typed since", () => {
  const drafts = new Drafts(server(), { store: storage(), name: "me" });
  drafts.write(EDIT, "typed on before its turn");
  const letter = drafts.hold({ ...EDIT, text: "typed" });
  assert.equal(letter.text, "typed");
  drafts.release(letter, true);
  assert.equal(drafts.of(EDIT), "typed on before its turn");
});

test("an edit that became a node is not contested by what was typed on in it", async () => {
  const at = server();
  const drafts = new Drafts(at);
  const contests = heard(drafts, "contested");
  drafts.write(EDIT, "first");
  at.list = async () => ({ results: at.kept ? [{ ...EDIT, ...at.kept }] : [] });
  await drafts.flush(EDIT);
  const letter = drafts.hold({ ...EDIT, text: "first" });
  at.kept = null; // ended with the node, in one change
  drafts.write(EDIT, "first, and more");
  await drafts.flush(EDIT);
  drafts.release(letter, true);
  await drafts.flush(EDIT);
  assert.deepEqual(contests, []);
  assert.deepEqual([drafts.of(EDIT), at.kept.text, drafts.isQuiet()], ["first, and more", "first, and more", true]);
});

test("a passage that was cut out is still cut out on the next page", async () => {
  const store = storage();
  const open = (inHand = []) => new Drafts(server(), { store, name: "me", inHand });
  const drafts = open();
  drafts.cut(EDIT, "");
  await drafts.load();
  const next = open();
  assert.deepEqual([next.isCut(EDIT), [...next.slots("edit")], next.entry(nameOf(EDIT)).over], [true, ["a1b2"], ""]);
  next.write(EDIT, "");
  assert.deepEqual([next.isCut(EDIT), open().isCut(EDIT)], [false, false]);
});

test("a cut on its way is none that waits; refused, it is again", () => {
  const store = storage();
  const drafts = new Drafts(server(), { store, name: "me" });
  for (const isNode of [false, true]) {
    drafts.cut(EDIT);
    const letter = drafts.hold({ ...EDIT, text: "" });
    assert.equal(drafts.isCut(EDIT), false);
    assert.equal(new Drafts(server(), { store, name: "me", inHand: [EDIT] }).isCut(EDIT), false);
    assert.equal(new Drafts(server(), { store, name: "me" }).isCut(EDIT), true);
    drafts.release(letter, isNode);
    assert.equal(drafts.isCut(EDIT), !isNode);
  }
});

test("another device is heard at a passage that was cut out and is not any more", async () => {
  const at = server();
  const drafts = new Drafts(at);
  await drafts.load();
  drafts.cut(EDIT);
  await drafts.flush(EDIT);
  assert.equal(drafts.typed.size, 0);
});

test("another device's wording of a passage that was cut out here is a choice", async () => {
  const at = server();
  const drafts = new Drafts(at);
  const contests = heard(drafts, "contested");
  drafts.cut(EDIT);
  at.list = async () => ({ results: [{ ...EDIT, text: "theirs", at: "1" }] });
  await drafts.load();
  assert.equal(contests.length, 1);
  drafts.decide(EDIT, "theirs");
  assert.deepEqual([drafts.isCut(EDIT), drafts.of(EDIT)], [false, "theirs"]);
});

test("a text that the server refused and that is discarded says nothing of later ones", async () => {
  const at = server();
  const drafts = new Drafts(at);
  at.keep = async () => Promise.reject(new Refused({ code: "LIMIT_EXCEEDED", message: "Too many." }, 422));
  drafts.write(PLACE, "refused");
  await drafts.flush(PLACE);
  assert.equal(drafts.isRefused(PLACE), true);
  assert.deepEqual([drafts.isRefused(EDIT), drafts.isKept(EDIT)], [false, true]);
  drafts.discard(PLACE);
  await drafts.flush(PLACE);
  assert.deepEqual([drafts.isRefused(PLACE), drafts.isKept(PLACE)], [false, true]);
});
