// @ts-check
// The weave: continuations of the position side by side, those still coming among them.

import { call, verbOf } from "../live/calls.js";
import { json, part, Refused } from "../live/api.js";
import { isTyping } from "../tree/typing.js";
import { hintFor } from "../tree/shortcuts.js";
import { keepRest, keysOf, callsOf, madeOf, showRest, stopsRest } from "../tree/asking.js";
import { compare } from "../tree/compare.js";
import { fadeShared } from "../tree/shared-beginning.js";
import { pageOf } from "../tree/page.js";
import { morph, nameReader } from "../tree/morph.js";
import { speak } from "../tree/feedback.js";
import { t } from "../t.js";

const keyOf = (/** @type {Element} */ card) => card.getAttribute("data-generation") || card.getAttribute("data-id") || "";
const isComing = (/** @type {Element} */ card) => card.classList.contains("coming");
const isPlain = (/** @type {MouseEvent} */ event) => !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey;
const isSilent = (/** @type {Element} */ card) => isComing(card) && !card.querySelector("[data-text]")?.textContent;

const DISMISSED = "heddle.dismissed";
const MOST_DISMISSED = 200;

/** Failed candidates that this browser does not show any more, by their generations. */
class Dismissed {
  /** @returns {string[]} */
  all() {
    try {
      return JSON.parse(localStorage.getItem(DISMISSED) ?? "[]");
    } catch {
      return [];
    }
  }

  /** @param {string} id */
  has(id) {
    return this.own.has(id) || this.all().includes(id);
  }

  /** @type {Set<string>} also where the browser keeps nothing */
  own = new Set();

  /** @param {string} id */
  add(id) {
    this.own.add(id);
    try {
      localStorage.setItem(DISMISSED, JSON.stringify([...this.all(), id].slice(-MOST_DISMISSED)));
    } catch {
      // a browser without room: until the page is loaded again
    }
  }
}

export class LoomWeave extends HTMLElement {
  /** @type {Map<string, string>} texts of running generations as far as they came */
  texts = new Map();
  /** @type {import("../live/calls.js").Said[]} what asked last, for "more like these" */
  asked = [];
  taken = "";
  /** whether the pointer is down: what is pressed must not move away before it is let go */
  isPressed = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  looking;
  /** @type {WeakSet<EventTarget>} texts that somebody has scrolled: where another is, need not be measured */
  scrolled = new WeakSet();
  /** @type {Set<string>} running ones that this reader asked for, wherever */
  mine = new Set();
  /** failed ones that were seen, or tried again: in this browser, for as long as they are drawn */
  dismissed = new Dismissed();

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.page.addEventListener("delta", (event) => this.grow(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("store", () => this.light(), { signal });
    this.page.addEventListener("changed", () => this.countBelow(), { signal });
    this.page.addEventListener("asking", (event) => (this.asked = /** @type {CustomEvent} */ (event).detail), { signal });
    this.addEventListener("change", (event) => keepRest(event), { signal });
    this.addEventListener("scroll", ({ target }) => target && this.scrolled.add(target), { signal, capture: true });
    this.page.addEventListener("said", (event) => this.noteAsked(/** @type {CustomEvent} */ (event).detail), { signal });
    this.off = this.page.events.on("generation.ended", (event) => this.ended(event.payload.generation));
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    document.addEventListener("pointerdown", () => (this.isPressed = true), { signal, capture: true });
    for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => setTimeout(() => this.released()), { signal, capture: true });
    for (const name of ["focusin", "focusout"]) document.addEventListener(name, () => queueMicrotask(() => this.hint()), { signal });
    this.page.events.on("generation.started", ({ payload: { generation } }) => generation.asked_by === this.page?.settings.me && this.mine.add(generation.id));
    this.leaveOut(this);
    this.finishDrawing();
  }

  /** @param {Element} drawn */
  leaveOut(drawn) {
    for (const card of drawn.querySelectorAll(".card.failed")) if (this.dismissed.has(keyOf(card))) card.remove();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.off?.();
    clearTimeout(this.looking);
  }

  cards() {
    return [...this.querySelectorAll(".card")];
  }

  coming() {
    return this.cards().filter(isComing);
  }

