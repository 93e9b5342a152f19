import assert from "node:assert/strict";
import { test } from "node:test";
import { Events } from "../live/socket.js";
import { Excerpts, Marks } from "./node-facts.js";

const STAR = ["m1", "bookmark", "the end", "a"];
const TAG = ["m2", "tag", "draft", "b"];

test("marks come from the server, and from events after that", async () => {
  const marks = new Marks("", async () => ({ marks: [STAR, TAG] }));
  const events = new Events(0);
  marks.follow(events);
  await marks.load();
  assert.deepEqual([...marks.items("bookmark")], ["a"]);
  events.apply({ seq: 1, kind: "mark.added", payload: { mark: { id: "m3", kind: "tag", label: "again", item: "a" } } });
  assert.deepEqual(marks.tags(), ["again", "draft"]);
  assert.deepEqual([...marks.items("tag", "again")], ["a"]);
  events.apply({ seq: 2, kind: "mark.removed", payload: { mark: { id: "m2" } } });
  assert.deepEqual(marks.tags(), ["again"]);
});

test("what is taken off while the marks are on their way does not come back", async () => {
  let asked = 0;
  const events = new Events(0);
  const marks = new Marks("", async () => {
    asked += 1;
    if (asked === 1) events.apply({ seq: 1, kind: "mark.removed", payload: { mark: { id: "m1" } } });
    return { marks: asked === 1 ? [STAR, TAG] : [TAG] };
  });
  marks.follow(events);
  await marks.load();
  assert.deepEqual([...marks.items("bookmark")], []);
});

test("read marks are nobody else's business", () => {
  const marks = new Marks("", async () => ({ marks: [] }));
  const events = new Events(0);
  marks.follow(events);
  events.apply({ seq: 1, kind: "mark.added", payload: { mark: { id: "m9", kind: "read", label: "", item: "a" } } });
  assert.equal(marks.all.size, 0);
});

test("many questions make one request, and an answer is kept", async () => {
  const asked = [];
  const excerpts = new Excerpts("/x", async (url) => {
    asked.push(url);
    return { a1b2: "first", c3d4: "second" };
  });
  const came = new Promise((done) => excerpts.addEventListener("excerpts", done));
  assert.equal(excerpts.of("a1b2"), "");
  assert.equal(excerpts.of("c3d4"), "");
  await came;
  assert.equal(excerpts.of("a1b2"), "first");
  assert.deepEqual(asked, ["/x?ids=a1b2,c3d4"]);
});

test("what the server does not know is not asked for again", async () => {
  let asked = 0;
  const excerpts = new Excerpts("/x", async () => {
    asked += 1;
    return {};
  });
  const came = new Promise((done) => excerpts.addEventListener("excerpts", done));
  excerpts.of("z9z9");
  await came;
  assert.equal(excerpts.of("z9z9"), "");
  assert.equal(excerpts.wanted.size, 0);
  assert.equal(asked, 1);
});

test("the first words of a text are known as it is added, and asked for where it was edited", () => {
  const events = new Events(0);
  const excerpts = new Excerpts("/x", async () => ({}));
  excerpts.follow(events);
  const added = (seq, node) => events.apply({ seq, kind: "node.added", payload: { node } });
  added(1, { id: "a1b2", text: `  One\n two. ${"x".repeat(200)}`, edited_from: null });
  added(2, { id: "c3d4", text: "Edited.", edited_from: "a1b2" });
  added(3, { id: "e5f6", text: "See ![a cat](image).", edited_from: null });
  assert.deepEqual(["a1b2", "c3d4", "e5f6"].map((id) => excerpts.known.get(id)), [`One two. ${"x".repeat(111)}`, undefined, undefined]);
});
