import assert from "node:assert/strict";
import { test } from "node:test";
import { IcicleCamera } from "./icicle-camera.js";
import { drawIcicle, roomBeside } from "./icicle-draw.js";
import { icicle } from "./icicle.js";

/** A pen that notes dots, lines and words. */
function noting() {
  /** @type {{dots: number[][], lines: number[][], words: [string, number, number][]}} */
  const noted = { dots: [], lines: [], words: [] };
  let from = [0, 0];
  const does = {
    measureText: (/** @type {string} */ words) => ({ width: 6 * words.length }),
    arc: (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ r) => noted.dots.push([x, y, r]),
    moveTo: (/** @type {number} */ x, /** @type {number} */ y) => (from = [x, y]),
    lineTo: (/** @type {number} */ x, /** @type {number} */ y) => noted.lines.push([...from, x, y]),
    fillText: (/** @type {string} */ words, /** @type {number} */ x, /** @type {number} */ y) => noted.words.push([words, x, y]),
  };
  const pen = new Proxy({}, { get: (_, name) => Reflect.get(does, name) ?? (() => {}), set: () => true });
  return { pen, noted };
}

/** @param {number[]} parents @param {object} shown */
function drawn(parents, shown) {
  const { pen, noted } = noting();
  const camera = new IcicleCamera();
  camera.resize({ width: 288, height: 400 }, 6);
  camera.fit();
  const all = { count: parents.length, colourOf: () => 0, isPruned: () => false, wordsOf: () => "Words of a long path that go on", isMatch: null, hits: [], position: -1, cursor: -1, pins: [], labels: [], ...shown };
  const ink = { threads: ["a"], ink: "b", soft: "c", paper: "d", panel: "e", edge: "f", link: "g", font: "h" };
  drawIcicle(/** @type {any} */ ({ pen, places: icicle(Int32Array.from(parents)), camera, shown: all, ink }));
  return noted;
}

test("words are beside the line of the path", () => {
  const { lines, words } = drawn([-1, 0, 1, 2, 3, 4], { position: 5 });
  assert.ok(words.length >= 4);
  for (const [text, left] of words) for (const [x] of lines) assert.ok(x < left || x > left + 6 * text.length, text);
});

test("a dot at the edge of the map is seen whole", () => {
  const broad = [-1, 0, ...Array.from({ length: 300 }, () => 0)];
  for (const place of [1, broad.length - 1]) {
    const { dots } = drawn(broad, { position: place, labels: [{ place, words: "", isChapter: false }] });
    assert.equal(dots.length, 2);
    for (const [x, , r] of dots) assert.ok(x - r >= 0 && x + r <= 288, `${x}`);
  }
});

test("words have the broader side of a line, and the whole cell without one", () => {
  assert.deepEqual(roomBeside(0, 200, -1), [4, 193]);
  assert.deepEqual(roomBeside(0, 200, 150), [4, 138]);
  assert.deepEqual(roomBeside(0, 200, 20), [28, 169]);
  assert.deepEqual(roomBeside(100, 200, 20), [104, 93]);
});
