import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { openForm } from "./forms.js";

const MARKUP = '<main id="main" tabindex="-1"><button>Annotate</button><article></article></main>';
const shape = { label: "A note", submit: "Save" };

function opened() {
  HTMLElement.prototype.scrollIntoView ??= () => {}; // which jsdom lacks
  return openForm(document.querySelector("article"), shape, async () => {});
}
const pressEscape = (form) => form.dispatchEvent(Object.assign(new Event("keydown", { bubbles: true }), { key: "Escape" }));

test("a form that a key opened gives the focus to the path, not to nothing", () => {
  freshPage(MARKUP);
  const form = opened();
  assert.equal(document.activeElement, form.querySelector("textarea"));
  pressEscape(form);
  assert.equal(document.activeElement, document.getElementById("main"));
});

test("a form gives the focus back to the button that opened it, or to the path where it is gone", () => {
  freshPage(MARKUP);
  const button = document.querySelector("button");
  button.focus();
  pressEscape(opened());
  assert.equal(document.activeElement, button);
  const form = opened();
  button.remove();
  pressEscape(form);
  assert.equal(document.activeElement, document.getElementById("main"));
});

test("a form that needs words says so and sends nothing while they are missing", () => {
  freshPage(MARKUP);
  HTMLElement.prototype.scrollIntoView ??= () => {};
  const sent = [];
  const form = openForm(document.querySelector("article"), { ...shape, single: true, required: "Write why." }, async ({ text }) => void sent.push(text));
  const submit = () => form.dispatchEvent(new Event("submit", { cancelable: true }));
  const field = form.querySelector("input");
  assert.equal(field.getAttribute("aria-required"), "true");
  field.value = "  ";
  submit();
  assert.equal(form.querySelector(".refusal").textContent, "Write why.");
  assert.deepEqual(sent, []);
  field.value = "settled";
  submit();
  assert.deepEqual(sent, ["settled"]);
});
