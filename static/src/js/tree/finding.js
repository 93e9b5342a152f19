// @ts-check
// Find and replace in a dialogue: in the texts of the whole path, those too that are not drawn. A
// text in which something is replaced gets a new version.

import { call } from "../live/calls.js";
import { leavesIn } from "../buffer/leaves.js";
import { json, Refused } from "../live/api.js";
import { giveBack } from "../focus.js";
import { t } from "../t.js";
import { make } from "./forms.js";
import { matchesIn } from "./matches.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {{id: string, slot: string, text: string}} Text */
/** @typedef {{text: Text, from: number, to: number, number: number}} Found number: of it in its text */

const SOON_MS = 150;
const MOST_STEPS = 200; // stretches above that are loaded to show a match

/** Opens the panel over the path; in a buffer that of its editor. @param {TreePage} page */
export function openFind(page) {
  const buffer = /** @type {import("../elements/loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer"));
  if (buffer?.editor) return buffer.editor.find();
  const open = /** @type {HTMLInputElement | null} */ (document.querySelector(".path-find [name=find]"));
  if (open) open.select();
  else new PathFind(page).open();
}

class PathFind {
  /** @type {Text[]} */
  texts = [];
  /** @type {Found[]} */
  found = [];
  at = -1;
  done = ""; // what Replace all did, said until something else is asked
  reads = 0; // only the answer to the last question counts
  /** @type {Promise<void> | undefined} */
  reading;
  /** @type {Promise<unknown>} what was pressed is done in order: a text is replaced in what came before */
  last = Promise.resolve();
  stop = new AbortController();

  /** @param {TreePage} page */
  constructor(page) {
    this.page = page;
    this.input = /** @type {HTMLInputElement} */ (make("input", { type: "search", name: "find", placeholder: t("Find"), ariaLabel: t("Find in the text") }));
    this.put = /** @type {HTMLInputElement} */ (make("input", { type: "text", name: "replace", placeholder: t("Replace with"), ariaLabel: t("Replace with") }));
    this.exact = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
    this.status = make("span", { className: "soft find-said", role: "status" });
    const label = make("label", { className: "choice" }, this.exact, t("Match case"));
    const rows = [make("div", {}, this.input, this.status, this.button("↑", () => this.step(-1), t("Previous match")), this.button("↓", () => this.step(1), t("Next match")), label, this.button("×", () => this.close(), t("Close")))];
    if (page.can.write) rows.push(make("div", {}, this.put, this.button(t("Replace"), () => this.inTurn(() => this.replaceOne())), this.button(t("Replace all"), () => this.inTurn(() => this.replaceAll()))));
    this.dom = make("div", { className: "find-panel path-find", role: "search", ariaLabel: t("Find and replace") }, ...rows);
  }

  /** @param {string} words @param {() => unknown} run @param {string} [name] */
  button(words, run, name = words) {
    const button = make("button", { type: "button", className: "button small", textContent: words, ariaLabel: name, title: name });
    button.addEventListener("click", () => void this.attempt(run));
    return button;
  }

