import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place, settled, treePage } from "../testing/dom.js";
import { TreeStore } from "../tree/store.js";
import { LoomPast } from "./loom-past.js";

customElements.define("loom-past", LoomPast);

const store = () => new TreeStore({ seq: 9, ids: ["root"], parents: [null], slots: [0], kinds: ["text"], authors: [0], participants: [{ id: "ada" }], flags: [0], lengths: [0], orders: [] });

test("the slider begins at the first moment that is kept", async () => {
  freshPage("", (url) => (url.includes("/past/path") ? "" : { seq: 9, head: 9, floor: 4, at: "2026-11-28T16:00:00Z", by: "You", words: "wrote", node: "", last: "root", flags: [], ticks: [] }));
  const present = store();
  const page = treePage({ position: "root", present, store: present, ceaseWriting() {}, showStore() {}, go() {} });
  page.events.seq = 9;
  const past = place(LoomPast, { inside: document.querySelector("loom-tree") });
  document.querySelector("loom-tree").show = () => {};
  past.open(9);
  await settled();
  const slider = past.querySelector("input[type=range]");
  assert.deepEqual([slider.min, slider.max, slider.value], ["5", "9", "9"]);
});
