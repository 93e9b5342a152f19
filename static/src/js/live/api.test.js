import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, settled } from "../testing/dom.js";
import { json, madePart, Refused, told } from "./api.js";

test("a right that somebody lacks is said in words, not by the name of a permission", () => {
  freshPage("<main></main>");
  const hint = "You may only read this tree. Ask an owner of the grove for the right to write.";
  const refused = { code: "PERMISSION_DENIED", message: "continue needs loom_aware, loom_generate.", lacks: ["loom_aware", "loom_generate"], hint };
  assert.equal(told(new Refused(refused, 403)), `You may not do this here.\n${hint}`);
  const other = new Refused({ code: "PERMISSION_DENIED", message: "This note is somebody else's.", hint: "" }, 403);
  assert.equal(told(other), "This note is somebody else's.");
});

test("what a button posts is sent once until it was answered, whatever its key, and again after that", async () => {
  const answers = [held(), held()];
  const sent = [];
  freshPage("", (url, { body }) => answers[sent.push([url, body]) - 1]?.promise ?? {});
  const post = (key) => json("/api/tasks", { method: "POST", body: { text: "Mend the gate", key } });
  const both = [post("a"), post("b")];
  await settled();
  assert.equal(sent.length, 1);
  answers[0].give({ id: 1 });
  assert.deepEqual(await Promise.all(both), [{ id: 1 }, { id: 1 }]);
  const again = [post("c"), json("/api/tasks", { method: "POST", body: { text: "Another", key: "d" } })];
  await settled();
  assert.equal(sent.length, 3);
  answers[1].give({});
  await Promise.all(again);
  const parts = [madePart("/documents"), madePart("/documents")];
  await Promise.all(parts);
  assert.equal(sent.length, 4);
});

test("what was refused may be sent again, and what is only asked is asked as often as one likes", async () => {
  let asked = 0;
  freshPage("", () => (asked += 1) && new Response("{}", { status: 409 }));
  const post = () => json("/api/tasks", { method: "POST", body: {} });
  await assert.rejects(post());
  await assert.rejects(post());
  await Promise.allSettled([json("/api/tasks"), json("/api/tasks")]);
  assert.equal(asked, 4);
});
