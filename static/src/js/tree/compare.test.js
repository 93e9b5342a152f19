import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = /** @type {any} */ ({ addEventListener() {} });
const { besides, changes } = await import("./compare.js");
const { TreeStore } = await import("./store.js");

// root → a (with the newer wording A) and b; b → c
const store = () =>
  new TreeStore({
    seq: 1,
    ids: ["root", "a", "b", "A", "c"],
    parents: [null, 0, 0, 0, 2],
    slots: [0, 1, 2, 1, 4],
    kinds: ["text", "text", "text", "text", "text"],
    authors: [0, 0, 0, 0, 0],
    participants: [{ id: "me" }],
    flags: [0, 0, 0, 0, 0],
    lengths: [0, 1, 1, 1, 1],
  });

test("a node comes first, then its versions, then its siblings", () => {
  assert.deepEqual(besides(store(), "a"), ["a", "A", "b"]);
  assert.deepEqual(besides(store(), "b"), ["b", "A"]);
});

test("a pruned version and a pruned sibling are left out", () => {
  const tree = store();
  tree.flag({ node: "a", flag: "version_pruned", value: true });
  assert.deepEqual(besides(tree, "A"), ["A", "b"]);
  tree.flag({ node: "b", flag: "pruned", value: true });
  assert.deepEqual(besides(tree, "A"), ["A"]);
});

test("a node without siblings is compared with what is below it", () => {
  assert.deepEqual(besides(store(), "root"), ["A", "b"]);
  assert.deepEqual(besides(store(), "c"), ["c"]);
});

const shown = (before, after) => changes(before, after).map(({ text, changed }) => (changed ? `[${text}]` : text)).join("");

test("words that are not in the other text are marked", () => {
  assert.equal(shown("the gate was new", "the old gate was painted"), "the [old ]gate was [painted]");
});

test("the same text has no mark, another has nothing else", () => {
  assert.equal(shown("one two", "one two"), "one two");
  assert.equal(shown("", "one two"), "[one two]");
  assert.deepEqual(changes("one", ""), []);
});

test("no character is lost", () => {
  const after = "  a\n\nb  c ";
  assert.equal(changes("x b y", after).map((piece) => piece.text).join(""), after);
});

test("very long texts are not compared word by word", () => {
  const long = "word ".repeat(5000);
  assert.deepEqual(changes(long, `${long}more`).map((piece) => piece.changed), [true]);
});

test("an image is one word", () => {
  const image = `![a red cat](image:${"ab".repeat(32)})`;
  assert.deepEqual(changes("Look: here!", `Look:${image} here!`), [
    { text: "Look:", changed: false }, { text: `${image} `, changed: true }, { text: "here!", changed: false },
  ]);
  const pieces = changes(`One ${image} two.`, `One ${image} three.`);
  assert.deepEqual(pieces, [{ text: `One ${image} `, changed: false }, { text: "three.", changed: true }]);
  assert.deepEqual(changes("! ![ a!", "! ![ b!").map((change) => change.text).join(""), "! ![ b!");
});
