import assert from "node:assert/strict";
import { test } from "node:test";
import { storage } from "../testing/storage.js";
import { Refused } from "./api.js";
import { Keys, Outbox } from "./outbox.js";

const offline = () => new Refused({ message: "No connection." }, 0);
const at = (said) => ({ reply: said, position: "a1b2" });
const noWait = () => Promise.resolve();

test("lines go one after another", async () => {
  const sent = [];
  let release;
  const post = async (_, { said }) => {
    sent.push(`${said} begins`);
    if (said === "one") await new Promise((done) => (release = done));
    sent.push(`${said} ends`);
    return at(said);
  };
  const outbox = new Outbox("/c", { post });
  const both = Promise.all([outbox.send("one", ""), outbox.send("two", "")]);
  await new Promise((done) => setImmediate(done));
  release();
  await both;
  assert.deepEqual(sent, ["one begins", "one ends", "two begins", "two ends"]);
});

test("without a connection a line is tried again with the same key", async () => {
  const keys = [];
  const post = async (_, letter) => {
    keys.push(letter.key);
    if (keys.length < 3) throw offline();
    return at(letter.said);
  };
  const outbox = new Outbox("/c", { post, wait: noWait });
  await outbox.send("respond x", "");
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
});

test("a refusal is not tried again, and the next line goes", async () => {
  const post = async (_, { said }) => {
    if (said === "bad") throw new Refused({ code: "REJECTED", message: "no" }, 409);
    return at(said);
  };
  const outbox = new Outbox("/c", { post });
  await assert.rejects(outbox.send("bad", ""), /no/);
  assert.equal((await outbox.send("good", "")).reply, "good");
});

test("what was not sent survives the page, and goes from the next one", async () => {
  const store = storage();
  const never = new Outbox("/c", { store, post: async () => { throw offline(); }, wait: () => new Promise(() => {}) });
  never.send("respond kept", "a1b2");
  await new Promise((done) => setImmediate(done));
  const [left] = never.left();
  const sent = [];
  const next = new Outbox("/c", { store, post: async (_, letter) => { sent.push(letter); return at(letter.said); } });
  await Promise.all(next.resume());
  assert.deepEqual(sent, [left]);
  assert.deepEqual(next.left(), []);
});

test("it tells how many lines wait", async () => {
  let tries = 0;
  const post = async (_, { said }) => {
    tries += 1;
    if (tries === 1) throw offline();
    return at(said);
  };
  const told = [];
  const outbox = new Outbox("/c", { store: storage(), post, wait: noWait });
  outbox.addEventListener("waiting", (event) => told.push(event.detail));
  await outbox.send("respond x", "");
  assert.deepEqual(told, [1, 0]);
});

test("it tells of each line that waits behind the one that is tried", async () => {
  let isOffline = true;
  const post = async (_, { said }) => {
    if (isOffline) throw offline();
    return at(said);
  };
  const told = [];
  let connect;
  const outbox = new Outbox("/c", { store: storage(), post, wait: () => new Promise((done) => (connect = done)) });
  outbox.addEventListener("waiting", (event) => told.push(event.detail));
  const first = outbox.send("respond one", "");
  await new Promise((done) => setImmediate(done));
  const others = [outbox.send("respond two", ""), outbox.send("respond three", "")];
  assert.deepEqual(told, [1, 2, 3]);
  isOffline = false;
  connect();
  await Promise.all([first, ...others]);
  assert.deepEqual(told, [1, 2, 3, 2, 1, 0]);
});

test("what is asked again because its answer was lost has the key that it had; what was answered has another", async () => {
  const sent = [];
  const keys = new Keys();
  const ask = (what, error) => keys.send("/place", what, async (key) => {
    sent.push(key);
    if (error) throw error;
  });
  await assert.rejects(ask("task", offline()));
  await assert.rejects(ask("task", new Refused({ message: "Too much." }, 503)));
  await ask("task");
  await assert.rejects(ask("task", offline()));
  await ask("other");
  await ask("task");
  await assert.rejects(ask("task", new Refused({ message: "No." }, 409)));
  await ask("task");
  const [lost, again, answered, ...rest] = sent;
  assert.deepEqual([again, answered], [lost, lost]);
  assert.equal(new Set([lost, ...rest]).size, 6);  // after another one the same is asked anew
});
