import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { freshPage } from "./testing/dom.js";
import { returnToForm, workByKeys } from "./by-keys.js";

const at = (selector) => document.querySelector(selector);
const press = (element, key, more = {}) => element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));

const reply = (id, more = "") => `<li id="mention-${id}"><form method="post"><input type="hidden" name="mention" value="${id}"><textarea name="text"></textarea><button>Reply</button>${more}</form></li>`;
const page = (rows, more = "") => `<main id="main"><p><a href="#back" data-back>← Back</a></p>${more}<ul>${rows}</ul></main><loom-toast></loom-toast>`;

let isListening = false;

/** A plain page; its listeners are the document's, and begin once. */
function plain(markup) {
  freshPage(markup);
  document.body.className = "plain";
  if (!isListening) workByKeys();
  isListening = true;
}

/** Sends the form of a control as a press of Enter in it does. */
function send(control) {
  control.focus();
  const event = new Event("submit", { bubbles: true, cancelable: true });
  control.form.dispatchEvent(event);
}

beforeEach(() => sessionStorage.clear());

test("a form that loads its page again has the focus where it was", () => {
  plain(page(reply(1) + reply(2)));
  send(at("#mention-2 textarea"));
  freshPage(page(reply(1) + reply(2)));
  returnToForm();
  assert.equal(document.activeElement, at("#mention-2 textarea"));
  returnToForm();
  assert.equal(sessionStorage.length, 0);
});

test("where the form is gone what was around it has the focus, and a like button of another row never", () => {
  plain(page(reply(1, "<button name=seen>Mark as read</button>") + reply(2, "<button name=seen>Mark as read</button>")));
  send(at("#mention-1 [name=seen]"));
  freshPage(page(reply(1) + reply(2, "<button name=seen>Mark as read</button>")));
  returnToForm();
  assert.equal(document.activeElement, at("#mention-1"));
  send(at("#mention-2 [name=seen]"));
  freshPage(page(reply(3, "<button name=seen>Mark as read</button>"), '<p class="told" role="status">Done.</p>'));
  returnToForm();
  assert.equal(document.activeElement, at(".told"));
});

test("a form that is folded leads to what unfolds it, and a page that gives the focus itself keeps it", () => {
  const folded = '<details><summary>Change</summary><form method="post" id="f"><input name="title"></form></details>';
  plain(page("", folded.replace("<details>", "<details open>")));
  send(at("#f input"));
  freshPage(page("", folded));
  HTMLElement.prototype.checkVisibility = function () { return !this.closest("details:not([open])") || this.localName === "summary"; };
  returnToForm();
  delete HTMLElement.prototype.checkVisibility;
  assert.equal(document.activeElement, at("summary"));
  send(at("#f input"));
  freshPage(`${page("", folded)}<button>Own</button>`);
  at("body > button").focus();
  returnToForm();
  assert.equal(document.activeElement, at("body > button"));
});

test("Escape leads out of a field, out of what is unfolded, and then back; never away from what was typed", () => {
  plain(page("", '<details open><summary>Change</summary><form method="post"><input name="title" value="One"><button>Save</button></form></details>'));
  const followed = [];
  at("[data-back]").addEventListener("click", (event) => { event.preventDefault(); followed.push("back"); });
  at("button").focus();
  press(at("button"), "Escape");
  assert.equal(at("details").open, false);
  assert.equal(document.activeElement, at("summary"));
  at("input").value = "Two";
  press(at("summary"), "Escape");
  assert.deepEqual([followed, document.activeElement], [[], at("[data-back]")]);
  at("input").value = "One";
  press(at("[data-back]"), "Escape");
  assert.deepEqual(followed, ["back"]);
});

test("Ctrl Enter sends the text that is being written, by the first button of its form", () => {
  plain(page(reply(1)));
  const sent = [];
  at("form").requestSubmit = (button) => sent.push(button);
  press(at("textarea"), "Enter", { ctrlKey: true });
  press(at("textarea"), "Enter");
  assert.deepEqual(sent, [at("button")]);
});

