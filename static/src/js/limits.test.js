import assert from "node:assert/strict";
import { test } from "node:test";
import "./testing/dom.js";
import { limitTexts } from "./limits.js";

test("what is too long is neither cut nor sent, and the field says so", () => {
  limitTexts();
  document.body.innerHTML = '<form><textarea name="note" maxlength="10"></textarea></form>';
  const field = /** @type {HTMLTextAreaElement} */ (document.querySelector("textarea"));
  const type = (/** @type {string} */ text) => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  field.focus();
  assert.equal(field.maxLength, -1); // a browser would cut what is pasted
  type("x".repeat(1200));
  assert.equal(field.validationMessage, "At most 10 characters; these are 1,200.");
  assert.equal(field.form?.checkValidity(), false);
  type("👩".repeat(10)); // as the server counts them
  assert.equal(field.form?.checkValidity(), true);
  type("x".repeat(10));
  assert.equal(field.validationMessage, "");
});
