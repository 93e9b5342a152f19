import assert from "node:assert/strict";
import { test } from "node:test";
import { age } from "./pages.js";

test("ages are written as the server writes them", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const ago = (seconds) => age(new Date(now.getTime() - seconds * 1000), now);
  assert.deepEqual([ago(5), ago(59), ago(60), ago(7200), ago(5 * 86_400)], ["now", "now", "1m ago", "2h ago", "5d ago"]);
  assert.equal(ago(40 * 86_400), "12 Oct 2026");
});
