// @ts-check
// What somebody would be sent, as the server counts it: asked for once, and shown with one number
// wherever it is shown.

import { json } from "../live/api.js";

/** @typedef {import("./context-view.js").Context} Context */
/** @typedef {import("./page.js").TreePage} TreePage */

const MOST = 12;

export class Contexts {
  /** @param {TreePage} page */
  constructor(page) {
    this.page = page;
    /** @type {Map<string, Promise<Context>>} */
    this.known = new Map();
    for (const name of ["event", "said", "moved"]) page.addEventListener(name, () => this.forget());
    document.addEventListener("cast", () => this.forget(), { signal: page.ended.signal });
    page.drafts.addEventListener("saved", () => this.forget());
  }

  /** What is sent may be another one from now on. */
  forget() {
    this.known.clear();
  }

  /** @param {string} participant @param {string} node @param {"turn" | "continue"} how @returns {Promise<Context>} */
  of(participant, node, how) {
    const asked = new URLSearchParams({ participant, node, how });
    if (this.page.settings.mode === "buffer") asked.set("draft", "1");
    const key = String(asked);
    const known = this.known.get(key);
    if (known) return known;
    const found = /** @type {Promise<Context>} */ (json(`/api/workspaces/${this.page.settings.workspace}/context?${asked}`));
    found.catch(() => this.known.delete(key));
    if (this.known.size >= MOST) this.known.clear();
    this.known.set(key, found);
    return found;
  }
}
