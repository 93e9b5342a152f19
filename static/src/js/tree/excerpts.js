// @ts-check
// The first words of nodes, asked for when they are seen, many in one request, kept for good:
// the text of a node never changes.

import { json, Refused } from "../live/api.js";

const MOST = 100;

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
      const found = await this.fetch(`${this.url}?ids=${ids.join(",")}`);
      for (const id of ids) this.known.set(id, found[id] ?? "");
      for (const [id, author] of Object.entries(found.by ?? {})) this.authors.set(id, author);
      this.dispatchEvent(new Event("excerpts"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }
}
