// @ts-check
// The path being read: follows the tab's position, and redraws what events have touched.
// It scrolls only to what its reader asked for (tree/in-view.js).

import { part, Refused } from "../live/api.js";
import { t } from "../t.js";
import { spokenText } from "../tree/called.js";
import { speak } from "../tree/feedback.js";
import { drawFolds } from "../tree/folds.js";
import { make } from "../tree/forms.js";
import { placeAt } from "../tree/page-drafts.js";
import { pageOf } from "../tree/page.js";
import { InView } from "../tree/in-view.js";
import { drawUnsent } from "../tree/unsent.js";
import { becomeVersion, countSiblings, isReworded, makeOwn, morph, morphOne, parsed } from "../tree/morph.js";

const keyOf = (/** @type {Element} */ child) => child.getAttribute("data-id") ?? "";

const LEAST_BELOW = 0.4; // of the room, for candidates when they come

/** The mark of an edit that waits, which opens it. */
function editMark() {
  const mark = make("button", { type: "button", className: "pill edit-waits", textContent: t("unsaved edit") });
  mark.setAttribute("data-act", "edit");
  return mark;
}

export class LoomPath extends HTMLElement {
  /** the position that is drawn, and the one that will be shown when it is */
  drawn = "";
  showing = "";
  /** how often something that hangs here was told of: what was asked for before is older */
  news = 0;
  /** the same of the nodes of its path */
  touches = 0;
  /** how often each drawn node has changed @type {WeakMap<Element, number>} */
  touched = new WeakMap();
  /** @type {WeakMap<object, number>} where the page was scrolled to when a line was said */
  places = new WeakMap();

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.busy = false;
    this.again = false;
    /** @type {"path" | "weave"} what is fetched next */
    this.wanted = "weave";
    this.page.addEventListener("moved", (event) => this.moved(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("drawn", (event) => this.received(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("redraw", () => this.refresh(), { signal });
    this.page.addEventListener("redraw-weave", () => this.refresh("weave"), { signal });
    this.page.addEventListener("folded", () => this.mark(), { signal });
    this.addEventListener("click", (event) => this.above(event), { signal });
    this.page.addEventListener("saying", (event) => this.places.set(/** @type {CustomEvent} */ (event).detail, this.closest("main")?.scrollTop ?? 0), { signal });
    this.page.addEventListener("said", (event) => this.expect(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("text", () => this.show(), { signal });
    this.page.addEventListener("state", (event) => /** @type {CustomEvent} */ (event).detail.state === "live" && this.catchUp(), { signal });
    for (const name of ["waiting", "answered"]) this.page.outbox.addEventListener(name, () => this.markUnsent(), { signal });
    for (const name of ["draft", "saved"]) this.page.drafts.addEventListener(name, () => this.markEdits(), { signal });
    this.view = new InView(/** @type {HTMLElement} */ (this.closest("main")), this, () => this.book()?.editor);
    this.mark();
    this.open();
  }

  disconnectedCallback() {
    this.view?.stop();
    this.stop?.abort();
    this.move?.abort();
    clearTimeout(this.timer);
  }

  nodes() {
    return [...this.querySelectorAll(".stretch > [data-id]")];
  }

  /** Where an editor holds the text, only what hangs below it is drawn here. */
  get what() {
    return this.stretch().hidden ? "weave" : "path";
  }

  /** The buffer, once its text is in an editor. */
  book() {
    return /** @type {import("./loom-buffer.js").LoomBuffer | null} */ (this.querySelector("loom-buffer[data-on]"));
  }

  stretch() {
    return /** @type {HTMLElement} */ (this.querySelector(".stretch"));
  }

  /** Draws the path to the new position: only what differs from the old one is asked for.
   * @param {{from: string, isStill: boolean, isKept?: boolean, isBack?: boolean, isSpoken?: boolean, isHeld?: boolean}} how isHeld: by undo or redo, which shows what it changed; isStill: what is
   * read stays where it is; isKept: the history has an entry of the move; isBack: to what is still
   * drawn; isSpoken: the text is read out */
  async moved({ from, isStill, isKept = true, isBack = false, isSpoken = false, isHeld = false }) {
    this.isHeld = isHeld;
    this.showing = isStill ? "" : (this.page?.position ?? "");
    // What was told of this text meanwhile was not drawn.
    if (isBack) return this.refresh();
    this.move?.abort();
    const move = (this.move = new AbortController());
    const thread = this.closest("main");
    thread?.setAttribute("aria-busy", "true");
    try {
      const shared = this.shared();
      const url = (/** @type {string} */ after) => `${this.page?.web}/${this.what}?node=${this.page?.position}${after ? `&after=${after}` : ""}`;
      let markup;
      const { news, touches } = this;
      try {
        markup = await part(url(shared), move.signal);
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 409) throw error;
        markup = await part(url(""), move.signal);
        this.stretch().replaceChildren();
      }
      this.draw(markup, shared);
      if (news !== this.news || touches !== this.touches) this.refresh();
      this.drawn = this.page?.position ?? "";
      this.show();
      if (isSpoken) this.speakText();
      this.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: { from } }));
    } catch (error) {
      if (!(error instanceof Refused)) return;
      this.page?.emit("refused", error);
      if (this.move === move) this.goBack(isKept, isStill);
    } finally {
      if (this.move === move) thread?.removeAttribute("aria-busy");
    }
  }

  /** Goes back to the text that is drawn, as the one moved to did not come: else what is written would
   * hang below a text that nobody sees. An editor follows the position by itself, and what it
   * sends hangs below the text that it shows. @param {boolean} isKept whether the history has an entry of the move
   * @param {boolean} isLed whether the page moved by itself */
  goBack(isKept, isLed) {
    const { page, drawn } = this;
    if (page && drawn && drawn !== page.position && !page.isPast && !this.stretch().hidden) page.goBack(drawn, { replace: isKept, isLed });
  }

  /** Draws the position that could not be read without a connection. */
  catchUp() {
    if (this.page && this.drawn !== this.page.position && !this.closest("main")?.hasAttribute("aria-busy")) void this.moved({ from: this.drawn, isStill: true });
  }

  /** Has a screen reader say whose text this is, and how it begins: the focus stays where it is.
   * An editor may show it later than what hangs below it is drawn. */
  speakText() {
    const { page } = this;
    if (!page) return;
    const at = page.position;
    const book = this.book();
    if (book && book.shown !== at) {
      const signal = this.move?.signal;
      return page.addEventListener("text", () => this.speakText(), { once: true, signal });
    }
    const text = book ? book.leaves?.known.get(at)?.text : this.nodes().at(-1)?.querySelector(":scope > .text")?.textContent;
    speak(spokenText(page, at, text ?? ""));
  }

  /** The last drawn node that the old and the new path share; "" where none is known. */
  shared() {
    const store = this.page?.store;
    if (!store || !this.page) return "";
    const path = new Set(store.pathTo(this.page.position).map((slot) => store.selected(slot)));
    if (!path.has(this.page.position)) return "";
    let shared = "";
    for (const node of this.nodes()) {
      if (!path.has(keyOf(node))) break;
      shared = keyOf(node);
    }
    return shared;
  }

  /** @param {string} markup @param {string} after draw below this node; "": all */
  draw(markup, after) {
    const fresh = parsed(markup);
    this.view?.still(() => this.drawPath(fresh, after));
    this.showExpected();
  }

  /** @param {DocumentFragment} fresh @param {string} after */
  drawPath(fresh, after) {
    const nodes = [...fresh.querySelectorAll(".stretch > [data-id]")];
    const stretch = this.stretch();
    if (stretch.hidden) return this.putWeave(fresh);
    const drawn = this.nodes();
    this.keepForms(drawn, nodes);
    // What was read above the fresh stretch stays, as long as it joins on.
    const joint = after ? drawn.findIndex((node) => keyOf(node) === after) + 1 : drawn.findIndex((node) => nodes.length && keyOf(node) === keyOf(nodes[0]));
    const kept = drawn.slice(0, Math.max(0, joint));
    const above = (kept.length ? stretch : fresh).querySelector(":scope > .above, .stretch > .above");
    morph(stretch, kept.length ? nodes : above ? [above, ...nodes] : nodes, { kept: kept.length && above ? [above, ...kept] : kept });
    this.putWeave(fresh);
    this.mark();
  }

  /** Forms stay open where other versions of the same texts are drawn.
   * @param {Element[]} drawn @param {Element[]} nodes that are drawn next */
  keepForms(drawn, nodes) {
    const store = this.page?.store;
    const slotOf = (/** @type {Element} */ node) => store?.slotOf(keyOf(node)) ?? null;
    const versions = new Map(nodes.map((node) => [slotOf(node), node]));
    const isNext = new Set(nodes.map(keyOf));
    for (const old of drawn) {
      const version = slotOf(old) === null || isNext.has(keyOf(old)) ? undefined : versions.get(slotOf(old));
      if (version) becomeVersion(old, version);
    }
  }

  /** @param {DocumentFragment} fresh */
  drawWeave(fresh) {
    this.view?.still(() => this.putWeave(fresh));
    this.showExpected();
  }

  /** @param {DocumentFragment} fresh */
  putWeave(fresh) {
    const weave = fresh.querySelector("[data-weave]");
    const drawn = /** @type {import("./loom-weave.js").LoomWeave | null} */ (this.querySelector("loom-weave"));
    if (weave) drawn?.draw(weave);
  }

  /** Draws what could not be sent from here. An editor shows it as what is written. */
  markUnsent() {
    const { page } = this;
    if (!page || this.stretch().hidden) return;
    this.view?.still(() => drawUnsent(this.stretch(), page.outbox.waiting ? page.outbox.left() : [], page.position));
  }

  /** Marks the texts with an edit that was typed and not saved; the mark opens it. A buffer shows
   * such edits in its text. */
  markEdits() {
    const { page } = this;
    if (!page?.can.write || this.stretch().hidden) return;
    const waiting = page.drafts.slots("edit");
    for (const node of this.nodes()) {
      const mark = node.querySelector(":scope > footer > .edit-waits");
      const waits = waiting.has(placeAt(page, "edit", keyOf(node)).slot);
      if (waits === Boolean(mark)) continue;
      this.view?.still(() => (mark ? mark.remove() : node.querySelector(":scope > footer")?.prepend(editMark())));
    }
  }

  mark() {
    this.markUnsent();
    this.markEdits();
    const nodes = this.nodes();
    nodes.forEach((node, at) => node.classList.toggle("last", at === nodes.length - 1));
    if (this.page) drawFolds(nodes, this.page.folds);
  }

  /** Shows the place that the page opens at, as soon as it can be measured, and with the
   * typefaces that the browser may still be loading then. */
  open() {
    this.drawn = this.showing = this.page?.position ?? "";
    this.show();
    const view = /** @type {InView} */ (this.view);
    const [place, at] = [this.drawn, view.thread.scrollTop];
    document.fonts.ready.then(() => {
      if (this.drawn === place && this.page?.position === place && view.thread.scrollTop === at) {
        this.showing = place;
        this.show();
      }
      view.settle();
    });
  }

  /** Shows the current node and what hangs below it, once all of that is drawn. To a writer whose
   * caret is in the text, its end is enough: a candidate that is taken moves nothing. */
  show() {
    const { page, view } = this;
    if (!page || !view || this.showing !== page.position || this.drawn !== page.position) return;
    const book = this.book();
    if (book && book.shown !== page.position) return;
    this.showing = "";
    const last = this.nodes().at(-1);
    // Undo has shown the place of what it changed, which need not be the end.
    if (this.isHeld && book?.editor && !book.editor.isCaretLast) return;
    if (page.settings.mode === "buffer") this.bringEnd(0, book?.contains(document.activeElement));
    else view.bring({ top: (last ?? this).getBoundingClientRect().top, bottom: view.natural() });
  }

  /** Brings the end of a buffer's text into view. @param {number} least @param {boolean} [isText] */
  bringEnd(least, isText) {
    this.book()?.wheel?.show();
    const { view } = this;
    view?.bring(view.fromCaret(least, isText));
  }

  /** The reader has asked for generations: they are shown when they are drawn, or now where the
   * socket was faster than the answer. @param {{answer: import("../tree/page.js").Answer}} said */
  expect(said) {
    const { generations = [] } = said.answer;
    if (!generations.length) return;
    this.expected = { generations, at: this.places.get(said) ?? 0 };
    this.showExpected();
  }

  /** Shows what the reader has just asked for, with room to grow, unless they went on reading. */
  showExpected() {
    const weave = this.querySelector("loom-weave");
    const { expected, view } = this;
    if (!weave || !view || !expected) return;
    const cards = [...weave.querySelectorAll(".card")];
    if (!cards.some((card) => expected.generations.includes(card.getAttribute("data-generation") ?? card.getAttribute("data-id") ?? ""))) return;
    this.expected = undefined;
    if (view.isLeft(expected.at)) return;
    if (this.page?.settings.mode === "buffer") return this.bringEnd(LEAST_BELOW);
    const { top, bottom } = weave.getBoundingClientRect();
    view.bring({ top, bottom: Math.max(bottom, top + LEAST_BELOW * (view.room.bottom - view.room.top)) });
  }

  /** What the server draws for everybody follows each event (`received`). What a reader asked
   * for is shown to them alone, and fetched. @param {any} event */
  heard(event) {
    const page = this.page;
    if (event.kind === "generation.ended") this.ended(event.payload.generation);
    if (event.kind !== "generation.started" || !page) return;
    const { asked_by: by, point } = event.payload.generation;
    if (by === page.settings.me && this.isHere(point)) this.refresh("weave");
  }

  /** What was expected may be a node before it was ever drawn as coming.
   * @param {{id: string, node: string | null}} generation */
  ended({ id, node }) {
    if (node && this.expected?.generations.includes(id)) this.expected.generations.push(node);
  }

  /** Whether a node is a version of the current one. @param {string} id */
  isHere(id) {
    const store = this.page?.store;
    if (id === this.page?.position) return true;
    return Boolean(store) && store?.slotOf(id) === store?.slotOf(this.page?.position ?? "");
  }

  /** Puts in what changed, as the server drew it for everybody, or fetches what that lacks.
   * @param {{nodes?: Record<string, string>, changed?: string[], beside?: string[], under?: string[], among?: string[], weaves?: Record<string, string>, again?: boolean}} drawn */
  received({ nodes = {}, changed = [], beside = [], under = [], among = [], weaves = {}, again }) {
    if (this.page?.store?.hasOnPath(this.page.position, [...Object.keys(nodes), ...changed, ...beside, ...under, ...among]) !== false) this.touches += 1;
    if (again || Object.keys(weaves).some((point) => this.isHere(point))) this.news += 1;
    if (again || (!this.page?.store && !this.stretch().hidden)) return this.refresh();
    if (!this.stretch().hidden) this.drawChanged(nodes, changed, beside, under, among);
    for (const [point, markup] of Object.entries(weaves)) if (this.isHere(point)) this.drawShared(point, markup);
  }

  /** @param {Record<string, string>} nodes @param {string[]} changed drawn by nobody yet
   * @param {string[]} beside their place among their siblings changed, and nothing else
   * @param {string[]} under all directly below these changed @param {string[]} among only their places did */
  drawChanged(nodes, changed, beside, under, among) {
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const store = /** @type {import("../tree/store.js").TreeStore} */ (page.store);
    let above = "";
    for (const old of this.nodes()) {
      const id = keyOf(old);
      const slot = store.slotOf(id);
      const now = slot === null || this.isHere(id) ? id : store.selected(slot);
      if (nodes[now] !== undefined && this.touch(old)) this.replace(old, nodes[now], above);
      else if (now !== id || changed.includes(now) || store.isBelow(slot, under) || ((beside.includes(now) || store.isBelow(slot, among)) && !countSiblings(old, store, slot ?? -1))) void this.fetchNode(old, now, above);
      else old.classList.toggle("reworded", isReworded(old, above));
      above = now;
    }
    this.mark();
  }

  /** @param {Element} old @param {string} markup @param {string} above the version above it */
  replace(old, markup, above) {
    this.view?.still(() => this.put(old, markup, above));
  }

  /** @param {Element} old @param {string} markup @param {string} above */
  put(old, markup, above) {
    const fresh = parsed(markup).firstElementChild;
    if (!fresh || !this.page) return;
    makeOwn(fresh, this.page, above);
    if (fresh.id === old.id || becomeVersion(old, fresh)) morphOne(old, fresh);
    else old.replaceWith(fresh);
    const out = document.getElementById(fresh.id)?.querySelector("[data-portals-out]");
    if (out) void this.fetchPortals(out, keyOf(fresh));
  }

  /** A drawn node is about to change: what was asked for before is older. @param {Element} node */
  touch(node) {
    const news = (this.touched.get(node) ?? 0) + 1;
    this.touched.set(node, news);
    return news;
  }

  /** @param {Element} old @param {string} id @param {string} above */
  async fetchNode(old, id, above) {
    const news = this.touch(old);
    try {
      const markup = await part(`${this.page?.web}/nodes/${id}/drawn`);
      if (old.isConnected && this.touched.get(old) === news) this.replace(old, markup, above);
      this.mark();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** What leads out of the grove, as far as this reader may see it. @param {Element} out @param {string} id */
  async fetchPortals(out, id) {
    try {
      const fresh = parsed(await part(`${this.page?.web}/nodes/${id}/portals`));
      this.view?.still(() => morph(out, [...fresh.children]));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** @param {string} point @param {string} markup */
  drawShared(point, markup) {
    const fresh = parsed(markup).firstElementChild;
    const weave = /** @type {import("./loom-weave.js").LoomWeave | null} */ (this.querySelector("loom-weave"));
    if (!fresh || point !== this.page?.position || !weave) return this.refresh("weave");
    let isDrawn = false;
    this.view?.still(() => (isDrawn = weave.drawShared(fresh)));
    if (!isDrawn) this.refresh("weave");
    this.showExpected();
  }

  /** Asks for the path, or only what hangs below it, again soon; many events make few requests.
   * @param {"path" | "weave"} [what] */
  refresh(what = "path") {
    if (what === "path") this.wanted = what;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetchAgain(), 80);
  }

  async fetchAgain() {
    if (this.busy) return void (this.again = true);
    this.busy = true;
    const position = this.page?.position;
    const what = this.wanted === "path" ? this.what : "weave";
    this.wanted = "weave";
    const { news, touches } = this;
    try {
      const markup = await part(`${this.page?.web}/${what}?node=${position}`);
      if (position !== this.page?.position) return;
      if (news !== this.news) return this.refresh(what === "weave" ? what : "path");
      if (what === "weave") this.drawWeave(parsed(markup));
      else this.draw(markup, "");
      if (what === "path" && touches !== this.touches) this.refresh();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    } finally {
      this.busy = false;
      if (this.again) this.refresh(this.wanted);
      this.again = false;
    }
  }

  /** Loads the stretch above; what is on the screen stays where it is. @param {MouseEvent} event */
  async above(event) {
    const link = /** @type {Element} */ (event.target).closest("[data-load-above]");
    if (!link) return;
    event.preventDefault();
    try {
      await this.loadAbove();
    } catch (error) {
      if (error instanceof Refused) this.page?.emit("refused", error);
      else throw error;
    }
  }

  /** Loads the stretch above, if there is one; false where the path begins here. */
  async loadAbove() {
    const link = this.querySelector("[data-load-above]");
    if (!link) return false;
    const before = link.getAttribute("data-load-above");
    const markup = await part(`${this.page?.web}/above?node=${this.page?.position}&before=${before}`);
    // The reader may be on another path by now, or have asked twice.
    if (!link.isConnected || link.getAttribute("data-load-above") !== before) return true;
    this.view?.still(() => link.closest(".above")?.replaceWith(parsed(markup)));
    this.mark();
    return true;
  }
}
