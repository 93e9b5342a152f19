import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "./camera.js";
import { layout } from "./layout.js";
import { Rows } from "./scene.js";
import { cells, eachIn, eachLeaving, eachRow } from "./seen.js";

const frame = { width: 300, height: 500 };

function fan(/** @type {number} */ count) {
  const places = layout(Int32Array.from({ length: count }, (_, place) => (place ? 0 : -1)));
  return { places, rows: new Rows(places, places.kept, places.rows) };
}

test("from near, what is in the frame is seen, and nothing else", () => {
  const { places, rows } = fan(1000);
  const camera = new Camera();
  camera.put(0, 0, 150, 100);
  const seen = [];
  eachIn(rows, 1, camera, frame, false, (place) => seen.push(place));
  assert.deepEqual(seen, [...places.kept].slice(1).filter((place) => Math.abs(camera.toX(places.x[place]) - 150) <= 170));
});

test("from afar, no more is drawn than there is room for", () => {
  const { places, rows } = fan(100_000);
  const camera = new Camera();
  camera.fit({ x0: places.x[1], x1: places.x[99_999], y0: 0, y1: 1 }, frame.width, frame.height);
  let drawn = 0;
  eachIn(rows, 1, camera, frame, true, () => (drawn += 1));
  assert.ok(drawn > 50 && drawn < frame.width, `${drawn} dots`);
});

test("lines that leave the frame are some of all, on both sides", () => {
  const { places, rows } = fan(20_001);
  const camera = new Camera();
  camera.put(0, 0, 150, 100);
  const ends = [];
  eachLeaving(rows, 1, camera, frame, (place) => ends.push(places.x[place]));
  assert.ok(ends.length > 100 && ends.length < 500, `${ends.length} lines`);
  assert.ok(ends.some((x) => x < 0) && ends.some((x) => x > 0));
});

test("of a chain 50,000 rows deep a few rows to each pixel are looked at", () => {
  const comb = layout(Int32Array.from({ length: 100_000 }, (_, place) => place - 1 - Number(place > 0 && place % 2 === 0)));
  const rows = new Rows(comb, comb.kept, comb.rows);
  const camera = new Camera();
  camera.fit({ x0: 0, x1: 1, y0: 0, y1: rows.count }, frame.width, frame.height);
  let looked = 0;
  eachRow(rows, camera, frame, () => (looked += 1));
  assert.ok(looked > 400 && looked < 4 * frame.height, `${looked} rows`);
});

test("a dot hides what would be drawn on it, from afar only", () => {
  const isTaken = cells(true, frame);
  assert.deepEqual([isTaken(10, 10), isTaken(10.5, 10.5), isTaken(13, 10)], [false, true, false]);
  assert.equal(cells(false, frame)(10, 10), false);
});
