import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { freshPage } from "./testing/dom.js";
import { fillUnfolded, giveBack, keepFocus, leave, rest } from "./focus.js";

const later = () => wait(60);
const at = (selector) => document.querySelector(selector);

function watched(markup) {
  freshPage(markup);
  const stop = new AbortController();
  keepFocus(stop.signal);
  return stop;
}

test("what was around a control that is removed gets the focus, and can be gone on from", async () => {
  const stop = watched('<main id="main" tabindex="-1"><section><ul><li><button>Drop</button></li></ul></section></main>');
  at("button").focus();
  at("li").remove();
  await later();
  assert.equal(document.activeElement, at("ul"));
  at("section").remove();
  await later();
  assert.equal(document.activeElement, at("main"));
  stop.abort();
});

test("a focus that somebody gives elsewhere, or takes away from what is still there, is left alone", async () => {
  const stop = watched('<main id="main"><ul><li><button>Drop</button></li></ul><input></main>');
  at("button").focus();
  at("li").remove();
  at("input").focus();
  await later();
  assert.equal(document.activeElement, at("input"));
  at("input").blur();
  await later();
  assert.equal(document.activeElement, document.body);
  stop.abort();
});

test("a button that is disabled while it works leaves the focus to its form", async () => {
  const stop = watched('<main id="main"><form><button>Send</button></form></main>');
  at("button").focus();
  at("button").blur(); // as a browser does with a button that is disabled
  at("button").disabled = true;
  await later();
  assert.equal(document.activeElement, at("form"));
  stop.abort();
});

test("who leaves a text is in the path, or in the part beside it that holds the text", () => {
  freshPage('<main id="main" tabindex="-1"><form><textarea></textarea></form></main><aside role="region"><input></aside>');
  leave(at("textarea"));
  assert.equal(document.activeElement, at("main"));
  leave(at("input"));
  assert.equal(document.activeElement, at("aside"));
  rest();
  assert.equal(document.activeElement, at("main"));
  giveBack(at("input"));
  assert.equal(document.activeElement, at("input"));
  giveBack(document.body);
  assert.equal(document.activeElement, at("main"));
});

test("a form that its summary unfolds has the focus in its first field, one that was open has not", () => {
  freshPage('<details data-fills open><summary tabindex="0">New tree</summary><form><input type="hidden"><input name="title"></form></details>');
  fillUnfolded({ target: at("details") });
  assert.equal(document.activeElement, document.body);
  at("summary").focus();
  fillUnfolded({ target: at("details") });
  assert.equal(document.activeElement, at("[name=title]"));
});