  /** Draws what the server says hangs below the position. @param {Element} fresh */
  draw(fresh) {
    this.leaveOut(fresh);
    morph(this, [fresh], { mayChange: (old, now) => !(isComing(old) && isComing(now)) || isSilent(old) });
    this.finishDrawing();
  }

  /** Draws what the server drew for everybody; false where this reader's own differs too much,
   * and it has to be fetched. @param {Element} fresh */
  drawShared(fresh) {
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const old = this.querySelector("[data-weave]");
    const others = /** @type {NodeListOf<HTMLElement>} */ (fresh.querySelectorAll(".card[data-id], .alike [data-go]"));
    const hasOwn = (/** @type {string} */ id) => page.store?.selected(page.store.slotOf(id) ?? -1) !== id;
    if (!old || !fresh.querySelector(".card") || this.querySelector(".card.failed") || [...others].some((card) => hasOwn(card.dataset.id ?? card.dataset.go ?? ""))) return false;
    nameReader(fresh, page.settings.me);
    for (const name of ["data-asked", "data-asked-here"]) {
      const value = old.getAttribute(name);
      if (value === null) fresh.removeAttribute(name);
      else fresh.setAttribute(name, value);
    }
    if (!old.hasAttribute("data-asked-here")) fresh.querySelector('[data-act="more"]')?.remove();
    if (!old.hasAttribute("data-asked-here") && !fresh.querySelector(".coming")) fresh.querySelector(".rest")?.remove();
    this.draw(fresh);
    return true;
  }

  finishDrawing() {
    for (const card of this.coming()) {
      const text = this.texts.get(keyOf(card));
      if (text !== undefined) this.write(card, text);
    }
    this.hint();
    showRest(this);
    clearTimeout(this.looking);
    // Places in the queue change with what is asked elsewhere, and a provider may ask to wait.
    if (this.cards().some(isSilent)) this.looking = setTimeout(() => this.page?.emit("redraw-weave"), 4000);
    this.page?.emit("weave", madeOf(this));
    this.light();
    this.offerAll();
    this.sayMore();
    fadeShared(this.cards().filter((card) => !isComing(card)));
  }

  released() {
    this.isPressed = false;
    this.hint();
  }

  /** Says which keys work now. */
  hint() {
    if (this.isPressed) return;
    const hint = this.querySelector(".weave-hint");
    const now = { may: this.page?.can.continue === true, coming: this.coming().length > 0, typing: isTyping(document.activeElement) };
    const words = hintFor(this.page?.settings.keys ?? [], now);
    if (hint && hint.textContent !== words) hint.textContent = words;
  }

  /** Lights the continuation that → leads to. */
  light() {
    const store = this.page?.store;
    const slot = store?.slotOf(this.page?.position ?? "");
    const onward = store && slot !== null && slot !== undefined ? store.onward(slot) : undefined;
    const id = store && onward !== undefined && store.visited.has(/** @type {number} */ (slot)) ? store.selected(onward) : "";
    this.countBelow();
    for (const card of this.cards()) card.classList.toggle("on", Boolean(id) && card.getAttribute("data-id") === id);
  }

  /** Says how much hangs below each card: all of it, as the outline does. */
  countBelow() {
    const store = this.page?.store;
    for (const shown of store ? this.querySelectorAll("[data-below]") : []) {
      const card = shown.closest(".card");
      const slot = store?.slotOf(card?.getAttribute("data-rest") || card?.getAttribute("data-id") || "");
      const words = slot === null || slot === undefined ? "" : t("{n} below", { n: store?.countBelow(slot) ?? 0 });
      if (words && shown.textContent !== words) shown.textContent = words;
    }
  }

  /** A piece of a running generation. @param {{generation: string, chunk: number, text: string, whole?: boolean}} delta */
  grow({ generation, chunk, text, whole }) {
    const so = whole || chunk === 1 ? text : (this.texts.get(generation) ?? "") + text;
    this.texts.set(generation, so);
    const card = this.querySelector(`.coming[data-generation="${CSS.escape(generation)}"]`);
    if (card) this.write(card, so);
  }

