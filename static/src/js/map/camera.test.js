import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "./camera.js";

const near = (value, other) => assert.ok(Math.abs(value - other) < 1e-6, `${value} is not ${other}`);

test("zooming keeps what is under the pointer", () => {
  const camera = new Camera();
  camera.pan(13, 17);
  const x = (100 - camera.x) / camera.kx;
  camera.zoom(1.7, 100, 50);
  near((100 - camera.x) / camera.kx, x);
});

test("fitting shows the whole box, and never larger than life", () => {
  const camera = new Camera();
  camera.fit({ x0: -100, x1: 100, y0: 0, y1: 300 }, 300, 500);
  assert.ok(camera.toX(-100) >= 0 && camera.toX(100) <= 300);
  assert.ok(camera.toY(0) >= 0 && camera.toY(300) <= 500);
  camera.fit({ x0: 0, x1: 0, y0: 0, y1: 0 }, 300, 500);
  assert.equal(camera.k, 1);
  near(camera.toX(0), 149.5);
});

test("a point is put where it is wanted", () => {
  const camera = new Camera();
  camera.zoom(0.5, 0, 0);
  camera.put(3, 4, 150, 200);
  near(camera.toX(3), 150);
  near(camera.toY(4), 200);
});

test("a very wide tree is squeezed to fit, and widens again on coming nearer", () => {
  const camera = new Camera();
  camera.fit({ x0: 0, x1: 30_000, y0: 0, y1: 100 }, 300, 500);
  assert.ok(camera.toX(30_000) <= 300 && camera.toY(100) > 250);
  assert.ok(camera.kx < camera.k);
  for (let step = 0; step < 40; step += 1) camera.zoom(1.4, 150, 250);
  assert.equal(camera.kx, camera.k);
});

test("a view is the fitted one until somebody moves it", () => {
  const camera = new Camera();
  assert.ok(!camera.isFitted);
  camera.fit({ x0: 0, x1: 2, y0: 0, y1: 9 }, 300, 500);
  assert.ok(camera.isFitted);
  camera.pan(1, 0);
  assert.ok(!camera.isFitted);
  camera.fit({ x0: 0, x1: 2, y0: 0, y1: 9 }, 200, 500);
  assert.ok(camera.isFitted);
  camera.zoom(1.1, 10, 10);
  assert.ok(!camera.isFitted);
});