test("a refused form has what was typed, unfolded, but no password", () => {
  const folded = '<details><summary>Give evidence</summary><form method="post"><input name="ref"><input name="why" value="As it was"><input name="pass" type="password"><input type="hidden" name="held" value="secret"><input name="code" autocomplete="one-time-code" value=""><button>Send</button></form></details>';
  plain(page("", folded));
  at("details").open = true;
  const type = (ref) => Object.assign(at("[name=ref]"), { value: ref }) && Object.assign(at("[name=pass]"), { value: "secret" }) && Object.assign(at("[name=code]"), { value: "secret" });
  type("zzzz");
  send(at("[name=ref]"));
  assert.doesNotMatch(sessionStorage.getItem("heddle.sent"), /secret/);
  freshPage(page("", `<ul class="messages"><li class="message error">Not found.</li></ul>${folded}`));
  returnToForm();
  assert.deepEqual([at("details").open, at("[name=ref]").value, at("[name=why]").value], [true, "zzzz", "As it was"]);
  assert.equal(document.activeElement, at("[name=ref]"));
  type("a7x2");
  send(at("[name=ref]"));
  freshPage(page("", folded));
  returnToForm();
  assert.equal(at("[name=ref]").value, "");
});

test("a page that was come back to is no answer: what was typed is there, and not taken", (context) => {
  plain(page(reply(1)));
  at("textarea").value = "It was raining.";
  send(at("textarea"));
  freshPage(page(reply(1)));
  context.mock.method(performance, "getEntriesByType", () => [{ type: "back_forward" }]);
  returnToForm();
  assert.equal(at("textarea").value, "It was raining.");
  assert.equal(sessionStorage.getItem("heddle.taken"), null);
});

test("who follows a link before a form was answered has not sent it", () => {
  plain(page(reply(1), '<a href="/elsewhere">Elsewhere</a>'));
  at("textarea").value = "It was raining.";
  send(at("textarea"));
  at("a").addEventListener("click", (event) => event.preventDefault());
  at("a").click();
  assert.equal(sessionStorage.getItem("heddle.sent"), null);
});

test("a message out of sight is a toast: alone if all went well, else also where it was", () => {
  plain(page(reply(1)));
  const outOfSight = () => Object.assign(at(".messages"), { getBoundingClientRect: () => ({ top: -80, bottom: -40 }) });
  for (const [kind, left] of [["success", 0], ["error", 1]]) {
    send(at("textarea"));
    freshPage(page(reply(1), `<div class="messages"><div class="message ${kind}">Said.</div></div>`));
    outOfSight();
    const told = [];
    at("loom-toast").show = (words, { bad }) => told.push([words, bad]);
    returnToForm();
    assert.deepEqual(told, [["Said.", kind === "error"]]);
    assert.equal(document.querySelectorAll(".messages").length, left);
  }
});

test("a page that is not plain forgets what was sent", () => {
  plain(page(reply(1)));
  send(at("textarea"));
  assert.equal(sessionStorage.length, 1);
  document.body.className = "";
  workByKeys();
  assert.equal(sessionStorage.length, 0);
});

test("what is shown once is led to, where it is copied", () => {
  const form = '<form method="post"><button>Create link</button></form>';
  plain(page("", form));
  send(at("button"));
  freshPage(page("", `<section class="fresh" role="status"><code data-secret>s</code><button data-copy>Copy</button></section>${form}`));
  returnToForm();
  assert.equal(document.activeElement, at("[data-copy]"));
});

test("Escape in a form that is unfolded leads to what unfolded it, and folds it unless something was typed", () => {
  plain(page("", '<details open><summary>New tree</summary><form method="post"><input name="title"><button>Create</button></form></details>'));
  at("input").focus();
  press(at("input"), "Escape");
  assert.deepEqual([at("details").open, document.activeElement], [false, at("summary")]);
  at("details").open = true;
  at("input").focus();
  at("input").value = "The lake";
  press(at("input"), "Escape");
  assert.deepEqual([at("details").open, document.activeElement], [true, at("summary")]);
  press(at("summary"), "Escape");
  assert.equal(at("details").open, false);
});
