import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { stepInMenu } from "./menus.js";

const MENU = '<details class="menu" open><summary>More</summary><div class="menu-items"><button>One</button><a href="#two">Two</a><button disabled>No</button><button>Three</button></div></details>';

/** What has the focus after a press. */
function pressed(key, more = {}) {
  const event = Object.assign(new Event("keydown", { bubbles: true, cancelable: true }), { key, ...more });
  document.activeElement.dispatchEvent(event);
  return [document.activeElement.textContent, event.defaultPrevented];
}

test("the arrows go through an open menu, from its button on", () => {
  const stop = new AbortController();
  freshPage(MENU);
  document.addEventListener("keydown", stepInMenu, { signal: stop.signal });
  document.querySelector("summary").focus();
  const steps = ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Home", "End"];
  assert.deepEqual(steps.map((key) => pressed(key)[0]), ["One", "Two", "Three", "One", "Three", "One", "Three"]);
  assert.deepEqual(pressed("ArrowDown", { altKey: true }), ["Three", false]);
  assert.deepEqual(pressed("x"), ["Three", false]);
  stop.abort();
});

test("a shut menu, and one with fields, leave the arrows to others", () => {
  const stop = new AbortController();
  document.addEventListener("keydown", stepInMenu, { signal: stop.signal });
  for (const markup of [MENU.replace(" open", ""), MENU.replace("<button>One", "<input><button>One")]) {
    freshPage(markup);
    document.addEventListener("keydown", stepInMenu, { signal: stop.signal });
    document.querySelector("summary").focus();
    assert.deepEqual(pressed("ArrowDown")[1], false);
  }
  stop.abort();
});
