import assert from "node:assert/strict";
import { test } from "node:test";
import { drawDots } from "./dots.js";
import { boxOf, Eye } from "./eye.js";
import { CELLS, fieldOf, paint, paletteOf, SEA, SIDE } from "./field.js";
import { Finder } from "./finder.js";
import { labelsOf, levelAt } from "./labels.js";
import { colouringOf } from "./colouring.js";

const X = [10000, 10400, 9800, 50000];
const Y = [20000, 20300, 19700, 50000];
const at = (/** @type {number} */ x, /** @type {number} */ y) => Math.round(CELLS.first + y * CELLS.scale) * SIDE + Math.round(CELLS.first + x * CELLS.scale);

test("texts stand on land, the more of them the higher, and elsewhere is water", () => {
  const { height } = fieldOf(X, Y, null);
  assert.ok(height[at(10000, 20000)] > height[at(50000, 50000)]);
  assert.ok(height[at(50000, 50000)] > SEA);
  assert.ok(height[at(60000, 5000)] < SEA / 10);
});

test("a part of the texts is measured as all of them, so that land only grows", () => {
  const whole = fieldOf(X, Y, null);
  const part = fieldOf(X, Y, [0, 3], whole.peak);
  for (let cell = 0; cell < part.height.length; cell += 97) assert.ok(part.height[cell] <= whole.height[cell] + 1e-6);
  assert.equal(fieldOf([], [], null).height.every((height) => height === 0), true);
});

test("painting in parts is painting at once", () => {
  const field = fieldOf(X, Y, null);
  const view = { width: 40, left: 20, top: 60, step: 3 };
  const once = new Uint8ClampedArray(40 * 30 * 4);
  paint(field, paletteOf(false), once, { ...view, from: 0, to: 30 });
  const parts = new Uint8ClampedArray(40 * 30 * 4);
  for (const from of [0, 10, 20]) paint(field, paletteOf(false), parts, { ...view, from, to: from + 10 });
  assert.deepEqual([...parts], [...once]);
  assert.ok(new Set(new Uint32Array(once.buffer)).size > 50);
});

test("dots are drawn in their colours, and none without one", () => {
  const out = new Uint32Array(20 * 20);
  const view = { width: 20, height: 20, x: [5, 15], y: [5, 15], order: [0, 1], from: 0, to: 2, scale: 1, left: 0, top: 0, radius: 2, strength: 1, colourOf: Uint8Array.from([0, 9]), colours: [[255, 0, 0]], rim: null };
  drawDots(out, view);
  assert.equal(out[5 * 20 + 5], 0xff0000ff);
  assert.equal(out[15 * 20 + 15], 0);
  drawDots(out, { ...view, x: [-50, 500], y: [0, 0] });
});

test("the nearest text is found, and those within a line", () => {
  const finder = new Finder(X, Y);
  assert.equal(finder.nearest(10300, 20300, 500, () => true), 1);
  assert.equal(finder.nearest(10300, 20300, 500, (text) => text !== 1), 0);
  assert.equal(finder.nearest(30000, 30000, 500, () => true), -1);
  assert.deepEqual(finder.within([[9000, 19000], [11000, 19000], [11000, 21000], [9000, 21000]], () => true).sort(), [0, 1, 2]);
});

test("the eye keeps the point under the pointer and something in sight", () => {
  const eye = new Eye();
  eye.fitTo(800, 600, boxOf(X, Y));
  eye.fit();
  const [x, y] = eye.toWorld(200, 100);
  eye.zoomBy(3, 200, 100);
  assert.deepEqual(eye.toWorld(200, 100).map(Math.round), [Math.round(x), Math.round(y)]);
  eye.pan(1e6, 1e6);
  const [mx, my] = eye.toWorld(400, 300);
  assert.ok(mx >= eye.box.x0 - 1 && my >= eye.box.y0 - 1);
});

test("names do not lie over each other, and inner ones stand for theirs from near", () => {
  const region = (/** @type {number} */ level, /** @type {number} */ x, /** @type {number} */ count, /** @type {number} */ within, /** @type {string} */ word) => ({ level, x, y: 100, count, within, words: [word], title: "" });
  const regions = [region(0, 100, 50, -1, "a"), region(0, 110, 20, -1, "b"), region(0, 400, 20, -1, "c"), region(1, 90, 30, 0, "d")];
  const labels = (/** @type {number} */ level) => labelsOf(regions, level, (x, y) => [x, y], () => 40, { width: 600, height: 200 });
  const named = (/** @type {number} */ level) => labels(level).map(({ words }) => words);
  assert.deepEqual(named(0), ["a", "b", "c"]);
  const [a, b, c] = labels(0);
  assert.ok(Math.abs(a.y - b.y) > 0.7 * (a.size + b.size), "one that is in the way moves up or down");
  assert.equal(a.y, c.y);
  assert.deepEqual(named(1), ["d", "b", "c"]);
  assert.deepEqual([levelAt(1), levelAt(3), levelAt(9)], [0, 1, 2]);
});

test("colours say who wrote, when, and how it was rated", () => {
  const points = {
    revision: 1, titled: 0, trees: [], ids: ["a", "b", "c"], x: [1, 2, 3], y: [1, 2, 3], tree: [], ups: [-1, 0, 1], lit: null, regions: [],
    participants: [{ id: "p", name: "Ada", kind: "human", model: "" }, { id: "q", name: "Muse", kind: "model", model: "openai:gpt" }],
    branches: [], branch: [-1, -1, -1], authors: [1, 1, 0], times: [30, 10, 20], ratings: /** @type {[number, number][]} */ ([[2, 1]]), placed: 0,
    surprise: /** @type {[number, number][]} */ ([[0, 2.5], [1, 0.5]]),
  };
  const words = { others: "others", people: "people", plus: "+", minus: "-", none: "0", untitled: "", unknown: "?", bits: String, day: String };
  const by = (/** @type {string} */ way) => colouringOf(points, way, false, words);
  assert.deepEqual(by("author").entries.map(({ words: said, count }) => [said, count]), [["Muse", 2], ["Ada", 1], ["others", 0]]);
  assert.deepEqual([...by("model").of], [0, 0, 1]);
  assert.deepEqual([...by("rating").of], [1, 1, 2]);
  const time = by("time").of;
  assert.ok(time[1] < time[2] && time[2] < time[0]);
  const { of, entries, ramp = 0 } = by("surprise");
  assert.ok(of[1] < of[0] && of[0] < ramp && of[2] === ramp);
  assert.deepEqual([entries[0].words, entries[ramp - 1].words, entries[ramp].words, entries[ramp].count], ["0.5", "2.5", "?", 1]);
});
