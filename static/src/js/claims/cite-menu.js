// @ts-check
// The words that are selected become evidence at once: buttons of the bar beside them say what they
// do to a claim, and a small menu offers the open claims, the nearest first, and a new one.

import { wordsBar } from "../editor/words-bar.js";
import { json, Refused, told } from "../live/api.js";
import { call } from "../live/calls.js";
import { t } from "../t.js";
import { make } from "../tree/forms.js";

const LEAST = 12; // characters of a quote
const MOST = 1500;
const SHOWN = 50; // claims that are offered
const FEW = 7; // claims that need no filter

/** @typedef {"for" | "against" | "undercuts"} Side */
/** What is cited: an id or `doc:ID`, its words or all of it, and where it stands.
 * @typedef {{ref: string, words: string, box: DOMRect}} Chosen */
/** @typedef {{id: string, statement: string, state: string}} Claim */
/** @typedef {{id: string, item: string, side: string, taken_back: boolean, why: string, quote: {words: string} | null}} Cite */
/** `tree`: whose claims are offered; `chosen`: what is selected, or with `isAsked` what is current;
 * `run`: runs a command in the tree, and says that it was done.
 * @typedef {{tree: string, chosen: (isAsked: boolean) => Chosen | null, run: (what: import("../live/calls.js").Call) => Promise<unknown>}} Place */

/** The words as a quote, if there are enough and not too many of them. @param {string} words */
export function quotable(words) {
  const trimmed = words.trim();
  return trimmed.length >= LEAST && trimmed.length <= MOST ? trimmed : "";
}

/** The command that gives what was chosen as evidence. @param {Side} side @param {Chosen} chosen @param {string} claim @param {string} [other] whose evidence is undercut */
export function citing(side, { ref, words }, claim, other = "") {
  const what = ref.startsWith("doc:") ? "cite_document" : "cite";
  return call(`${what}_${side}`, { ref, words, claim, other });
}

/** The claims whose statements have all the words. @param {Claim[]} claims @param {string} typed */
export function matching(claims, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return claims.filter(({ statement }) => words.every((word) => statement.toLowerCase().includes(word)));
}

/** What a claim's state is called. @param {string} state */
function stateOf(state) {
  /** @type {Record<string, string>} */
  const words = { hypothesis: t("hypothesis"), testing: t("being tested"), concluding: t("concluded") };
  return words[state] ?? state;
}

export class CiteMenu {
  /** @param {Place} place @param {AbortSignal} signal */
  constructor(place, signal) {
    this.place = place;
    this.bar = wordsBar();
    /** @type {Chosen | null} */
    this.chosen = null;
    /** @type {Claim[]} */
    this.claims = [];
    this.asked = 0;
    /** @type {[Side, string][]} */
    const sides = [["for", t("Supports…")], ["against", t("Speaks against…")], ["undercuts", t("Undercuts…")]];
    this.buttons = sides.map(([side, words], at) =>
      this.bar.add({ of: this, group: t("Use the selected words as evidence"), order: 10 + at, words, opens: true, offers: (isAsked) => this.offers(isAsked), act: (button) => void this.open(side, button) }, signal),
    );
    this.menu = make("div", { className: "cite-menu" });
    this.menu.setAttribute("role", "dialog");
    this.menu.setAttribute("aria-label", t("Evidence"));
  }

  /** Where what is chosen stands. @param {boolean} isAsked */
  offers(isAsked) {
    this.chosen = this.place.chosen(isAsked);
    return this.chosen?.box ?? null;
  }

  /** Opens the bar by keys: for the selection, or all of what is current. */
  start() {
    return this.bar.start(this.buttons[0]);
  }

  /** The open claims for one side, the nearest first. @param {Side} side @param {HTMLButtonElement} button */
  async open(side, button) {
    if (!this.chosen) return;
    this.menu.replaceChildren();
    this.bar.open(button, this.menu, () => {
      this.asked += 1;
    });
    const { asked } = this;
    try {
      const near = encodeURIComponent(this.chosen.ref);
      const { results } = await json(`/api/claims?tree=${this.place.tree}&near=${near}&limit=${SHOWN}`);
      if (asked !== this.asked) return;
      this.claims = results;
      this.offer(side);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (asked === this.asked) this.refuse(told(error));
    }
  }

