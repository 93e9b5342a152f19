// @ts-check
// The candidates below the text as a wheel: one of them is chosen, and shown as a ghost behind
// what is written, as far as it goes on from that.

import { t } from "../t.js";
import { isMac } from "../tree/shortcuts.js";
import { speak } from "../tree/feedback.js";
import { make } from "../tree/forms.js";

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {import("../editor/open.js").BufferEditor} BufferEditor */

const MOST = 700; // characters of a card; a longer text is cut there
const keyOf = (/** @type {Element} */ card) => card.getAttribute("data-generation") || card.getAttribute("data-id") || "";

export class Wheel {
  /** @param {import("../elements/loom-buffer.js").LoomBuffer} host @param {TreePage} page @param {BufferEditor} editor @param {AbortSignal} signal */
  constructor(host, page, editor, signal) {
    this.host = host;
    this.page = page;
    this.editor = editor;
    this.weave = /** @type {import("../elements/loom-weave.js").LoomWeave | null} */ (document.querySelector("loom-weave"));
    this.chosen = "";
    /** the text whose candidates are shown as a list */
    this.listed = "";
    this.bar = this.drawBar(host);
    const watch = new MutationObserver(() => this.show());
    if (this.weave) watch.observe(this.weave, { childList: true, subtree: true, characterData: true });
    signal.addEventListener("abort", () => watch.disconnect());
    this.show();
  }

  /** @param {HTMLElement} host */
  drawBar(host) {
    const turn = (/** @type {string} */ label, /** @type {string} */ sign, /** @type {number} */ step) => {
      const element = make("button", { type: "button", className: "button small", textContent: sign });
      element.setAttribute("aria-label", label);
      element.addEventListener("click", () => this.pick(step));
      return element;
    };
    this.keys = make("span", { className: "soft" }, make("kbd", { textContent: "Tab" }), ` ${t("accept")} · `, make("kbd", { textContent: isMac ? "⌃⌥ ↑↓" : "Alt ↑↓" }), ` ${t("choose")}`);
    const bar = make("p", { className: "wheel" }, turn(t("Previous candidate"), "‹", -1), this.drawCount(), turn(t("Next candidate"), "›", 1), this.keys);
    host.append(bar);
    return bar;
  }

  /** Shows the keys only while they work. */
  showKeys() {
    const { isAtGhost } = this.editor;
    if (this.keys) this.keys.hidden = !isAtGhost;
    // The ghost or the list, not both at once: beside a ghost the list is a strip, until somebody chooses in it.
    // Not by the focus: a press on a card must not move it away.
    const weave = this.weave?.querySelector("[data-weave]");
    const isStrip = this.editor.isAtEnd && this.listed !== this.host.shown;
    if (weave && weave.classList.contains("strip") !== isStrip) this.host.still(() => weave.classList.toggle("strip", isStrip));
  }

  drawCount() {
    this.count = make("span", { className: "wheel-count" });
    return this.count;
  }

  /** Whether the candidates are those of the text that is shown: on a move one is drawn before the other. */
  get isHere() {
    const point = this.weave?.querySelector("[data-weave]")?.getAttribute("data-point") ?? "";
    const { store } = this.page;
    const slot = store?.slotOf(point) ?? null;
    return point === this.host.shown || (slot !== null && slot === store?.slotOf(this.host.shown ?? ""));
  }

  cards() {
    if (!this.isHere) return [];
    return [...(this.weave?.querySelectorAll(".card:not(.failed)") ?? [])];
  }

  card() {
    const cards = this.cards();
    return cards.find((card) => keyOf(card) === this.chosen) ?? cards.find((card) => card.classList.contains("on")) ?? cards.find((card) => !card.hasAttribute("data-rest")) ?? cards[0];
  }

  /** The card of a node. @param {string} id */
  cardOf(id) {
    return this.cards().find((card) => card.getAttribute("data-id") === id);
  }

  /** A card's text as far as it is known. @param {Element} card */
  textOf(card) {
    if (card.querySelector("[data-void]")) return "";
    const text = card.querySelector("[data-text], .card-text a")?.textContent ?? "";
    return card.hasAttribute("data-id") && [...text].length > MOST ? [...text].slice(0, MOST).join("") : text;
  }

  /** Shows which candidate is chosen, and its ghost. */
  show() {
    const cards = this.cards();
    const card = this.card();
    if (this.bar.hidden !== (cards.length === 0)) this.host.still(() => (this.bar.hidden = cards.length === 0));
    if (this.count) this.setCount(card ? `${cards.indexOf(card) + 1} / ${cards.length}` : "");
    for (const other of cards) other.classList.toggle("picked", other === card);
    const text = card ? this.textOf(card) : "";
    const tail = this.editor.tail;
    // What was shown stays until the text is drawn of which it is a part by then.
    if (!this.isHere && this.shownAt === this.host.shown + tail) return;
    this.shownAt = this.host.shown + tail;
    const goesOn = text.startsWith(tail) && text.length > tail.length;
    this.editor.haunt(card && goesOn ? { text: text.slice(tail.length), colour: Number(card.getAttribute("data-who")) } : null);
    this.showKeys();
  }

  /** @param {string} words */
  setCount(words) {
    if (this.count && this.count.textContent !== words) this.count.textContent = words;
  }

  /** Chooses the next candidate, or the one before. @param {number} step */
  pick(step) {
    const cards = this.cards();
    const card = this.card();
    if (!card) return;
    this.listed = this.host.shown ?? "";
    const next = cards[(cards.indexOf(card) + step + cards.length) % cards.length];
    this.chosen = keyOf(next);
    this.show();
    speak(t("Candidate {n} of {all}: {text}", { n: cards.indexOf(next) + 1, all: cards.length, text: this.textOf(next).slice(0, 200) }));
  }

  /** Takes the chosen candidate whole; words of it that were taken before are part of it. */
  take() {
    const card = this.card();
    if (!card || !this.weave) return;
    this.weave.take(card);
  }

  /** The candidate of which a text is the beginning, word for word: it can be split instead of
   * written again. @param {string} text */
  partOf(text) {
    const card = this.card();
    const id = card?.getAttribute("data-id");
    if (!card || !id || !this.textOf(card).startsWith(text) || this.textOf(card) === text) return null;
    const { store, cast } = this.page;
    const known = store?.authors[store.places.get(id) ?? -1];
    const alike = [...cast.values()].find((person) => person.colour === Number(card.getAttribute("data-who")));
    return { id, who: known ?? alike?.id ?? "" };
  }
}
