import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place, treePage } from "../testing/dom.js";
import { LoomVariety } from "./loom-variety.js";

customElements.define("loom-variety", LoomVariety);

test("candidates that have no card are led to on the page of all", () => {
  freshPage('<section data-weave data-point="n1"><div class="weave-head"><h2>9</h2></div><p><button data-act="outline">6 more; see the outline.</button></p></section>');
  treePage();
  const element = place(LoomVariety);
  element.said = { key: "", words: "4 different" };
  element.put();
  element.put();
  const links = [...document.querySelectorAll("p > a")];
  assert.deepEqual(links.map((link) => link.getAttribute("href")), ["/trees/t/candidates/n1"]);
  document.querySelector("[data-weave]").dataset.point = "n2";
  element.put();
  assert.deepEqual(links.map((link) => link.getAttribute("href")), ["/trees/t/candidates/n2"]);
});