  /** @param {Side} side */
  offer(side) {
    // Whoever types at once writes the first claim: no button may take the beginning of it.
    if (side === "for" && !this.claims.length) return this.ask();
    const list = make("ul", { className: "cite-choices" });
    const fill = (/** @type {string} */ typed) => {
      const rows = matching(this.claims, typed).map((claim) => this.row(claim.statement, stateOf(claim.state), () => this.pick(side, claim)));
      list.replaceChildren(...rows);
    };
    fill("");
    const parts = [];
    if (this.claims.length > FEW) {
      const field = /** @type {HTMLInputElement} */ (make("input", { type: "search", placeholder: t("Words of the claim"), maxLength: 200, dir: "auto" }));
      field.setAttribute("aria-label", t("Words of the claim"));
      field.addEventListener("input", () => fill(field.value));
      parts.push(field);
    }
    if (!this.claims.length) parts.push(make("p", { className: "soft", textContent: t("There is no open claim here.") }));
    parts.push(list);
    if (side === "for") {
      const fresh = make("button", { type: "button", className: "cite-new", textContent: t("New claim…") });
      fresh.addEventListener("click", () => this.ask());
      parts.push(fresh);
    }
    this.fill(parts);
  }

  /** @param {Node[]} parts */
  fill(parts) {
    this.menu.replaceChildren(...parts);
    this.bar.put();
    /** @type {HTMLElement | null} */ (this.menu.querySelector("input, button"))?.focus();
  }

  /** A choice. @param {string} words @param {string} soft @param {() => unknown} pick */
  row(words, soft, pick) {
    const button = make("button", { type: "button" }, make("span", { textContent: words, dir: "auto" }), make("span", { className: "soft", textContent: soft }));
    button.addEventListener("click", () => void pick());
    return make("li", {}, button);
  }

  /** A claim was picked: it is cited; an undercut needs the piece that it is about.
   * @param {Side} side @param {Claim} claim */
  async pick(side, claim) {
    if (!this.chosen) return;
    if (side !== "undercuts") return this.cite(citing(side, this.chosen, claim.id));
    const asked = this.asked;
    try {
      const { evidence } = await json(`/api/claims/${claim.id}?tree=${this.place.tree}`);
      if (asked !== this.asked || !this.chosen) return;
      /** @type {Map<string, Cite>} */
      const pieces = new Map();
      for (const cite of evidence) if (cite.side === "for" && !cite.taken_back && cite.item) pieces.set(cite.item, cite);
      pieces.delete(this.chosen.ref);
      if (!pieces.size) return this.refuse(t("Nothing else supports this claim yet."));
      if (pieces.size === 1) return this.cite(citing(side, this.chosen, claim.id, [...pieces.keys()][0]));
      const rows = [...pieces.values()].map((cite) =>
        this.row(cite.quote?.words.slice(0, 200) || cite.why || cite.item, cite.item, () => this.chosen && this.cite(citing(side, this.chosen, claim.id, cite.item))),
      );
      this.fill([make("p", { className: "soft", textContent: t("From which of these does it not follow?") }), make("ul", { className: "cite-choices" }, ...rows)]);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(told(error));
    }
  }

  /** Asks what a new claim says, which is opened with what was chosen. */
  ask() {
    const statement = /** @type {HTMLInputElement} */ (make("input", { name: "statement", required: true, maxLength: 2000, dir: "auto" }));
    const test = /** @type {HTMLInputElement} */ (make("input", { name: "test", maxLength: 2000, dir: "auto" }));
    const send = make("button", { className: "button small primary", textContent: t("Open the claim") });
    const back = make("button", { type: "button", className: "button small", textContent: t("Back") });
    const form = make("form", { className: "cite-form" }, make("label", {}, t("What is claimed"), statement), make("label", {}, t("How it can be tested (may be left out)"), test), make("div", { className: "row" }, send, ...(this.claims.length ? [back] : [])));
    let again = "";
    back.addEventListener("click", () => this.offer("for"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!this.chosen) return;
      const { ref, words } = this.chosen;
      const claim = statement.value.trim();
      const values = { statement: claim, test: test.value.trim(), cite: ref, words };
      const refused = await this.cite(call("claim", again === claim ? { ...values, again: true } : values));
      // What was claimed before is shown; whoever sends it again means it.
      if (refused?.code !== "CONFLICT") return;
      again = claim;
      send.textContent = t("Open it again");
    });
    this.fill([form]);
  }

  /** Gives the evidence; the menu goes when it is given. Returns the refusal, if any.
   * @param {import("../live/calls.js").Call} what @returns {Promise<Refused | undefined>} */
  async cite(what) {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      await this.place.run(what);
      this.bar.close();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.refuse(told(error));
      return error;
    } finally {
      this.isBusy = false;
    }
  }

  /** @param {string} words */
  refuse(words) {
    const refusal = make("p", { className: "refused", textContent: words });
    refusal.setAttribute("role", "alert");
    this.menu.querySelector(".refused")?.remove();
    this.menu.append(refusal);
    this.bar.put();
  }
}
