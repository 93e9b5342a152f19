import assert from "node:assert/strict";
import { test } from "node:test";
import "../testing/dom.js";

const { BufferEditor } = await import("./open.js");

test("a place that was read is found again where edits make the text shorter meanwhile", async () => {
  const writes = [];
  const view = {
    state: { doc: { length: 120 } },
    dispatch() {},
    requestMeasure: ({ write }) => writes.push(write),
    coordsAtPos: (at) => {
      if (at > view.state.doc.length) throw new RangeError(`Invalid position ${at}`);
      return { top: at };
    },
    dom: { closest: () => null },
  };
  const lacks = [];
  BufferEditor.prototype.showAt.call({ view }, 5, 10, (lack) => lacks.push(lack));
  view.state.doc.length = 80;
  for (const write of writes) write();
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(lacks, [65]);
});
