import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Backoff, Events, LiveSocket } from "./socket.js";

const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
globalThis.document = page;
globalThis.window = new EventTarget();
globalThis.location = { protocol: "https:", host: "heddle.test" };

let opened;
class Wire {
  constructor(url) {
    this.url = url;
    this.readyState = 0;
    this.sent = [];
    opened.push(this);
  }
  accept() {
    this.readyState = 1;
    this.onopen();
  }
  hear(frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }
  send(text) {
    this.sent.push(text);
  }
  close() {
    this.readyState = 3;
  }
}

function socket(seq = { now: 7 }) {
  const live = new LiveSocket("/ws/trees/t", () => seq.now, {
    open: (url) => new Wire(url),
    backoff: { next: () => 1000, reset() {} },
  });
  const states = [];
  live.addEventListener("state", (event) => states.push(event.detail.state));
  return { live, states };
}

beforeEach(() => {
  opened = [];
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
});

test("it begins where the page is, and over TLS where the page is", () => {
  const { live } = socket();
  live.start();
  assert.equal(opened[0].url, "wss://heddle.test/ws/trees/t?since=7");
  live.stop();
});

test("frames are told as they come", () => {
  const { live } = socket();
  const frames = [];
  live.addEventListener("frame", (event) => frames.push(event.detail));
  live.start();
  opened[0].accept();
  opened[0].hear({ type: "heartbeat", seq: 7 });
  assert.deepEqual(frames, [{ type: "heartbeat", seq: 7 }]);
  live.stop();
});

test("after a cut it says so and resumes from the cursor of then", () => {
  const seq = { now: 7 };
  const { live, states } = socket(seq);
  live.start();
  opened[0].accept();
  seq.now = 9;
  opened[0].onclose({ code: 1006 });
  mock.timers.tick(1000);
  opened[1].accept();
  assert.match(opened[1].url, /since=9$/);
  assert.deepEqual(states, ["live", "offline", "live"]);
  live.stop();
});

test("silence is a dead connection", () => {
  const { live } = socket();
  live.start();
  opened[0].accept();
  mock.timers.tick(44_000);
  opened[0].hear({ type: "heartbeat", seq: 7 });
  mock.timers.tick(44_000);
  assert.equal(opened.length, 1);
  mock.timers.tick(2_000);
  assert.equal(opened.length, 2);
  live.stop();
});

test("who may not see the tree any more is not tried again", () => {
  const { live, states } = socket();
  live.start();
  opened[0].accept();
  opened[0].onclose({ code: 4404 });
  mock.timers.tick(100_000);
  assert.equal(opened.length, 1);
  assert.deepEqual(states, ["live", "gone"]);
  live.stop();
});

test("coming back to a page whose connection is alive changes nothing", () => {
  const { live } = socket();
  live.start();
  page.dispatchEvent(new Event("visibilitychange"));
  opened[0].accept();
  page.dispatchEvent(new Event("visibilitychange"));
  assert.equal(opened.length, 1);
  live.stop();
});

test("frames of a connection that was dropped are not heard", () => {
  const { live } = socket();
  const frames = [];
  live.addEventListener("frame", (event) => frames.push(event.detail));
  live.start();
  opened[0].accept();
  live.resync();
  assert.equal(opened[0].onmessage, null);
  assert.equal(frames.length, 0);
  live.stop();
});

test("each wait is twice the one before, up to the limit", () => {
  const backoff = new Backoff({ first: 100, limit: 350, dice: () => 1 });
  assert.deepEqual([backoff.next(), backoff.next(), backoff.next(), backoff.next()], [100, 200, 350, 350]);
});

test("jitter takes at most half away", () => {
  const backoff = new Backoff({ first: 100, dice: () => 0 });
  assert.equal(backoff.next(), 50);
});

test("after success it begins again", () => {
  const backoff = new Backoff({ first: 100, dice: () => 1 });
  backoff.next();
  backoff.next();
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

test("events are applied once, in order, by who registered for them", () => {
  const events = new Events(4);
  const heard = [];
  events.on("node.added", (event) => heard.push(["added", event.seq]));
  events.on("*", (event) => heard.push(["any", event.seq]));
  assert.equal(events.apply({ seq: 5, kind: "node.added" }), "new");
  assert.equal(events.apply({ seq: 5, kind: "node.added" }), "known");
  assert.equal(events.apply({ seq: 6, kind: "mark.added" }), "new");
  assert.deepEqual(heard, [["added", 5], ["any", 5], ["any", 6]]);
});

test("a gap is told and changes nothing", () => {
  const events = new Events(0);
  assert.equal(events.apply({ seq: 2, kind: "node.added" }), "gap");
  assert.equal(events.seq, 0);
});

test("who stops listening hears no more", () => {
  const events = new Events(0);
  let heard = 0;
  const stop = events.on("node.added", () => (heard += 1));
  events.apply({ seq: 1, kind: "node.added" });
  stop();
  events.apply({ seq: 2, kind: "node.added" });
  assert.equal(heard, 1);
});

test("a server that is full is asked less and less often", () => {
  const waits = [];
  const live = new LiveSocket("/ws/trees/t", () => 7, {
    open: (url) => new Wire(url),
    backoff: new Backoff({ first: 1000, limit: 20_000, dice: () => 1 }),
  });
  live.start();
  for (const wait of [1000, 2000, 4000]) {
    const wire = opened.at(-1);
    const count = opened.length;
    wire.accept();
    wire.hear({ type: "error", code: "UNAVAILABLE", message: "Too many.", hint: "" });
    wire.onclose({ code: 1013 });
    mock.timers.tick(wait - 1);
    waits.push(opened.length - count);
    mock.timers.tick(1);
    waits.push(opened.length - count);
  }
  assert.deepEqual(waits, [0, 1, 0, 1, 0, 1]);
  opened.at(-1).accept();
  opened.at(-1).hear({ type: "heartbeat", seq: 7 });
  opened.at(-1).onclose({ code: 1012 });
  const count = opened.length;
  mock.timers.tick(1000);
  assert.equal(opened.length - count, 1);
  live.stop();
});

test("a page whose events are no longer kept is loaded again", () => {
  let loaded = 0;
  const live = new LiveSocket("/ws/trees/t", () => 7, { open: (url) => new Wire(url), reload: () => loaded++ });
  const frames = [];
  live.addEventListener("frame", (event) => frames.push(event.detail.type));
  live.start();
  opened[0].accept();
  opened[0].hear({ type: "reload", seq: 9000 });
  opened[0].hear({ type: "heartbeat", seq: 9000 });
  assert.equal(loaded, 1);
  assert.deepEqual(frames, ["heartbeat"]);
  live.stop();
});
