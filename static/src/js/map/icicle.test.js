import assert from "node:assert/strict";
import { test } from "node:test";
import { IcicleCamera } from "./icicle-camera.js";
import { levelOf } from "./icicle-draw.js";
import { cellsIn, covering, icicle, MOST_CELLS, placeAt } from "./icicle.js";

const ALL = { left: 0, right: 1, top: 0, bottom: 1e9 };
const near = (value, other) => assert.ok(Math.abs(value - other) < 1e-9, `${value} is not ${other}`);

/** root > a > (b > d > e, c), f */
const parents = Int32Array.from([-1, 0, 1, 1, 2, 4, 0]);

test("a branch is as wide as what is below it, and what nobody continued a quarter of a text", () => {
  const { x, w, y, size } = icicle(parents);
  assert.deepEqual([...size], [7, 5, 3, 1, 2, 1, 1]);
  assert.deepEqual([...y], [0, 1, 2, 2, 3, 4, 1]);
  near(w[1] + w[6], 1);
  near(w[6] / w[1], 0.25 / 4.25);
  near(x[6], w[1]);
  near(w[3] / w[2], 0.25 / 3);
});

test("siblings lie in their order, those that nobody continued behind", () => {
  const { x } = icicle(Int32Array.from([-1, 0, 0, 0, 2, 3]), [[3, 2, 1]]);
  assert.ok(x[3] < x[2] && x[2] < x[1]);
});

test("rejected siblings are one stub from afar, and cells from near", () => {
  const places = icicle(Int32Array.from([-1, 0, 0, 0, 0, 1, 5, 6]));
  const stubs = (apart) => cellsIn(places, ALL, 1e-6, apart).filter((cell) => cell.kind === "stub");
  assert.deepEqual(stubs(0.9).map(({ many }) => many), [3]);
  assert.deepEqual(stubs(1e-6).map(({ place }) => place), [2, 3, 4]);
});

test("what is narrower than a pixel is one shadow, as deep as the deepest of it", () => {
  const many = 200;
  const all = [-1, ...Array(many).fill(0), ...Array.from({ length: many }, (_, place) => place + 1), 2 * many];
  const cells = cellsIn(icicle(Int32Array.from(all)), ALL, 0.05, 0.05);
  const shadows = cells.filter((cell) => cell.kind === "shadow");
  assert.ok(cells.length <= 25);
  assert.equal(Math.max(...shadows.map(({ h }) => h)), 3);
});

test("a million texts are a picture of few cells", () => {
  const count = 1_000_000;
  const wide = new Int32Array(count);
  let seed = 7;
  for (let place = 0; place < count; place += 1) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    wide[place] = place ? Math.floor((seed / 2147483648) * place) : -1;
  }
  const places = icicle(wide);
  const cells = cellsIn(places, ALL, 2 / 1400, 16 / 1400);
  assert.ok(cells.length > 50 && cells.length <= MOST_CELLS);
  for (const { x, w } of cells) assert.ok(x >= 0 && x + w <= 1 + 2 / 1400 + 1e-9);
});

test("only what is in the view is visited", () => {
  const places = icicle(parents);
  const cells = cellsIn(places, { left: 0, right: 1, top: 3, bottom: 4 }, 1e-6, 1e-6);
  assert.deepEqual(cells.map(({ place }) => place).sort(), [2, 3, 4, 5]);
});

test("a point is in the text that is drawn there", () => {
  const places = icicle(parents);
  assert.equal(placeAt(places, 0.001, 0.5), 0);
  assert.equal(placeAt(places, 0.001, 4.2), 5);
  assert.equal(placeAt(places, 0.999, 1.5), 6);
  assert.equal(placeAt(places, 0.999, 2.5), undefined);
  assert.equal(placeAt(places, 1.2, 0), undefined);
});

test("a long run takes fewer rows in a deep tree, and none in a shallow one", () => {
  const chain = (count) => icicle(Int32Array.from({ length: count }, (_, place) => place - 1)).low[0];
  assert.equal(chain(100), 100);
  assert.ok(chain(5000) < 200);
});

test("the path to what is seen ends at the branch that fills the view", () => {
  const places = icicle(parents);
  const camera = new IcicleCamera();
  camera.resize({ width: 300, height: 200 }, places.low[0]);
  camera.fit();
  assert.deepEqual(covering(places, camera.view()), [0]);
  camera.branch(places.x[2], places.w[2], places.y[2], places.low[2]);
  assert.deepEqual(covering(places, camera.view()), [0, 1, 2]);
});

test("zooming keeps what is under the pointer, and the view within the tree", () => {
  const camera = new IcicleCamera();
  camera.resize({ width: 400, height: 600 }, 120);
  camera.fit();
  assert.ok(camera.toY(120) <= 600 && camera.isWhole);
  const before = camera.under(120, 60).x;
  camera.zoom(3, 120, 60);
  near(camera.under(120, 60).x, before);
  camera.pan(1e6, 1e6);
  assert.equal(camera.left, 0);
  assert.equal(camera.top, 0);
});

test("the newest texts are the strongest", () => {
  assert.equal(levelOf(0, 100), 0);
  assert.equal(levelOf(99, 100), 5);
});

test("of an overview a place is as high as its run, and leaves room for what is not told", () => {
  const known = { sizes: Uint32Array.from([101, 60, 30]), rows: Int32Array.from([1, 60, 10]) };
  const { x, w, h } = icicle(Int32Array.from([-1, 0, 0]), [], known);
  near(w[1], 0.6);
  near(w[2], 0.3);
  near(x[2], 0.6);
  assert.equal(Math.round(h[1]), 27);
});
