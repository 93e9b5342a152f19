import assert from "node:assert/strict";
import { test } from "node:test";
import { Events } from "./events.js";

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
