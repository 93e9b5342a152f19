// @ts-check
// What checks said about a document, as a badge that changes at once when anybody checks it. Pressed,
// it has the document checked.

import { json, Refused } from "../live/api.js";
import { call, asBody } from "../live/calls.js";
import { LiveSocket } from "../live/socket.js";
import { t } from "../t.js";
import { summaryOf } from "../tree/check-badges.js";

/** @typedef {import("../tree/check-badges.js").Result & {version: string}} Result */

/** The results of the newest version among those known and new ones.
 * @param {Result[]} known @param {Result[]} results @returns {Result[]} */
export function newestOf(known, results) {
  const now = new Set(results.map((result) => result.check));
  const all = [...known.filter((result) => !now.has(result.check)), ...results];
  const version = Math.max(0, ...all.map((result) => Number(result.version)));
  return all.filter((result) => Number(result.version) === version);
}

export class CheckBadge {
  /** @type {Result[]} */
  known = [];
  seq = 0;

  /** @param {HTMLElement} badge @param {{id: string, tree: string}} of the document, and a tree in which a line about it can be run
   * @param {(words: string) => void} say @param {AbortSignal} signal @param {(event: {kind: string, payload: any}) => void} [also] gets
   * each event of the grove */
  constructor(badge, { id, tree }, say, signal, also) {
    this.also = also;
    this.badge = badge;
    this.id = id;
    this.tree = tree;
    this.say = say;
    this.signal = signal;
    badge.addEventListener("click", () => void this.check(), { signal });
    void this.start();
  }

  async start() {
    try {
      const { results, seq } = await json(`/api/checks/results?document=${this.id}`, { signal: this.signal });
      this.known = results;
      this.seq = seq;
    } catch (error) {
      if (!(error instanceof Refused) && !this.signal.aborted) throw error;
      return;
    }
    this.draw();
    const socket = new LiveSocket(`/ws/groves/${this.badge.dataset.grove}`, () => this.seq);
    socket.addEventListener("frame", (event) => this.heard(/** @type {CustomEvent} */ (event).detail));
    this.signal.addEventListener("abort", () => socket.stop());
    socket.start();
  }

  /** @param {{type: string, event?: {seq: number, kind: string, payload: any}}} frame */
  heard({ type, event }) {
    if (type !== "event" || !event) return;
    this.seq = event.seq;
    this.also?.(event);
    if (event.kind !== "check.changed" || event.payload?.item !== `doc:${this.id}`) return;
    this.known = newestOf(this.known, event.payload.results);
    this.draw();
  }

  draw() {
    const { badge } = this;
    badge.hidden = !this.known.length && !this.tree;
    const { outcome, short, words } = summaryOf(this.known);
    badge.textContent = this.known.length ? short : t("Check");
    badge.title = words;
    if (this.known.length) badge.dataset.outcome = outcome;
    badge.setAttribute("aria-label", this.known.length ? t("Checks: {words}", { words }) : t("Check this document"));
  }

  /** Has the checks that apply run. */
  async check() {
    if (!this.tree) return;
    try {
      const { reply } = await json(`/api/trees/${this.tree}/commands`, { method: "POST", body: asBody(call("check", { ref: `doc:${this.id}` })) });
      this.say(reply);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(`${error.message} ${error.hint}`.trim());
    }
  }
}