  /** @param {Element} card @param {string} text */
  write(card, text) {
    const box = card.querySelector(".card-text");
    // Only who has scrolled to its end follows a text that comes.
    const follows = box && this.scrolled.has(box) && box.scrollTop > 0 && box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    const slot = card.querySelector("[data-text]");
    const state = card.querySelector("[data-state]");
    if (slot) slot.textContent = text;
    if (state) state.textContent = t("writing");
    if (box && follows) box.scrollTop = box.scrollHeight;
  }

  /** @param {{id: string, node: string | null, status: string, error: any}} generation */
  ended(generation) {
    this.mine.delete(generation.id);
    const card = this.querySelector(`.coming[data-generation="${CSS.escape(generation.id)}"]`);
    const text = this.texts.get(generation.id) ?? "";
    this.texts.delete(generation.id);
    const key = card?.getAttribute("data-key") ?? "";
    if (!generation.node) {
      // Its card, if there is one, is drawn again: with what went wrong, or not at all.
      if (card) speak(`${t("Candidate {n} ended without a text.", { n: key })} ${generation.error?.message ?? ""}`);
      // Who asked sees why; the socket sends the others what is left.
      if (card?.getAttribute("data-asked-by") === this.page?.settings.me) this.page?.emit("redraw-weave");
      return;
    }
    const news = generation.status === "done" ? t("Candidate {n} is complete.", { n: key }) : t("Candidate {n} has stopped; its text so far is kept.", { n: key });
    if (card) speak(`${news} ${text.slice(0, 200)}`);
    if (this.taken === generation.id) this.goTo(generation.node, { isStill: true });
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const act = /** @type {Element} */ (event.target).closest("[data-act]")?.getAttribute("data-act");
    if (act === "compare") return this.compare();
    if (act === "stop-all") return this.halt();
    if (act === "more") return this.more();
    if (act === "outline") return void this.page?.emit("outline");
    if (act === "expand") return void this.expand(/** @type {Element} */ (event.target));
    const card = /** @type {Element} */ (event.target).closest(".card");
    if (!card) return;
    if (act === "stop") this.halt([card]);
    else if (isPlain(event) && /** @type {Element} */ (event.target).closest(".card-text [data-go]")) {
      event.preventDefault();
      this.take(card);
    }
    // Its line, where the button has one, is said by the tree as any button's is.
    // Whether that line is answered is not known yet: until the page is loaded again.
    else if (act === "dismiss") this.dismiss(card, { isKept: !(/** @type {Element} */ (event.target).closest("[data-call]")) });
    else if (isComing(card)) this.take(card);
  }

  compare() {
    compare(this.cards().map((card) => card.getAttribute("data-id") ?? "").filter(Boolean));
  }

  /** Shows a candidate whole, or its beginning again. @param {Element} button */
  async expand(button) {
    const card = /** @type {Element} */ (button.closest(".card"));
    const isOpen = card.classList.toggle("open");
    button.setAttribute("aria-expanded", String(isOpen));
    button.textContent = isOpen ? t("Show less") : t("Show all");
    if (!isOpen || !button.hasAttribute("data-cut")) return;
    const link = card.querySelector(".card-text a");
    const text = await part(`${this.page?.web}/nodes/${card.getAttribute("data-id")}/text`);
    button.removeAttribute("data-cut");
    if (link) link.textContent = text;
  }

  /** Opens what is folded as alike: below the candidate in focus, else all of it; closes what is open.
   * Returns whether there is any. */
  unfold() {
    const folds = /** @type {HTMLDetailsElement[]} */ ([...this.querySelectorAll("details.alike")]);
    const own = folds.filter((fold) => fold.closest(".card")?.contains(document.activeElement));
    const some = own.length ? own : folds;
    const isOpen = some.some((fold) => fold.open);
    for (const fold of some) fold.open = !isOpen;
    if (some.length && !isOpen) some[0].querySelector("summary")?.focus();
    return some.length > 0;
  }

  /** A candidate that does not fit its card can be opened. */
  offerAll() {
    for (const card of this.querySelectorAll(".card:not(.coming, .failed)")) {
      const text = card.querySelector(".card-text");
      const button = /** @type {HTMLElement | null} */ (card.querySelector(".expand"));
      if (!text || !button || card.classList.contains("open")) continue;
      button.hidden = !button.hasAttribute("data-cut") && text.scrollHeight <= text.clientHeight + 2;
    }
  }

