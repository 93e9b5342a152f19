import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, settled, treePage } from "../testing/dom.js";
import { LoomToast } from "../elements/loom-toast.js";
import { Acts } from "./undo.js";

customElements.define("loom-toast", LoomToast);

/** The acts of a page whose last change on the server is what `reply` says, and what is run. */
function acts(reply) {
  freshPage("<loom-toast></loom-toast>");
  const ran = [];
  const answer = { canonical: "→ undo", reply, events: [1], step: 9, position: "n1" };
  const page = treePage({ preview: async () => ({ reply }), say: async (what) => (ran.push(what.command), answer) });
  return { acts: new Acts(page, localStorage), ran };
}

test("a change of rights that was made elsewhere is not undone before it was asked for", async () => {
  const { acts: own, ran } = acts('✓ undid → allow "Wanda" usual');
  await own.undo();
  assert.deepEqual(ran, []);
  const toast = document.querySelector("loom-toast");
  assert.equal(toast.querySelector("span").textContent, "Undo your last change: rights of Wanda?");
  toast.querySelector("button").click();
  await settled();
  assert.deepEqual(ran, ["undo"]);
});

test("any other change that was made elsewhere is undone at once", async () => {
  const { acts: own, ran } = acts("✓ undid → tag a7x2 #good");
  await own.undo();
  assert.deepEqual(ran, ["undo"]);
});
