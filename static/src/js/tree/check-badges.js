// @ts-check
// What checks said about the texts on the path, as badges below them; changed at once when a check
// is run by anybody.

import { json, Refused } from "../live/api.js";
import { make } from "./forms.js";
import { t } from "../t.js";

/** @typedef {{check: string, name: string, outcome: string, said: string}} Result */

const REST_MS = 150; // until what is drawn is asked for
const MOST = 200; // nodes in one request
const MARKS = /** @type {Record<string, string>} */ ({ passed: "✓", failed: "✗", unsure: "?", asked: "…" });

/** What a badge says of results: its mark and numbers, its words, and the worst outcome.
 * @param {Result[]} results @returns {{outcome: string, short: string, words: string}} */
export function summaryOf(results) {
  const of = (/** @type {string} */ outcome) => results.filter((result) => result.outcome === outcome);
  const outcome = ["failed", "unsure", "asked", "passed"].find((kind) => of(kind).length) ?? "passed";
  const short = ["passed", "failed", "unsure", "asked"].filter((kind) => of(kind).length).map((kind) => `${MARKS[kind]} ${of(kind).length}`).join(" ");
  const words = results.map((result) => `${MARKS[result.outcome] ?? ""} ${result.name} ${result.said}`.trim()).join("\n");
  return { outcome, short, words };
}

export class CheckBadges {
  /** @param {import("./page.js").TreePage} page @param {AbortSignal} signal */
  constructor(page, signal) {
    this.page = page;
    this.signal = signal;
    /** @type {Map<string, Result[]>} by node; empty if nothing was said of it */
    this.known = new Map();
    this.timer = 0;
    const seen = new MutationObserver(() => this.draw());
    const path = document.querySelector("loom-path");
    if (path) seen.observe(path, { childList: true, subtree: true });
    const offs = [
      page.events.on("check.changed", ({ payload }) => this.changed(payload)),
      // Nothing was said of it yet: it need not be asked for.
      page.events.on("node.added", ({ payload: { node } }) => void (this.known.has(node.id) || this.known.set(node.id, []))),
    ];
    signal.addEventListener("abort", () => {
      clearTimeout(this.timer);
      seen.disconnect();
      for (const off of offs) off();
    });
    this.draw();
  }

  /** Draws what is known, and asks for the rest soon. */
  draw() {
    const unknown = this.drawn().filter(({ id }) => !this.known.has(id));
    for (const { id, article } of this.drawn()) this.show(article, this.known.get(id) ?? []);
    if (unknown.length && !this.timer) this.timer = window.setTimeout(() => void this.ask(), REST_MS);
  }

  /** The texts on the path. */
  drawn() {
    return [...document.querySelectorAll("loom-path article[data-id]")].map((article) => ({ article, id: article.getAttribute("data-id") ?? "" }));
  }

  async ask() {
    this.timer = 0;
    const ids = [...new Set(this.drawn().map(({ id }) => id))].filter((id) => id && !this.known.has(id)).slice(-MOST);
    if (!ids.length) return;
    const tree = this.page.web.slice("/trees/".length);
    try {
      const { results } = await json(`/api/checks/results?tree=${tree}&items=${ids.join(",")}`, { signal: this.signal });
      for (const id of ids) if (!this.known.has(id)) this.known.set(id, results.filter((/** @type {{item: string}} */ result) => result.item === id));
    } catch (error) {
      if (!(error instanceof Refused) && !this.signal.aborted) throw error;
      return;
    }
    this.draw();
  }

  /** @param {{item: string, results: Result[]}} changed */
  changed({ item, results }) {
    if (!item || item.startsWith("doc:")) return;
    const now = new Set(results.map((result) => result.check));
    this.known.set(item, [...(this.known.get(item) ?? []).filter((result) => !now.has(result.check)), ...results]);
    this.draw();
  }

  /** @param {Element} article @param {Result[]} results */
  show(article, results) {
    const old = article.querySelector(":scope > footer > .check-badge");
    if (!results.length) return old?.remove();
    const { outcome, short, words } = summaryOf(results);
    if (old?.textContent === short && /** @type {HTMLElement} */ (old).title === words) return;
    const badge = /** @type {HTMLElement} */ (old ?? make("button", { type: "button", className: "pill check-badge" }));
    badge.dataset.own = "";
    badge.dataset.act = "check";
    badge.dataset.outcome = outcome;
    badge.textContent = short;
    badge.title = words;
    badge.setAttribute("aria-label", t("Checks: {words}", { words }));
    if (!old) article.querySelector(":scope > footer")?.append(badge);
  }
}