  /** @param {Element} card @param {{isKept?: boolean}} [how] for this browser, or for this page alone */
  dismiss(card, { isKept = true } = {}) {
    if (isKept) this.dismissed.add(keyOf(card));
    else this.dismissed.own.add(keyOf(card));
    card.remove();
  }

  /** Takes a candidate: goes there, or as soon as it has ended. @param {Element} card */
  take(card) {
    if (card.classList.contains("failed")) return;
    if (stopsRest()) this.halt(this.coming().filter((other) => other !== card && other.getAttribute("data-asked-by") === this.page?.settings.me));
    if (!isComing(card)) return this.goTo(card.getAttribute("data-id") ?? "", { to: this.restOf(card) });
    for (const other of this.cards()) other.classList.remove("taken");
    this.taken = keyOf(card);
    card.classList.add("taken");
    /** @type {HTMLElement} */ (card).dataset.taken = t("will be accepted when it ends");
    this.page?.emit("awaited");
  }

  /** Takes back that a candidate is accepted when it ends; false where none is. */
  untake() {
    const card = this.coming().find((other) => keyOf(other) === this.taken);
    if (!card) return false;
    this.taken = "";
    card.classList.remove("taken");
    card.removeAttribute("data-taken");
    speak(t("It will not be accepted when it ends."));
    return true;
  }

  /** Goes to a candidate that was taken. @param {string} id @param {{isStill?: boolean, to?: string}} [how] to: where its text goes on */
  goTo(id, { isStill = false, to = "" } = {}) {
    this.page?.emit("taken", { from: this.page.position, card: id, to: to || id, isLate: isStill });
    this.page?.go(to || id, { isStill });
  }

  /** The end of the text that was split into this card and what is above it; "" where it was not.
   * @param {Element} card */
  restOf(card) {
    const rest = card.getAttribute("data-rest") ?? "";
    const { store } = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const slot = rest ? store?.slotOf(rest) : null;
    return store && slot !== null && slot !== undefined ? store.selected(store.leafBelow(slot)) : rest;
  }

  /** @param {number} key */
  takeKey(key) {
    const card = this.cards().find((card) => keysOf(card).includes(String(key)));
    if (card) this.take(card);
    return Boolean(card);
  }

  /** Stops what is coming; its text is kept. True where something was. @param {Element[]} [cards] */
  halt(cards = this.coming()) {
    return this.stopAll(cards.map(keyOf));
  }

  /** Stops what is coming here, and what this reader asked for elsewhere. True where something was. */
  haltAll() {
    return this.stopAll([...new Set([...this.coming().map(keyOf), ...this.mine])]);
  }

  /** @param {string[]} generations */
  stopAll(generations) {
    for (const id of generations) {
      json(`/api/generations/${id}/stop`, { method: "POST", body: {} }).catch((error) => {
        if (error instanceof Refused) this.page?.emit("refused", error);
      });
    }
    return generations.length > 0;
  }

  /** Remembers how was asked, for "more like these" where the reader then is.
   * @param {{said: import("../live/calls.js").Said, answer: import("../live/outbox.js").Answer}} said */
  noteAsked({ said, answer }) {
    if (verbOf(answer.canonical) !== "continue" || this.asked.includes(said)) return;
    const { ref, ...args } = typeof said === "string" ? { ref: "" } : said.args;
    this.asked = [typeof said === "string" ? said.replace(/ from \S+/, "") : call("continue", args)];
  }

  /** Says what "more like these" asks for, where that is not what the composer says. */
  sayMore() {
    const button = this.querySelector('[data-act="more"]');
    const { asked, isHere } = madeOf(this);
    const all = Object.values(asked);
    if (!button || !isHere || !all.length) return;
    const n = all.reduce((sum, request) => sum + request.n, 0);
    const lengths = new Set(all.map((request) => request.tokens));
    const [length] = lengths;
    const words = lengths.size === 1 && length !== null ? t("More like these: {n} × {tokens} tokens", { n, tokens: length }) : t("More like these: {n}", { n });
    if (button.textContent !== words) button.textContent = words;
  }

  /** Asks for more of the same kind: as this place was asked, else as was asked last. */
  more() {
    const calls = madeOf(this).isHere || !this.asked.length ? callsOf(this) : this.asked;
    for (const command of calls) this.page?.say(command).catch(() => {});
  }
}
