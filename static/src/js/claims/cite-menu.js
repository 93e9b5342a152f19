// @ts-check
// The words that are selected become evidence at once: a bar beside them says what they do to a
// claim, and a small menu offers the open claims, the nearest first, and a new one.

import { json, Refused, told } from "../live/api.js";
import { call } from "../live/calls.js";
import { t } from "../t.js";
import { make } from "../tree/forms.js";

const LEAST = 12; // characters of a quote
const MOST = 1500;
const REST_MS = 300; // after the last change of a selection: when what else can be done stands
const SHOWN = 50; // claims that are offered
const FEW = 7; // claims that need no filter
const EDGE = 8; // px between the menu and the window's edge

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
    this.timer = 0;
    /** @type {Chosen | null} */
    this.chosen = null;
    /** @type {Claim[]} */
    this.claims = [];
    /** @type {Element | null} */
    this.opener = null;
    this.asked = 0;
    /** @type {[Side, string][]} */
    const sides = [["for", t("Supports…")], ["against", t("Speaks against…")], ["undercuts", t("Undercuts…")]];
    this.buttons = sides.map(([side, words]) => {
      const button = /** @type {HTMLButtonElement} */ (make("button", { type: "button", className: "button small", textContent: words }));
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => void this.open(side, button));
      return button;
    });
    const row = make("div", { className: "cite-sides" }, ...this.buttons);
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", t("Use the selected words as evidence"));
    this.menu = make("div", { className: "cite-menu", hidden: true });
    this.bar = make("div", { className: "cite-bar", hidden: true }, row, this.menu);
    this.bar.setAttribute("role", "dialog");
    this.bar.setAttribute("aria-label", t("Evidence"));
    // The selection stays while a button is pressed.
    this.bar.addEventListener("mousedown", (event) => /** @type {Element} */ (event.target).closest("input") || event.preventDefault());
    this.bar.addEventListener("keydown", (event) => this.pressed(event));
    document.body.append(this.bar);
    document.addEventListener("selectionchange", () => this.changed(), { signal });
    document.addEventListener("pointerdown", (event) => this.isOpen && !this.bar.contains(/** @type {Node} */ (event.target)) && this.close(), { signal, capture: true });
    signal.addEventListener("abort", () => {
      clearTimeout(this.timer);
      this.bar.remove();
    });
  }

  /** Whether a side is chosen, or the bar has the focus: what is selected then stays what is meant. */
  get isOpen() {
    const isChosen = this.buttons.some((button) => button.getAttribute("aria-expanded") === "true");
    return !this.bar.hidden && (isChosen || this.bar.contains(document.activeElement));
  }

  /** The selection has changed: the bar follows it when it rests. */
  changed() {
    clearTimeout(this.timer);
    if (this.isOpen) return;
    this.timer = window.setTimeout(() => {
      if (this.isOpen) return;
      this.show(this.place.chosen(false));
    }, REST_MS);
  }

  /** @param {Chosen | null} chosen */
  show(chosen) {
    this.chosen = chosen;
    this.bar.hidden = !chosen;
    this.drop();
    if (chosen) this.put(chosen.box);
  }

  /** Opens the bar by keys: for the selection, or all of what is current. */
  start() {
    clearTimeout(this.timer);
    const chosen = this.place.chosen(true);
    if (!chosen) return false;
    this.opener = document.activeElement;
    this.show(chosen);
    this.buttons[0].focus();
    return true;
  }

  /** Places the bar below what was chosen, or above it where there is no room. @param {DOMRect} box */
  put(box) {
    const { style, offsetWidth, offsetHeight } = this.bar;
    // Below what else can be done with the words.
    const beside = document.querySelector(".words-do:not([hidden])")?.getBoundingClientRect();
    const below = Math.min(Math.max(box.bottom, beside?.bottom ?? 0) + EDGE, innerHeight - EDGE);
    const isAbove = below + offsetHeight > innerHeight - EDGE && box.top - EDGE - offsetHeight >= EDGE;
    const top = isAbove ? box.top - EDGE - offsetHeight : Math.min(below, innerHeight - EDGE - offsetHeight);
    style.insetBlockStart = `${Math.max(EDGE, top)}px`;
    const start = document.documentElement.dir === "rtl" ? innerWidth - box.right : box.left;
    style.insetInlineStart = `${Math.max(EDGE, Math.min(innerWidth - offsetWidth - EDGE, start))}px`;
  }

  /** The menu goes; the bar stays. */
  drop() {
    this.asked += 1;
    this.menu.hidden = true;
    this.menu.replaceChildren();
    for (const button of this.buttons) button.setAttribute("aria-expanded", "false");
  }

  /** All goes, and the focus is where it was. */
  close() {
    const { opener } = this;
    const held = this.bar.contains(document.activeElement);
    this.show(null);
    this.opener = null;
    if (held && opener instanceof HTMLElement) opener.focus({ preventScroll: true });
  }

  /** The open claims for one side, the nearest first. @param {Side} side @param {HTMLButtonElement} button */
  async open(side, button) {
    if (!this.chosen) return;
    this.opener ??= this.bar.contains(document.activeElement) ? null : document.activeElement;
    this.drop();
    const asked = this.asked;
    button.setAttribute("aria-expanded", "true");
    document.querySelector(".words-do")?.setAttribute("hidden", "");
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
    this.menu.hidden = false;
    if (this.chosen) this.put(this.chosen.box);
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
    const form = make("form", { className: "cite-form" }, make("label", {}, t("What is claimed"), statement), make("label", {}, t("How it can be tested (may be left out)"), test), make("div", { className: "row" }, send, back));
    let again = "";
    back.addEventListener("click", () => this.offer("for"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!this.chosen) return;
      const { ref, words } = this.chosen;
      const said = statement.value.trim();
      const values = { statement: said, test: test.value.trim(), cite: ref, words };
      const refused = await this.cite(call("claim", again === said ? { ...values, again: true } : values));
      // What was claimed before is shown; whoever sends it again means it.
      if (refused?.code !== "CONFLICT") return;
      again = said;
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
      this.close();
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
    const said = make("p", { className: "refused", textContent: words });
    said.setAttribute("role", "alert");
    this.menu.querySelector(".refused")?.remove();
    this.menu.append(said);
    this.menu.hidden = false;
    if (this.chosen) this.put(this.chosen.box);
  }

  /** Arrows move, Escape goes back; the page's own keys are not meant. @param {KeyboardEvent} event */
  pressed(event) {
    event.stopPropagation();
    if (event.key === "Escape") {
      event.preventDefault();
      if (this.menu.hidden) return this.close();
      const button = this.buttons.find((side) => side.getAttribute("aria-expanded") === "true");
      this.drop();
      return button?.focus();
    }
    const inRow = this.buttons.includes(/** @type {HTMLButtonElement} */ (event.target));
    const step = { ArrowDown: 1, ArrowUp: -1, ...(inRow ? { ArrowRight: 1, ArrowLeft: -1 } : {}) }[event.key];
    if (!step) return;
    const places = /** @type {HTMLElement[]} */ (inRow && event.key !== "ArrowDown" ? this.buttons : [...this.menu.querySelectorAll("input, button")]);
    if (!places.length) return;
    event.preventDefault();
    const at = places.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    places[(at + step + places.length) % places.length].focus();
  }
}
