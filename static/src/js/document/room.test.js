import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import * as Y from "yjs";

const kept = new Map();
globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible" });
globalThis.window = Object.assign(new EventTarget(), { setInterval: () => 0, setTimeout: (work) => later.push(work) });
globalThis.location = { protocol: "https:", host: "heddle.test" };
globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
const { DocumentRoom } = await import("./room.js");

let wires, later;
class Wire {
  constructor() {
    this.readyState = 1;
    this.sent = [];
    wires.push(this);
  }
  send(frame) {
    this.sent.push(frame);
  }
  close() {
    this.readyState = 3;
  }
  hear(...bytes) {
    this.onmessage({ data: new Uint8Array(bytes).buffer });
  }
}

let rooms;
function opened(me = "ada") {
  const room = new DocumentRoom("d1", { me, open: () => new Wire() });
  rooms.push(room);
  room.start();
  wires.at(-1).onopen();
  return room;
}

/** The server's own question, then its answer: both copies are empty. */
function synced(wire = wires.at(-1)) {
  wire.hear(0, 0, 1, 0);
  wire.hear(0, 1, 2, 0, 0);
}

beforeEach(() => {
  kept.clear();
  [wires, later, rooms] = [[], [], []];
});

// A room that is left open keeps the process, and so the whole run, from ending.
afterEach(() => {
  for (const room of rooms) room.stop();
});

test("a refusal ends the connection for good, and is not sent again at the next visit", () => {
  for (const code of [1009, 4400, 4409, 4413]) {
    const room = opened();
    const states = [];
    room.addEventListener("state", ({ detail }) => states.push([detail.state, detail.code]));
    synced();
    room.text.insert(0, "too much");
    wires.at(-1).onclose({ code });
    assert.deepEqual(states.at(-1), ["gone", code]);
    assert.equal(later.length, 0);
    room.keep();
    assert.equal(kept.size, 0);
    room.stop();
  }
});

test("after another end it connects again, and keeps what may not have arrived", () => {
  const room = opened();
  synced();
  room.text.insert(0, "words");
  wires.at(-1).onclose({ code: 1013 });
  assert.equal(wires.length, 1);
  for (const work of later.splice(0)) work();
  assert.deepEqual([...kept.keys()], ["document:d1:ada"]);
  assert.equal(wires.length, 2);
});

test("what one person kept is not sent as another's", () => {
  const room = opened();
  synced();
  room.text.insert(0, "words");
  wires.at(-1).onclose({ code: 1006 });
  room.keep();
  assert.equal(opened("ben").text.toString(), "");
  assert.equal(opened("ada").text.toString(), "words");
});

test("nothing is sent before the server asks, and then all of it", () => {
  const room = opened();
  const [wire] = wires;
  const before = wire.sent.length;
  room.text.insert(0, "early");
  assert.equal(wire.sent.length, before);
  wire.hear(0, 0, 1, 0);
  const copy = new Y.Doc();
  Y.applyUpdate(copy, wire.sent.at(-1).slice(3));
  assert.equal(copy.getText("text").toString(), "early");
});

test("what the server has not stored yet is said, and kept until it has", () => {
  const room = opened();
  synced();
  let stored = 0;
  room.addEventListener("stored", () => (stored += 1));
  room.text.insert(0, "words");
  wires[0].hear(100, 0);
  assert.deepEqual([room.late, stored], [true, 1]);
  room.keep();
  assert.equal(kept.size, 1);
  wires[0].hear(100, 1);
  assert.deepEqual([room.late, stored], [false, 2]);
  wires[0].hear(0, 0, 1, 0);
  assert.equal(kept.size, 0);
});

/** The text of the update that was sent last. */
function sentText(wire) {
  const copy = new Y.Doc();
  Y.applyUpdate(copy, wire.sent.at(-1).slice(3));
  return copy.getText("text").toString();
}

test("what is typed offline is kept while somebody types, once for many letters", () => {
  const room = opened();
  synced();
  wires.at(-1).onclose({ code: 1006 });
  later.length = 0;
  room.keep(); // what may not have arrived
  room.text.insert(0, "a");
  room.text.insert(1, "b");
  assert.equal(later.length, 1);
  later.pop()();
  assert.equal(opened().text.toString(), "ab");
});

test("a browser that has no room to keep what is typed is told of, until it has", () => {
  const room = opened();
  synced();
  wires.at(-1).onclose({ code: 1006 });
  const { setItem } = localStorage;
  const seen = [];
  room.addEventListener("stored", () => seen.push(room.full));
  localStorage.setItem = () => {
    throw new Error("QuotaExceededError");
  };
  room.keep();
  room.keep();
  localStorage.setItem = setItem;
  room.keep();
  assert.deepEqual(seen, [true, false]);
});

test("a page that is hidden keeps what it has not sent at once", () => {
  const room = opened();
  synced();
  wires.at(-1).onclose({ code: 1006 });
  room.text.insert(0, "words");
  document.visibilityState = "hidden";
  document.dispatchEvent(new Event("visibilitychange"));
  document.visibilityState = "visible";
  assert.equal(kept.size, 1);
});

test("what a tab kept that was closed is sent by another tab of the same person", () => {
  const closed = opened();
  synced();
  closed.socket.onclose({ code: 1006 });
  const stays = opened();
  closed.text.insert(0, "of the closed tab");
  closed.stop();
  wires.at(-1).hear(0, 0, 1, 0);
  assert.equal(sentText(wires.at(-1)), "of the closed tab");
  assert.equal(stays.text.toString(), "of the closed tab");
  assert.equal(kept.size, 0);
});

test("two tabs that are closed offline both leave their words", () => {
  const [one, other] = [opened(), opened()];
  for (const room of [one, other]) room.socket.onclose({ code: 1006 });
  one.text.insert(0, "one ");
  other.text.insert(0, "other ");
  for (const room of [one, other]) room.stop();
  const text = opened().text.toString();
  assert.ok(text.includes("one ") && text.includes("other "), text);
});

test("what another tab kept is sent by one that is connected and keeps something itself", () => {
  const [closed, stays] = [opened(), opened()];
  synced();
  closed.socket.onclose({ code: 1006 });
  closed.text.insert(0, "of the closed tab");
  closed.stop();
  wires.at(-1).hear(100, 0); // the server cannot store for a while
  stays.keep();
  assert.equal(sentText(wires.at(-1)), "of the closed tab");
  assert.equal(stays.unsent, false);
});

test("what another tab has kept since is not forgotten with what was sent", () => {
  const room = opened();
  const other = opened();
  const [wire, wireOfOther] = wires;
  wireOfOther.onclose({ code: 1006 });
  wire.hear(0, 0, 1, 0); // both copies are compared for the first time
  other.text.insert(0, "later");
  other.keep();
  wire.hear(0, 0, 1, 0);
  assert.equal(kept.size, 1);
  assert.equal(room.text.toString(), "");
});

test("who is signed in again goes on, whatever is heard of the session that ended", () => {
  const room = opened();
  synced();
  const [old] = wires;
  old.onclose({ code: 4401 });
  assert.equal(room.state, "gone");
  room.text.insert(0, "kept ");
  room.resume();
  wires.at(-1).onopen();
  synced();
  assert.equal(room.state, "live");
  const [, second] = wires;
  room.resume();
  assert.equal(second.onclose, null);
  assert.equal(wires.length, 3);
});

test("who was refused for another reason is not connected again", () => {
  const room = opened();
  synced();
  wires.at(-1).onclose({ code: 4404 });
  room.resume();
  assert.deepEqual([room.state, wires.length], ["gone", 1]);
});
