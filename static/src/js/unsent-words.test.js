import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { freshPage } from "./testing/dom.js";
import { returnToForm, workByKeys } from "./by-keys.js";
import { clearTaken } from "./unsent-words.js";

const at = (selector) => document.querySelector(selector);
const FORM = '<form method="post" id="f"><input type="hidden" name="seen" value="1"><label>Reason <textarea name="why"></textarea></label><select name="side"><option value="for">For</option><option value="against">Against</option></select><button>Send</button></form>';
const ERROR = '<div class="messages" role="status"><div class="message error">The claim is withdrawn.</div></div>';
let isListening = false;

/** A plain page of somebody, at an address; its listeners are the document's, and begin once. */
function page(markup, { reader = "ada", path = "/trees/t" } = {}) {
  freshPage(`<main id="main">${markup}</main>`);
  document.head.innerHTML = `<meta name="reader" content="${reader}">`;
  window.history.replaceState(null, "", path);
  document.body.className = "plain";
  if (!isListening) workByKeys();
  else returnToForm();
  isListening = true;
}

/** Types in the form of the page, and sends it. */
function send(words) {
  at("textarea").value = words;
  at("select").value = "against";
  at("textarea").focus();
  at("#f").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
}

beforeEach(() => sessionStorage.clear());

test("what was refused and has no form any more is shown, to be copied", () => {
  page(FORM);
  send("It was <raining>.\nAll day.");
  page(ERROR);
  assert.equal(at(".unsent-text").textContent, "It was <raining>.\nAll day.");
  assert.equal(at(".unsent-words .soft").textContent, "Reason");
  assert.ok(at(".messages + .unsent-words button[data-copy]"));
  page(ERROR);
  assert.equal(at(".unsent-words"), null);
});

test("it is shown on the page of a refusal, not to somebody else, and not where all went well", () => {
  const refusal = "<section data-refusal><h1>This can't be done</h1></section>";
  page(FORM);
  send("Kept.");
  page(refusal, { path: "/trees/t/claims" });
  assert.equal(at(".unsent-text").textContent, "Kept.");
  page(FORM);
  send("Kept.");
  page(refusal, { reader: "bob" });
  assert.equal(at(".unsent-words"), null);
  page(FORM);
  send("Kept.");
  page('<div class="warning" role="alert">Read with care.</div>');
  assert.equal(at(".unsent-words"), null);
});

test("a form that comes back has what was typed and chosen, also where the page is a later state", () => {
  page(FORM);
  send("It was raining.");
  page(`${ERROR}${FORM.replace('value="1"', 'value="2"')}`);
  assert.deepEqual([at("textarea").value, at("select").value, at(".unsent-words")], ["It was raining.", "against", null]);
});

test("a form of an ended session comes back filled to who signs in again, who is told that it was not sent", () => {
  page(FORM);
  send("It was raining.");
  page('<form method="post"><input name="username"><button>Sign in</button></form>', { reader: "", path: "/signin" });
  at("input").value = "ada";
  at("form").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  page("<h1>Second factor</h1>", { reader: "", path: "/second-factor" });
  page(FORM);
  assert.deepEqual([at("textarea").value, at("select").value, document.activeElement], ["It was raining.", "against", at("textarea")]);
  assert.match(at("#f [role=alert]").textContent, /was not sent/);
  page(FORM);
  assert.deepEqual([at("textarea").value, at("[role=alert]")], ["", null]);
});

test("somebody else who signs in sees nothing of it, and it is gone", () => {
  page(FORM);
  send("It was raining.");
  page("", { reader: "", path: "/signin" });
  page(FORM, { reader: "bob" });
  assert.equal(at("textarea").value, "");
  page(FORM);
  assert.equal(at("textarea").value, "");
});

test("where the form is gone after signing in, its words are shown", () => {
  page(FORM);
  send("It was raining.");
  page("", { reader: "", path: "/signin" });
  page("<h1>A claim</h1>");
  assert.equal(at(".unsent-text").textContent, "It was raining.");
});

test("after a step back, words that were sent are not in their form again; others are", () => {
  page(FORM);
  send("Sent by itself.");
  page(FORM);
  at("textarea").value = "Sent by itself.";
  clearTaken();
  assert.equal(at("textarea").value, "");
  at("textarea").value = "Another.";
  clearTaken();
  assert.equal(at("textarea").value, "Another.");
  assert.doesNotMatch(JSON.stringify(sessionStorage), /by itself/);
});
