import assert from "node:assert/strict";
import { test } from "node:test";
import { atMostEvery } from "./at-most-every.js";

function clock() {
  const time = { now: 0, due: /** @type {[number, () => void][]} */ ([]) };
  return {
    now: () => time.now,
    later: (act, ms) => time.due.push([time.now + ms, act]),
    pass(ms) {
      time.now += ms;
      const due = time.due.filter(([at]) => at <= time.now);
      time.due = time.due.filter(([at]) => at > time.now);
      for (const [, act] of due) act();
    },
  };
}

test("A request that comes too soon is put off and not dropped", () => {
  const time = clock();
  let calls = 0;
  const ask = atMostEvery(2000, () => calls++, new AbortController().signal, time);
  time.pass(500);
  ask();
  ask();
  assert.equal(calls, 0);
  time.pass(1500);
  assert.equal(calls, 1);
});

test("After a rest a request is carried out at once, and many are one", () => {
  const time = clock();
  let calls = 0;
  const ask = atMostEvery(2000, () => calls++, new AbortController().signal, time);
  time.pass(2000);
  for (let i = 0; i < 5; i++) ask();
  assert.equal(calls, 1);
  time.pass(2000);
  assert.equal(calls, 2);
});

test("Nothing is carried out after the page has gone", () => {
  const time = clock();
  const stop = new AbortController();
  let calls = 0;
  const ask = atMostEvery(2000, () => calls++, stop.signal, time);
  ask();
  stop.abort();
  time.pass(2000);
  assert.equal(calls, 0);
});
