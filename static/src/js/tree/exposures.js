// @ts-check
// Tells the server which candidates a person saw, in which order, and which of them they opened. It
// is logged for that person alone, who may switch it off. What was never on the screen is not told.

import { json, Refused } from "../live/api.js";

const SEEN_MS = 1200;

/** Whether any part of it is on the screen. @param {Element} element */
const isSeen = (element) => {
  const { top, bottom, left, right } = element.getBoundingClientRect();
  return bottom > 0 && right > 0 && top < innerHeight && left < innerWidth && bottom > top;
};

/** @typedef {{point: string, order: string, cards: Element[]}} Shown what stands there, in order */

export class Exposures {
  isOff = false;
  point = "";
  told = "";
  /** @type {Set<string>} */
  seen = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  later;

  /** @param {string} tree @param {"tree" | "grid"} where @param {() => Shown} look */
  constructor(tree, where, look) {
    this.tree = tree;
    this.where = where;
    this.look = look;
  }

  /** What stands there may have changed, or another part of it may be on the screen. */
  changed() {
    clearTimeout(this.later);
    if (!this.isOff) this.later = setTimeout(() => void this.tell(), SEEN_MS);
  }

  async tell() {
    if (document.visibilityState !== "visible") return;
    const { point, order, cards } = this.look();
    if (point !== this.point) [this.point, this.seen, this.told] = [point, new Set(), ""];
    const ids = cards.map((card) => card.getAttribute("data-id") ?? "");
    for (const [at, card] of cards.entries()) if (ids[at] && isSeen(card)) this.seen.add(ids[at]);
    const shown = ids.filter((id) => this.seen.has(id));
    const told = `${order} ${shown.join(" ")}`;
    if (!point || shown.length < 2 || told === this.told) return;
    this.told = told;
    await this.send({ point, shown, where: this.where, order });
  }

  /** @param {string} id */
  async opened(id) {
    if (this.seen.has(id)) await this.send({ point: this.point, opened: id });
  }

  /** @param {Record<string, unknown>} body */
  async send(body) {
    if (this.isOff) return;
    try {
      const { logged } = await json(`/api/trees/${this.tree}/exposures`, { method: "POST", body, keepalive: true });
      this.isOff = !logged && "shown" in body;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.isOff = !error.mayPass; // such as where choices are not part of this installation
    }
  }

  stop() {
    clearTimeout(this.later);
  }
}