  /** What a server refuses is told as everything else that is refused. @param {() => unknown} run */
  async attempt(run) {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** Runs what changes texts when all before it has ended. @param {() => Promise<unknown>} run */
  inTurn(run) {
    const now = this.last.then(() => (this.stop.signal.aborted ? undefined : run()));
    this.last = now.catch(() => undefined);
    return now;
  }

  open() {
    const { signal } = this.stop;
    const soon = () => {
      clearTimeout(this.timer);
      this.done = "";
      this.timer = setTimeout(() => this.attempt(() => this.seek()), SOON_MS);
    };
    this.input.addEventListener("input", soon);
    this.exact.addEventListener("change", soon);
    for (const name of ["moved", "changed"]) this.page.addEventListener(name, () => this.attempt(() => this.read()), { signal });
    document.addEventListener("drawn", () => this.light(), { signal });
    this.dom.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.isComposing || !["Escape", "Enter"].includes(event.key)) return;
      if (event.key === "Enter" && ![this.input, this.put].includes(/** @type {any} */ (event.target))) return;
      event.preventDefault();
      if (event.key === "Escape") this.close();
      else void this.attempt(() => (event.target === this.put ? this.inTurn(() => this.replaceOne()) : this.step(event.shiftKey ? -1 : 1)));
    });
    this.opener = document.activeElement;
    document.querySelector("loom-path")?.before(this.dom);
    const selected = getSelection()?.toString() ?? "";
    if (selected && selected.length < 200 && !selected.includes("\n")) this.input.value = selected;
    this.input.select();
    void this.attempt(() => this.read());
  }

  close() {
    clearTimeout(this.timer);
    this.stop.abort();
    CSS.highlights?.clear();
    const held = this.dom.contains(document.activeElement);
    this.dom.remove();
    if (held) giveBack(this.opener);
  }

  /** Asks for the texts of the path, and looks again. @returns {Promise<void>} */
  read() {
    this.reading = this.fetch(++this.reads);
    return this.reading;
  }

  /** @param {number} read @returns {Promise<void>} */
  async fetch(read) {
    const { position } = this.page;
    const nodes = leavesIn(await json(`${this.page.web}/buffer?node=${position}`));
    if (read < this.reads) return this.reading; // asked again meanwhile
    if (position !== this.page.position || this.stop.signal.aborted) return;
    this.texts = nodes;
    this.seek();
  }

  seek() {
    const search = { query: this.input.value, isExact: this.exact.checked, isReplacing: false };
    const here = this.found[this.at];
    this.found = this.texts.flatMap((text) => matchesIn(text.text, search).map((match, number) => ({ ...match, text, number })));
    this.at = here ? this.found.findIndex((match) => match.text.slot === here.text.slot && match.from === here.from) : -1;
    this.tell();
  }

  tell() {
    const n = this.found.length;
    if (!this.input.value) this.status.textContent = "";
    else if (this.done) this.status.textContent = this.done;
    else if (!n) this.status.textContent = t("Not found");
    else this.status.textContent = this.at < 0 ? t("{n} found", { n }) : t("{at} of {n}", { at: this.at + 1, n });
    this.light();
  }

  /** Goes to the next match, or to the one before; first to one in what is seen. @param {number} by */
  async step(by) {
    const n = this.found.length;
    this.done = "";
    if (!n) return;
    const isFirst = this.at < 0;
    const seen = isFirst ? this.found.findIndex(({ text }) => (this.drawn(text)?.getBoundingClientRect().bottom ?? 0) > 0) : 0;
    this.at = isFirst ? Math.max(0, seen) : (this.at + by + n) % n;
    await this.show();
    this.tell();
  }

  /** Shows the current match: what is above is loaded as far as is needed. */
  async show() {
    const { text } = this.found[this.at];
    const path = /** @type {import("../elements/loom-path.js").LoomPath} */ (document.querySelector("loom-path"));
    for (let steps = 0; !this.drawn(text) && steps < MOST_STEPS; steps += 1) if (!(await path.loadAbove())) break;
    const node = this.drawn(text);
    const [range] = this.light();
    const box = (range ?? node)?.getBoundingClientRect();
    const thread = node?.closest("main");
    if (box && thread) thread.scrollTop += box.top - thread.getBoundingClientRect().top - thread.clientHeight / 2;
  }

  /** @param {Text} text */
  drawn({ id }) {
    return document.querySelector(`loom-path .stretch > [data-id="${CSS.escape(id)}"]`);
  }

  /** Marks what is found in what is drawn; the current match first. @returns {Range[]} */
  light() {
    if (!CSS.highlights) return [];
    const current = this.found[this.at];
    const ranges = new Map(this.texts.map((text) => [text.id, /** @type {Range[]} */ ([])]));
    for (const [id, list] of ranges) list.push(...rangesIn(document.querySelector(`loom-path .stretch > [data-id="${CSS.escape(id)}"] > .text`), this.input.value, this.exact.checked));
    const own = current ? (ranges.get(current.text.id) ?? []) : [];
    const range = own[Math.min(current?.number ?? 0, own.length - 1)];
    CSS.highlights.set("found", new Highlight(...[...ranges.values()].flat()));
    CSS.highlights.set("found-current", new Highlight(...(range ? [range] : [])));
    return range ? [range] : [];
  }

  async replaceOne() {
    const match = this.found[this.at];
    if (!match) return this.step(1);
    const { text, from, to } = match;
    const { value } = this.put;
    await this.save(text, text.text.slice(0, from) + value + text.text.slice(to));
    await this.read();
    const isNext = (/** @type {Found} */ match) => this.order(match.text) > this.order(text) || (match.text.slot === text.slot && match.from >= from + value.length);
    this.at = Math.max(0, this.found.findIndex(isNext));
    if (this.found.length) await this.show();
    this.tell();
  }

  /** Replaces all matches, one version for each text. */
  async replaceAll() {
    const { found } = this; // each save is followed by an event that reads the texts again
    const { value } = this.put; // and another one may be typed meanwhile
    for (const text of new Set(found.map((match) => match.text))) {
      let changed = "";
      let end = 0;
      for (const { from, to } of found.filter((match) => match.text === text)) {
        changed += text.text.slice(end, from) + value;
        end = to;
      }
      await this.save(text, changed + text.text.slice(end));
    }
    this.done = t("{n} replaced", { n: found.length });
    await this.read();
    this.tell();
  }

  /** @param {Text} text */
  order({ slot }) {
    return this.texts.findIndex((text) => text.slot === slot);
  }

  /** @param {Text} text @param {string} changed */
  async save({ id }, changed) {
    await this.page.say(call("edit", { ref: id, content: changed, way: "version" }));
  }
}

/** The ranges of a drawn text that hold the words. @param {Element | null} text @param {string} query @param {boolean} isExact */
function rangesIn(text, query, isExact) {
  if (!text || !query) return [];
  const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  const nodes = /** @type {Text[]} */ (/** @type {unknown} */ ([]));
  const starts = /** @type {number[]} */ ([]);
  let all = "";
  while (walk.nextNode()) {
    nodes.push(/** @type {any} */ (walk.currentNode));
    starts.push(all.length);
    all += /** @type {any} */ (walk.currentNode).data;
  }
  const placed = (/** @type {number} */ at, /** @type {boolean} */ isEnd) => {
    let node = starts.length - 1;
    while (node > 0 && (isEnd ? starts[node] >= at : starts[node] > at)) node -= 1;
    return /** @type {[any, number]} */ ([nodes[node], at - starts[node]]);
  };
  return matchesIn(all, { query, isExact, isReplacing: false }).map(({ from, to }) => {
    const range = document.createRange();
    range.setStart(...placed(from, false));
    range.setEnd(...placed(to, true));
    return range;
  });
}
