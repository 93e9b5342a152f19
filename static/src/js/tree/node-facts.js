// @ts-check
// What is known of nodes besides the shape of the tree: their first words, bookmarks and tags.

import { json, Refused } from "../live/api.js";

// The first words of nodes, asked for when they are seen, many in one request, kept for good:
// the text of a node never changes.

const MOST = 100;
const WORDS = 120; // characters, as the server sends them

export class Excerpts extends EventTarget {
  /** @param {string} url @param {(url: string) => Promise<any>} [fetch] */
  constructor(url, fetch = (address) => json(address)) {
    super();
    this.url = url;
    this.fetch = fetch;
    /** @type {Map<string, string>} */
    this.known = new Map();
    /** @type {Map<string, string>} who wrote most of a text that was edited or split */
    this.authors = new Map();
    /** @type {Set<string>} */
    this.wanted = new Set();
    this.timer = 0;
  }

  /** Knows texts as they are added; who wrote what was edited, and images, the server says.
   * @param {import("../live/socket.js").Events} events */
  follow(events) {
    events.on("node.added", ({ payload: { node } }) => {
      if (node.edited_from || node.form === "parts" || node.text.includes("](")) return;
      this.known.set(node.id, [...node.text.slice(0, 10 * WORDS).trim().replace(/\s+/g, " ")].slice(0, WORDS).join(""));
    });
  }

  /** The first words, or "" and an event `excerpts` when they have come. @param {string} id */
  of(id) {
    const known = this.known.get(id);
    if (known !== undefined) return known;
    this.wanted.add(id);
    if (!this.timer) this.timer = setTimeout(() => this.load(), 120);
    return "";
  }

  async load() {
    // What was asked for last is what is seen now.
    const ids = [...this.wanted].slice(-MOST);
    this.wanted.clear();
    this.timer = 0;
    try {
      const answer = await this.fetch(`${this.url}?ids=${ids.join(",")}`);
      for (const id of ids) this.known.set(id, answer[id] ?? "");
      for (const [id, author] of Object.entries(answer.by ?? {})) this.authors.set(id, author);
      this.dispatchEvent(new Event("excerpts"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }
}

// The bookmarks and tags of the tree: asked for once, kept true by events.

/** @typedef {{kind: string, label: string, item: string}} Mark */

/** Emits `marks` when they have changed. */
export class Marks extends EventTarget {
  /** @param {string} url @param {(url: string) => Promise<any>} [fetch] */
  constructor(url, fetch = (address) => json(address)) {
    super();
    this.url = url;
    this.fetch = fetch;
    /** @type {Map<string, Mark>} by id */
    this.all = new Map();
    this.heard = 0;
    /** whether they have come from the server */
    this.isLoaded = false;
  }

  async load() {
    const before = this.heard;
    try {
      const { marks } = await this.fetch(this.url);
      // What was put on or taken off meanwhile may be in the answer, or not.
      if (this.heard !== before) return void (await this.load());
      this.isLoaded = true;
      this.all = new Map(marks.map((/** @type {string[]} */ [id, kind, label, item]) => [id, { kind, label, item }]));
      this.changed();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** Follows the events of a tree. @param {import("../live/socket.js").Events} events */
  follow(events) {
    events.on("mark.added", ({ payload: { mark } }) => {
      this.tell([mark.item]);
      if (mark.kind === "bookmark" || mark.kind === "tag") this.all.set(mark.id, mark);
      this.changed();
    });
    events.on("mark.removed", ({ payload: { mark } }) => {
      this.tell([mark.item ?? ""]);
      this.all.delete(mark.id);
      this.changed();
    });
    events.on("tag.renamed", ({ payload: { tags, name, items } }) => {
      this.tell(items);
      for (const [id, mark] of this.tagged(tags)) this.all.set(id, { ...mark, label: name });
      this.changed();
    });
    events.on("tag.removed", ({ payload: { tags, items } }) => {
      this.tell(items);
      for (const [id] of this.tagged(tags)) this.all.delete(id);
      this.changed();
    });
  }

  /** Says so where the tags of the tree itself are other ones. @param {string[]} items */
  tell(items) {
    if (items.some((item) => item.startsWith("tree:"))) this.dispatchEvent(new Event("tree-tags"));
  }

  /** Marks of a tag, in any of its spellings. @param {string[]} tags @returns {[string, Mark][]} */
  tagged(tags) {
    return [...this.all].filter(([, mark]) => mark.kind === "tag" && tags.includes(mark.label));
  }

  changed() {
    this.heard += 1;
    this.dispatchEvent(new Event("marks"));
  }

  /** The nodes that bear a bookmark, or a tag. @param {"bookmark" | "tag"} kind @param {string} [label] any, if left out */
  items(kind, label) {
    const items = new Set();
    for (const mark of this.all.values()) {
      if (mark.kind === kind && (label === undefined || mark.label === label)) items.add(mark.item);
    }
    return items;
  }

  /** The tags in use, in order. */
  tags() {
    const labels = [...this.all.values()].filter((mark) => mark.kind === "tag").map((mark) => mark.label);
    return [...new Set(labels)].sort((first, other) => first.localeCompare(other));
  }
}
