// @ts-check
// What is said of the text below it: its words, and how it was pasted; and the modes in which
// it is only read.

import { countOf, sumOf } from "../editor/counting.js";
import { starts } from "../editor/document-state.js";
import { t, tn } from "../t.js";
import { make } from "../tree/forms.js";
import { modeNow } from "../tree/modes.js";

/** @typedef {import("../elements/loom-buffer.js").LoomBuffer} LoomBuffer */
/** @typedef {import("../editor/open.js").BufferEditor} BufferEditor */

const SOON_MS = 250;

const PATIENCE_MS = 1000;
/** Some browsers do not say when they have nothing to do. @param {() => void} run */
const whenIdle = (run) => ("requestIdleCallback" in window ? requestIdleCallback(run, { timeout: PATIENCE_MS }) : run());

export class Writing {
  /** @param {LoomBuffer} host @param {BufferEditor} editor @param {AbortSignal} signal */
  constructor(host, editor, signal) {
    this.host = host;
    this.editor = editor;
    this.signal = signal;
    /** @type {Map<string, import("../editor/counting.js").Count>} node → its words: its text never changes */
    this.known = new Map();
    this.words = make("span", { className: "soft book-words" });
    this.pasted = make("p", { className: "book-pasted", role: "status" });
    const bar = host.querySelector(".book-bar");
    bar?.append(this.words);
    bar?.before(this.pasted);
    /** @type {any} */
    this.timer = 0;
    document.addEventListener("mode", () => this.read(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.timer));
    this.read();
    this.soon();
  }

  /** Counts in a while, between two keys. */
  soon() {
    if (!this.timer) this.timer = setTimeout(() => whenIdle(() => this.count()), SOON_MS);
  }

  count() {
    this.timer = 0;
    if (this.signal.aborted) return;
    const { view, book } = this.editor;
    const at = starts(book);
    const slice = (/** @type {number} */ place) => view.state.sliceDoc(at[place], at[place + 1]);
    const counts = book.lengths.map((_, place) => {
      const node = book.nodes[place];
      if (!node?.id || book.dirty.has(node.slot)) return countOf(slice(place));
      const count = this.known.get(node.id) ?? countOf(slice(place));
      this.known.set(node.id, count);
      return count;
    });
    const spot = this.editor.spot();
    // At the end of the text nothing is begun yet: the last node is the one that is marked.
    const place = spot.isTail && !spot.text && spot.place ? spot.place - 1 : spot.place;
    const selected = view.state.selection.ranges.filter((range) => !range.empty).map((range) => countOf(view.state.sliceDoc(range.from, range.to)).words);
    const parts = [tn("{n} word", "{n} words", sumOf(counts)), t("{n} in this node", { n: counts[place].words.toLocaleString() })];
    if (selected.length) parts.push(t("{n} selected", { n: selected.reduce((sum, words) => sum + words, 0).toLocaleString() }));
    this.words.textContent = parts.join(" · ");
  }

  /** Offers the format that was left out. @param {import("../editor/writing.js").Pasted} what */
  tell(what) {
    const { view } = this.editor;
    const plain = view.state.sliceDoc(what.from, what.to);
    const hide = () => this.pasted.replaceChildren();
    const button = make("button", { type: "button", className: "button small", textContent: t("Paste as Markdown") });
    const close = make("button", { type: "button", className: "button small", textContent: t("Keep as plain text") });
    button.addEventListener("click", () => {
      this.editor.formatPasted(what, plain);
      hide();
    });
    close.addEventListener("click", hide);
    this.pasted.replaceChildren(t("Pasted as plain text."), " ", button, " ", close);
  }

  read() {
    this.editor.setReading(modeNow() === "read");
  }
}
