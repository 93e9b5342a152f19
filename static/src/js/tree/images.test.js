import assert from "node:assert/strict";
import test from "node:test";

import { altOf, imagesIn, othersIn, withImages } from "./images.js";

test("names that say something describe an image", () => {
  assert.equal(altOf("red_cat-asleep.png"), "red cat asleep");
  for (const name of ["image.png", "IMG_2031.jpg", "DSC 0042.JPG", "Screenshot 2026-11-22.png", "12.gif"]) {
    assert.equal(altOf(name), "", name);
  }
});

test("only images that the server takes are taken from what is dropped", () => {
  const files = [{ type: "image/png" }, { type: "image/svg+xml" }, { type: "text/plain" }];
  assert.equal(imagesIn(/** @type {any} */ ({ files })).length, 1);
  assert.deepEqual(imagesIn(null), []);
});

test("other files are named, unless what is pasted is also text", () => {
  const files = [{ type: "image/png" }, { type: "image/svg+xml" }, { type: "" }];
  assert.equal(othersIn(/** @type {any} */ ({ files, types: ["Files"] }), "paste").length, 2);
  assert.equal(othersIn(/** @type {any} */ ({ files, types: ["Files", "text/plain"] }), "paste").length, 0);
  assert.equal(othersIn(/** @type {any} */ ({ files, types: ["Files", "text/plain"] }), "drop").length, 2);
  assert.deepEqual(othersIn(null, "drop"), []);
});

test("a text is its words and its images", () => {
  const sha = "ab".repeat(32);
  const image = { src: `/api/images/${sha}`, alt: "a cat" };
  assert.deepEqual(withImages(`Look:![a cat](image:${sha})!`), ["Look:", image, "!"]);
  assert.deepEqual(withImages("![a](image:zz) ![b](http://e.org/a.png)"), ["![a](image:zz) ![b](http://e.org/a.png)"]);
  assert.deepEqual(withImages(""), []);
});
