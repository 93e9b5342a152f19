import assert from "node:assert/strict";
import { test } from "node:test";
import { Excerpts } from "./excerpts.js";

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
