import assert from "node:assert/strict";
import { test } from "node:test";
import { placesIn } from "./token-places.js";

const drawnAs = (tokens, drawn) => placesIn(tokens, drawn).map(([from, to]) => drawn.slice(from, to));

test("tokens of plain text stand where they are", () => {
  assert.deepEqual(drawnAs(["The", " gate", " opens", "."], "The gate opens."), ["The", " gate", " opens", "."]);
});

test("marks of Markdown are not drawn, and what follows them stands right", () => {
  assert.deepEqual(drawnAs(["She", " **", "ran", "**", " home"], "She ran home"), ["She", " ", "ran", "", " home"]);
  assert.deepEqual(drawnAs(["# ", "Title", "\n\n", "One", " two"], "Title\nOne two"), ["", "Title", "\n", "One", " two"]);
  assert.deepEqual(drawnAs(["- ", "a", "\n- ", "b"], "\na\nb\n"), ["\n", "a", "\n", "b"]);
});

test("a piece that is not drawn does not shift the rest", () => {
  const tokens = ["See ", "[", "the gate", "](https://x.example/a)", " and the garden behind it"];
  assert.equal(drawnAs(tokens, "See the gate and the garden behind it").at(-1), " and the garden behind it");
});

test("what is drawn besides the text is left out", () => {
  assert.deepEqual(drawnAs(["One long", " sentence ends"], "[1] One long sentence ends"), ["One long", " sentence ends"]);
});

test("a long text is placed in linear time", () => {
  const tokens = Array.from({ length: 50_000 }, () => "ab ");
  assert.deepEqual(placesIn(tokens, "xy ".repeat(50_000)).at(-1)?.length, 2);
});
