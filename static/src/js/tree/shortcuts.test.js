import assert from "node:assert/strict";
import { test } from "node:test";
import { capsOf, shortcutOf, hintFor } from "./shortcuts.js";

const press = (key, held = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held });

test("a letter is itself, and Ctrl and ⌘ are the same", () => {
  assert.equal(shortcutOf(press("g"), false), "g");
  assert.equal(shortcutOf(press("?", { shiftKey: true }), false), "?");
  assert.equal(shortcutOf(press("k", { ctrlKey: true }), false), "Mod+k");
  assert.equal(shortcutOf(press("K", { metaKey: true }), true), "Mod+k");
  assert.equal(shortcutOf(press("Z", { ctrlKey: true, shiftKey: true }), false), "Mod+Shift+z");
});

test("Alt counts with named keys only, on a Mac with Control", () => {
  assert.equal(shortcutOf(press("ArrowLeft", { altKey: true }), false), "Alt+ArrowLeft");
  assert.equal(shortcutOf(press("ArrowLeft", { altKey: true }), true), "");
  assert.equal(shortcutOf(press("ArrowLeft", { altKey: true, ctrlKey: true }), true), "Alt+ArrowLeft");
  assert.equal(shortcutOf(press("ArrowLeft", { altKey: true, ctrlKey: true }), false), "");
  assert.equal(shortcutOf(press("©", { altKey: true }), true), "");
  assert.equal(shortcutOf(press("@", { altKey: true, ctrlKey: true }), false), "");
});

test("half a combo is none", () => {
  for (const key of ["Shift", "Control", "Alt", "Meta", "Dead"]) assert.equal(shortcutOf(press(key, { shiftKey: true })), "");
});

test("combos are drawn as the keyboard has them", () => {
  assert.deepEqual(capsOf("Mod+k", false), ["Ctrl", "K"]);
  assert.deepEqual(capsOf("Mod+k", true), ["⌘", "K"]);
  assert.deepEqual(capsOf("Alt+ArrowLeft", true), ["⌃⌥", "←"]);
  assert.deepEqual(capsOf("g", false), ["g"]);
  assert.deepEqual(capsOf("", false), []);
});

test("only keys that work where the focus is are named", () => {
  const keys = [["take-1", "1"], ["take-9", "9"], ["stop", "Escape"], ["more", "m"]].map(([id, combo]) => ({ id, combo }));
  const hint = (/** @type {any} */ now) => hintFor([{ keys }], now);
  assert.equal(hint({ may: true, coming: false, typing: false }), "1–9 to accept · m for more like these");
  const point = [{ keys: keys.map((key) => (key.id === "more" ? { ...key, combo: "." } : key)) }];
  assert.equal(hintFor(point, { may: true, coming: false, typing: false }), "1–9 to accept · “.” for more like these");
  assert.equal(hint({ may: true, coming: true, typing: true }), "Esc to stop");
  assert.equal(hint({ may: true, coming: false, typing: true }), "");
  assert.equal(hint({ may: false, coming: true, typing: true }), "");
});
