import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { freshPage } from "../testing/dom.js";
import { ACTIONS } from "./keys.js";

test("every action of the server's table is done here, and no other", () => {
  const source = readFileSync(new URL("../../../../loom/people/shortcuts.py", import.meta.url), "utf8");
  const named = [...source.matchAll(/Shortcut\("([a-z-]+)"/g)].map((match) => match[1]);
  const moves = source.slice(source.indexOf("MOVES ="), source.indexOf("ACTIONS ="));
  const typed = [...moves.matchAll(/Shortcut\("([a-z-]+)"/g)].map((match) => `${match[1]}-typing`);
  const taken = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `take-${number}`);
  const wanted = [...named, ...typed, ...taken].sort();
  assert.deepEqual(Object.keys(ACTIONS).filter((id) => id !== "walk-typing").sort(), wanted);
});

test("Escape stops candidates, and leaves an empty composer so that the next number takes one", () => {
  freshPage('<main id="main" tabindex="-1"><loom-composer><textarea></textarea></loom-composer><loom-weave></loom-weave></main>');
  const [field, main] = [document.querySelector("textarea"), document.getElementById("main")];
  let running = true;
  Object.assign(document.querySelector("loom-weave"), { haltAll: () => running });
  field.focus();
  field.value = "And then";
  assert.equal(ACTIONS.stop(), true);
  assert.equal(document.activeElement, field);
  field.value = "";
  ACTIONS.stop();
  assert.equal(document.activeElement, main);
  field.focus();
  field.value = "And then";
  running = false;
  ACTIONS.stop();
  assert.equal(document.activeElement, main);
});
