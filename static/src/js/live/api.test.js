import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { Refused, told } from "./api.js";

test("a right that somebody lacks is said in words, not by the name of a permission", () => {
  freshPage("<main></main>");
  const hint = "You may only read this tree. Ask an owner of the grove for the right to write.";
  const refused = { code: "PERMISSION_DENIED", message: "continue needs loom_aware, loom_generate.", lacks: ["loom_aware", "loom_generate"], hint };
  assert.equal(told(new Refused(refused, 403)), `You may not do this here.\n${hint}`);
  const other = new Refused({ code: "PERMISSION_DENIED", message: "This note is somebody else's.", hint: "" }, 403);
  assert.equal(told(other), "This note is somebody else's.");
});
