import assert from "node:assert/strict";
import { test } from "node:test";
import { Once } from "./once.js";

test("a second press is the first one while it is under way, and within its time after that", async () => {
  let now = 0;
  let sent = 0;
  const once = new Once(() => now);
  const press = (least) => once.send("continue", async () => (sent += 1), least);
  assert.deepEqual(await Promise.all([press(500), press(500)]), [1, 1]);
  now = 499;
  assert.equal(await press(500), 1);
  now = 500;
  assert.equal(await press(0), 2);
  assert.equal(await press(0), 3);
  assert.equal(once.asked.size, 0);
});

test("the same press after another one at its place is a press of its own", async () => {
  const sent = [];
  const once = new Once(() => 0);
  const press = (what, place) => once.send(`${place} ${what}`, async () => sent.push(what), 0, place);
  await Promise.all([press("on", "box"), press("off", "box"), press("on", "box"), press("on", "box"), press("x", "other"), press("on", "box")]);
  assert.deepEqual(sent, ["on", "off", "on", "x"]);
});

test("what was refused may be asked again at once", async () => {
  const once = new Once(() => 0);
  await assert.rejects(once.send("continue", () => Promise.reject(new Error("no")), 500));
  assert.equal(await once.send("continue", async () => "yes", 500), "yes");
});

test("what has come of it ends the time of a press, but not of one that is under way", async () => {
  let sent = 0;
  const once = new Once(() => 0);
  const press = () => once.send("continue", async () => (sent += 1), 500);
  await press();
  once.forget();
  const second = press();
  once.forget();
  assert.deepEqual(await Promise.all([second, press()]), [2, 2]);
});
