import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

globalThis.HTMLElement ??= class {};
const { ACTIONS } = await import("./keys.js");

test("every action of the server's table is done here, and no other", () => {
  const source = readFileSync(new URL("../../../../loom/people/shortcuts.py", import.meta.url), "utf8");
  const named = [...source.matchAll(/Shortcut\("([a-z-]+)"/g)].map((match) => match[1]);
  const moves = source.slice(source.indexOf("MOVES ="), source.indexOf("ACTIONS ="));
  const typed = [...moves.matchAll(/Shortcut\("([a-z-]+)"/g)].map((match) => `${match[1]}-typing`);
  const taken = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `take-${number}`);
  const wanted = [...named, ...typed, ...taken].sort();
  assert.deepEqual(Object.keys(ACTIONS).filter((id) => id !== "walk-typing").sort(), wanted);
});
