import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, held, settled } from "../testing/dom.js";
import { Refused } from "../live/api.js";
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

test("a form that is on its way is not sent again by its keys", async () => {
  freshPage(MARKUP);
  const answer = held();
  let sent = 0;
  const form = openForm(document.querySelector("article"), shape, () => ((sent += 1), answer.promise));
  const press = () => form.dispatchEvent(Object.assign(new Event("keydown", { bubbles: true }), { key: "Enter", ctrlKey: true }));
  press();
  press();
  assert.equal(sent, 1);
  answer.give(null);
  await settled();
  assert.equal(form.isConnected, false);
});

test("a refused form keeps as its draft what it shows, with what was typed meanwhile", async () => {
  freshPage(MARKUP);
  const answer = held();
  const kept = [];
  const draft = { read: () => "", write: (text) => void kept.push(text) };
  const form = openForm(document.querySelector("article"), { ...shape, draft }, () => answer.promise);
  form.dispatchEvent(new Event("submit", { cancelable: true }));
  form.querySelector("textarea").value = "first, and more";
  answer.refuse(new Refused({ message: "Not now." }, 503));
  await settled();
  assert.deepEqual([kept.at(-1), form.querySelector("textarea").value], ["first, and more", "first, and more"]);
});
