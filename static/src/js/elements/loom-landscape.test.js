import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place } from "../testing/dom.js";
import { LoomLandscape } from "./loom-landscape.js";

customElements.define("loom-landscape", LoomLandscape);

const written = { type: "event", event: { seq: 8, kind: "node.added" } };

function open({ isFollowed = true, markup = "" } = {}) {
  freshPage();
  const element = place(LoomLandscape, { markup, status: "/status" });
  Object.assign(element, { isFollowed, points: { revision: 1, placed: 0, titled: 0 } });
  return element;
}

test("a map that is followed rests after some looks, and looks again when a text was written", () => {
  const element = open();
  element.quiet = 5;
  element.lookSoon();
  assert.equal(element.later, undefined);
  element.heard({ type: "heartbeat" });
  element.heard({ type: "event", event: { seq: 7, kind: "mark.added" } });
  assert.equal(element.later, undefined);
  element.heard(written);
  assert.notEqual(element.later, undefined);
  assert.equal(element.quiet, 0);
  assert.equal(element.seq, 8);
  const waits = element.later;
  element.heard(written);
  assert.equal(element.later, waits); // one look for all that was written meanwhile
  clearTimeout(element.later);
});

test("a map that nothing tells of looks again and again, and one that waits for titles", () => {
  for (const values of [{ isFollowed: false }, { markup: "<p data-titling></p>" }]) {
    const element = open(values);
    element.quiet = 9;
    element.lookSoon();
    assert.notEqual(element.later, undefined);
    clearTimeout(element.later);
  }
});
