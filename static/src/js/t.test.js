import assert from "node:assert/strict";
import { test } from "node:test";
import { learn, t, tn } from "./t.js";

test("what the catalogue lacks is English, and values are where they belong", () => {
  learn({ "Undo {what}": "{what} zurück" });
  assert.equal(t("Undo {what}", { what: "x" }), "x zurück");
  assert.equal(t("Redo {what}", { what: "{n}" }), "Redo {n}");
  assert.equal(t("No {value}"), "No {value}");
  learn({});
});

test("each number has its form, as the catalogue's rule says", () => {
  assert.equal(tn("{n} node", "{n} nodes", 1), "1 node");
  assert.equal(tn("{n} node", "{n} nodes", 0), "0 nodes");
  const rule = [...Array(200).keys()].map((n) => (n % 10 === 1 && n !== 11 ? 0 : n < 5 && n ? 1 : 2)).join("");
  learn({ "": rule, "{n} node": ["{n} uzel", "{n} uzly", "{n} uzlů"] });
  assert.deepEqual([1, 3, 5, 221].map((n) => tn("{n} node", "{n} nodes", n)), ["1 uzel", "3 uzly", "5 uzlů", "221 uzel"]);
  learn({});
});
