import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { freshPage, settled } from "../testing/dom.js";
import { Refused } from "../live/api.js";
import { TreePage } from "./page.js";

const SKELETON = { seq: 1, ids: ["root"], parents: [null], slots: [0], kinds: ["text"], authors: [0], participants: [{ id: "ada" }], flags: [0], lengths: [0] };
const settings = { tree: "t", title: "T", grove: "g", mode: "dialogue", seq: 1, node: "root", slot: "root", workspace: "w", me: "ada", can: { write: true }, role: "owner", versions: {}, cast: [], keys: [], edits: "ask" };
const turns = async () => {
  for (let turn = 0; turn < 30; turn += 1) await settled();
};

test("the shape of a tree that the server could not give at once is asked for again", async () => {
  let asked = 0;
  freshPage("", (url) => {
    if (!url.includes("/skeleton")) return { marks: [] };
    asked += 1;
    return asked === 1 ? new Response("", { status: 503 }) : SKELETON;
  });
  const page = new TreePage(settings);
  const later = mock.method(globalThis, "setTimeout", () => 0);
  await page.loadStore();
  const [again] = later.mock.calls.map((call) => call.arguments[0]);
  later.mock.restore();
  assert.equal(page.store, null);
  again();
  await turns();
  assert.equal(page.store?.ids[0], "root");
});

test("a refusal is shown once, whoever passes it on", () => {
  freshPage();
  const page = new TreePage(settings);
  const shown = [];
  page.addEventListener("refused", (event) => shown.push(event.detail));
  const error = new Refused({ message: "Not now." }, 409);
  page.refuse(error);
  page.refuse(error);
  assert.deepEqual(shown, [error]);
});
