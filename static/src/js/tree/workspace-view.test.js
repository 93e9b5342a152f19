import assert from "node:assert/strict";
import { test } from "node:test";
import "../testing/dom.js";
import { readFileSync } from "node:fs";
import { didText } from "./status-text.js";
import { arrangementRow, augmentRow, sizeRows, stepRow, taskRow } from "./workspace-view.js";

const callsIn = (row) => [...row.querySelectorAll("[data-call]")].map((button) => JSON.parse(button.dataset.call).args);

test("each section has its share of what is sent", () => {
  const rows = sizeRows({ steps: 0, budget: "", tokens: 2000, sections: { WINDOWS: 500 } });
  assert.deepEqual(rows.map((row) => row.textContent).slice(0, 2), ["Windows500 tokens", "Augments0 tokens"]);
  assert.equal(rows[0].style.getPropertyValue("--share"), "25%");
  assert.equal(sizeRows({ steps: 0, budget: "", tokens: 0, sections: {} })[0].style.getPropertyValue("--share"), "0%");
});

test("a task is ticked and removed by whoever may act, unless it is over", () => {
  const task = { ref: "todo:2", state: "unchecked", text: "Mend the gate", notes: ["by Monday"] };
  const own = taskRow(task, true);
  assert.deepEqual(callsIn(own), [{ to: "toggle", tasks: ["todo:2"] }, { to: "remove", tasks: ["todo:2"] }]);
  assert.equal(own.querySelector(".note-of").textContent, "by Monday");
  assert.equal(own.querySelector("input").checked, false);
  const others = taskRow(task, false);
  assert.equal(others.querySelector("input").disabled, true);
  assert.equal(others.querySelector("button"), null);
  assert.equal(taskRow({ ...task, state: "archived" }, true).querySelector("button"), null);
  assert.equal(taskRow({ ...task, state: "checked" }, true).querySelector("input").checked, true);
});

test("an augment says what it needs, and what is needed by others is not unloaded", () => {
  const augment = { name: "voice", loaded: true, chosen: true, pinned: false, requires: ["tone"], missing: ["rhyme"], required_by: [] };
  const row = augmentRow(augment, true);
  assert.equal(row.querySelector(".soft").textContent, "loaded · requires tone · missing: rhyme");
  assert.deepEqual([...row.querySelectorAll("button")].map((button) => button.textContent), ["Unload", "Pin"]);
  const needed = augmentRow({ ...augment, chosen: false, required_by: ["poem"] }, true);
  assert.deepEqual([...needed.querySelectorAll("button")].map((button) => button.textContent), ["Pin"]);
  assert.equal(augmentRow(augment, false).querySelector("button"), null);
  assert.deepEqual(callsIn(augmentRow({ ...augment, pinned: true, chosen: false, loaded: false }, true)), [{ to: "load", patterns: ["voice"] }, { to: "unpin", patterns: ["voice"] }]);
});

test("an action is its first line, and a refused one says how it ended", () => {
  const step = { seq: 9, line: "respond", canonical: "→ respond\nThe gate.", outcome: "ok", loop_status: "ok", message: "", open: true };
  assert.equal(stepRow(step).querySelector(".line").textContent, "Wrote a text");
  assert.match(stepRow(step).querySelector(".line").title, /→ respond$/);
  const pinned = { ...step, canonical: "→ open a7x2 keep", message: "✓ n3 · keep" };
  assert.equal(stepRow(pinned).querySelector(".line").textContent, "Opened a window");
  assert.equal(stepRow({ ...step, canonical: '→ annotate a7x2 "Too \\"soon\\"?"' }).querySelector(".line").textContent, "Added a note: “Too \"soon\"?”");
  assert.equal(stepRow({ ...step, open: false }).querySelector(".line").textContent, "(not visible to you)");
  const bad = stepRow({ ...step, outcome: "NOT_FOUND", message: "There is no such node.", loop_status: "repeating" });
  assert.equal(bad.querySelector(".refused").textContent, "not done: There is no such node.");
  assert.equal(bad.querySelector(".refused").title, "NOT_FOUND");
  assert.ok(bad.querySelector(".loop"));
});

test("every command has words of a person", () => {
  const reference = readFileSync(new URL("../../../../docs/commands.md", import.meta.url), "utf8");
  const verbs = new Set([...reference.matchAll(/^### `→ ([a-z]+)/gmu)].map(([, verb]) => verb));
  assert.ok(verbs.size > 50);
  for (const verb of verbs) assert.match(didText(`→ ${verb} a7x2`), /^\p{Lu}/u, verb);
});

test("an arrangement is opened, renamed and deleted by buttons that name it", () => {
  const acts = [];
  const row = arrangementRow({ id: "a1", name: "Proofs", body: { lines: ["open n1", "open n2"] } }, (action) => acts.push(action));
  assert.match(row.textContent, /^Proofs 2 windows/);
  for (const button of row.querySelectorAll("button")) button.click();
  assert.deepEqual(acts, ["open", "rename", "remove"]);
  assert.equal(row.querySelector("button").getAttribute("aria-label"), "Open the arrangement Proofs");
});

test("an action is set as prose where words say it, and as a line where only the line does", () => {
  const step = { seq: 1, line: "", outcome: "ok", loop_status: "ok", message: "", open: true };
  assert.equal(stepRow({ ...step, canonical: "→ prune a7x2" }).querySelector(".said").textContent, "Pruned a text");
  const row = stepRow({ ...step, canonical: "→ fly a7x2" });
  assert.equal(row.querySelector(".said"), null);
  assert.equal(row.querySelector(".line").textContent, "→ fly a7x2");
});
