// @ts-check
// What somebody would be sent, as the server counts it: asked for once, and shown with one number
// wherever it is shown.

import { json, Refused } from "../live/api.js";
import { t } from "../t.js";
import { prunedAbove } from "./pruned-place.js";

/** @typedef {import("./context-view.js").Context} Context */
/** @typedef {import("./page.js").TreePage} TreePage */

const MOST = 12;

export class Contexts {
  /** @param {TreePage} page */
  constructor(page) {
    this.page = page;
    /** @type {Map<string, Promise<Context>>} */
    this.known = new Map();
    /** @type {Set<string>} parts that the next request of a continuation leaves out */
    this.without = new Set();
    page.addEventListener("said", (event) => this.asked(/** @type {CustomEvent} */ (event).detail.said));
    for (const name of ["event", "said", "moved"]) page.addEventListener(name, () => this.forget());
    document.addEventListener("cast", () => this.forget(), { signal: page.ended.signal });
    page.drafts.addEventListener("saved", () => this.forget());
  }

  /** What is sent may be another one from now on. */
  forget() {
    this.known.clear();
  }

  /** Leaves a part out of the next request, or not. @param {string} part */
  toggle(part) {
    if (!this.without.delete(part)) this.without.add(part);
    this.forget();
    document.dispatchEvent(new CustomEvent("contexts"));
  }

  /** What the command is given of it; "" for nothing. */
  leavesOut() {
    return [...this.without].join("; ");
  }

  /** It was for this time. @param {import("../live/calls.js").Said} said */
  asked(said) {
    if (typeof said === "string" || said.command !== "continue" || !said.args.without || !this.without.size) return;
    this.without.clear();
    this.forget();
    document.dispatchEvent(new CustomEvent("contexts"));
  }

  /** @param {string} participant @param {string} node @param {"turn" | "continue"} how @param {{isTyped?: boolean}} [options] isTyped: with
   * what was typed there and not sent, which a buffer always counts @returns {Promise<Context>} */
  of(participant, node, how, { isTyped = false } = {}) {
    // The server would refuse it, at each key that is typed there.
    if (prunedAbove(this.page, node)) return Promise.reject(new Refused({ code: "REJECTED", message: t("The text above was pruned: nothing is sent from here.") }, 409));
    const asked = new URLSearchParams({ participant, node, how });
    if (isTyped || this.page.settings.mode === "buffer") asked.set("draft", "1");
    if (how === "continue" && this.without.size) asked.set("without", this.leavesOut());
    const key = String(asked);
    const known = this.known.get(key);
    if (known) return known;
    const context = /** @type {Promise<Context>} */ (json(`/api/workspaces/${this.page.settings.workspace}/context?${asked}`));
    context.catch(() => this.known.delete(key));
    if (this.known.size >= MOST) this.known.clear();
    this.known.set(key, context);
    return context;
  }
}
