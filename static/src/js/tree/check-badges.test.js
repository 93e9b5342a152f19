import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, treePage } from "../testing/dom.js";
import { CheckBadges, summaryOf } from "./check-badges.js";

const passed = { check: "c1", name: "short", outcome: "passed", said: "3 ≤ 5" };
const failed = { check: "c2", name: "lit", outcome: "failed", said: "no lamp" };

test("the worst outcome is that of the badge", () => {
  assert.deepEqual(summaryOf([passed, failed]), { outcome: "failed", short: "✓ 1 ✗ 1", words: "✓ short 3 ≤ 5\n✗ lit no lamp" });
  assert.equal(summaryOf([passed]).outcome, "passed");
});

test("results are asked for once, drawn, and changed by an event", async () => {
  const asked = [];
  freshPage('<loom-path><article data-id="a7x2"><div class="text"></div><footer></footer></article></loom-path>', (url) => {
    asked.push(url);
    return { count: 1, results: [{ item: "a7x2", ...passed }] };
  });
  const heard = {};
  const page = treePage();
  page.events.on = (kind, listener) => ((heard[kind] = listener), () => {});
  const stop = new AbortController();
  const badges = new CheckBadges(page, stop.signal);
  await badges.ask();
  const badge = () => document.querySelector("footer > .check-badge");
  assert.equal(badge()?.textContent, "✓ 1");
  await badges.ask();
  assert.deepEqual(asked, ["/api/checks/results?tree=t&items=a7x2"]);
  // A text that was just written has no results: nobody asks.
  heard["node.added"]({ payload: { node: { id: "b8y3" } } });
  document.querySelector("loom-path")?.insertAdjacentHTML("beforeend", '<article data-id="b8y3"><footer></footer></article>');
  await badges.ask();
  assert.equal(asked.length, 1);
  heard["check.changed"]({ payload: { item: "a7x2", results: [failed] } });
  assert.equal(badge()?.textContent, "✓ 1 ✗ 1");
  assert.equal(badge()?.getAttribute("data-outcome"), "failed");
  heard["check.changed"]({ payload: { item: "doc:x", results: [failed] } });
  assert.equal(document.querySelectorAll(".check-badge").length, 1);
  stop.abort();
});
