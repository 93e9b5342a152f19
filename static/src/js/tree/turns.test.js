import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { partsOf, TurnViews } from "./turns.js";

test("lines are told from prose, and nothing is lost", () => {
  const text = "I look.\nAgain.\n→ view a7x2\n  → help\nNot → this\n";
  const parts = partsOf(text);
  assert.deepEqual(parts.map(({ isLine }) => isLine), [false, true, true, false]);
  assert.equal(parts.map(({ words }) => words).join(""), text);
});

test("an empty text has no parts of its own", () => {
  assert.equal(partsOf("").map(({ words }) => words).join(""), "");
});

class FakeSocket {
  readyState = 1;
  constructor(url) {
    this.url = url;
    FakeSocket.made.push(this);
  }
  close() {
    this.readyState = 3;
  }
  says(frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }
}

const turn = (view, seq) => ({ getAttribute: (name) => ({ "data-view": view, "data-view-seq": String(seq) })[name] ?? null });
const event = (seq) => ({ type: "event", event: { seq, kind: "view.changed", payload: {} } });

beforeEach(() => {
  FakeSocket.made = [];
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible", documentElement: { lang: "de" } });
  globalThis.window = new EventTarget();
  globalThis.location = { protocol: "http:", host: "h" };
});

test("each view is listened to once, from what is drawn on, and sends its turn as it is drawn", () => {
  const heard = [];
  const views = new TurnViews((drawn) => heard.push(drawn), { open: (url) => new FakeSocket(url) });
  views.watch([turn("v1", 7), turn("v1", 7)]);
  views.watch([turn("v1", 9)]);
  assert.deepEqual(FakeSocket.made.map((socket) => socket.url), ["ws://h/ws/workspaces/v1?since=7&drawn=de"]);
  for (const seq of [8, 8, 7, 9]) FakeSocket.made[0].says(event(seq));
  FakeSocket.made[0].says({ type: "heartbeat", seq: 12 });
  assert.equal(heard.length, 0);
  FakeSocket.made[0].says({ type: "drawn", seq: 9, turns: { t: "<article></article>" } });
  FakeSocket.made[0].says({ type: "drawn", seq: 9, again: true });
  assert.deepEqual(heard.map(({ turns, again }) => [turns?.t, again]), [["<article></article>", undefined], [undefined, true]]);
  views.sockets.get("v1").resync();
  assert.equal(FakeSocket.made[1].url, "ws://h/ws/workspaces/v1?since=9&drawn=de");
  views.watch([]);
});

test("each event of a view is passed on, drawn or not", () => {
  const seen = [];
  const views = new TurnViews(() => {}, { open: (url) => new FakeSocket(url), changed: (view) => seen.push(view.seq) });
  views.watch([turn("v1", 7)]);
  for (const seq of [8, 9]) FakeSocket.made[0].says(event(seq));
  FakeSocket.made[0].says({ type: "drawn", seq: 9, again: true });
  assert.deepEqual(seen, [8, 9]);
  views.watch([]);
});

test("a view whose turn has ended is left alone", () => {
  const views = new TurnViews(() => {}, { open: (url) => new FakeSocket(url) });
  views.watch([turn("v1", 1), turn("v2", 1)]);
  views.watch([turn("v2", 5)]);
  assert.deepEqual(FakeSocket.made.map((socket) => socket.readyState), [3, 1]);
  views.watch([]);
  assert.equal(views.sockets.size, 0);
});
