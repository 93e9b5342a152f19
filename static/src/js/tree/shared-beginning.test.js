import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedBeginning } from "./shared-beginning.js";

test("texts share their beginning up to a whole word", () => {
  assert.equal(sharedBeginning(["The gate was new.", "The gable fell."]), "The ".length);
  assert.equal(sharedBeginning(["The gate.", "A barn."]), 0);
  assert.equal(sharedBeginning(["The gate ", "The gate "]), "The gate ".length);
  assert.equal(sharedBeginning([]), 0);
});
