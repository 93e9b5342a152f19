// @ts-check
// Underlines what the text names of the tree's lore, and shows the card of what is pointed at. The
// marks are highlights of the browser: the text itself stays as it is, also while it is edited.

import { json, Newest, Refused } from "../live/api.js";
import { atMostEvery } from "../live/at-most-every.js";
import { make } from "../tree/forms.js";
import { finderOf } from "../tree/lore-keys.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

const NAME = "lore";
const SOON_MS = 250;
const REST_MS = 350; // that a pointer rests on a word
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, td, th, pre, blockquote, .cm-line, .text";
const ABOUT = /^(link|document)/;

export class LoomLore extends HTMLElement {
  loads = new Newest();
  /** @type {{range: Range, card: import("../tree/lore-keys.js").LoreCard}[]} */
  named = [];
  find = finderOf([]);
  /** @type {HTMLElement | undefined} the card that is shown */
  tip;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    const page = pageOf();
    const thread = document.querySelector(".thread");
    if (!thread || !globalThis.CSS?.highlights) return;
    const draw = atMostEvery(SOON_MS, () => this.draw(thread), signal);
    const watch = new MutationObserver(draw);
    watch.observe(thread, { childList: true, subtree: true, characterData: true });
    signal.addEventListener("abort", () => watch.disconnect());
    const load = async () => {
      try {
        const number = this.loads.ask();
        const lore = await json(this.dataset.src ?? "");
        if (this.loads.isPast(number)) return;
        this.find = finderOf(lore.cards);
        draw();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
      }
    };
    page.addEventListener("event", (event) => ABOUT.test(/** @type {CustomEvent} */ (event).detail.kind) && load(), { signal });
    thread.addEventListener("pointermove", (event) => this.rest(/** @type {PointerEvent} */ (event)), { signal });
    thread.addEventListener("pointerleave", () => this.hide(), { signal });
    document.addEventListener("scroll", () => this.hide(), { signal, capture: true });
    document.addEventListener("keydown", () => this.hide(), { signal });
    void load();
  }

  disconnectedCallback() {
    this.stop?.abort();
    globalThis.CSS?.highlights?.delete(NAME);
  }

  /** @param {Element} thread */
  draw(thread) {
    this.named = [];
    for (const root of thread.querySelectorAll("article.node .text, .cm-content, .stretch:not([hidden]) .run")) this.mark(root);
    if (this.named.length) CSS.highlights.set(NAME, new Highlight(...this.named.map((match) => match.range)));
    else CSS.highlights.delete(NAME);
  }

  /** Finds the names in one text, which may be in many pieces of markup. @param {Element} root */
  mark(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    /** @type {{node: Text, at: number}[]} */
    const nodes = [];
    let [text, block] = ["", /** @type {Element | null} */ (null)];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const inside = node.parentElement?.closest(BLOCKS) ?? null;
      if (text && inside !== block) text += "\n\u0000"; // no name goes over the end of a paragraph
      block = inside;
      nodes.push({ node: /** @type {Text} */ (node), at: text.length });
      text += node.nodeValue ?? "";
    }
    let place = 0;
    for (const { from, to, card } of this.find(text)) {
      while (nodes[place + 1] && nodes[place + 1].at <= from) place += 1;
      let last = place;
      while (nodes[last + 1] && nodes[last + 1].at < to) last += 1;
      const range = document.createRange();
      range.setStart(nodes[place].node, from - nodes[place].at);
      range.setEnd(nodes[last].node, to - nodes[last].at);
      this.named.push({ range, card });
    }
  }

  /** @param {PointerEvent} event */
  rest({ clientX: x, clientY: y, target }) {
    clearTimeout(this.timer);
    if (this.tip?.contains(/** @type {Node} */ (target))) return;
    this.timer = setTimeout(() => this.show(this.at(x, y)), REST_MS);
  }

  /** What is named at a place of the window. @param {number} x @param {number} y */
  at(x, y) {
    return this.named.find(({ range }) => [...range.getClientRects()].some((box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom));
  }

  /** @param {{range: Range, card: import("../tree/lore-keys.js").LoreCard} | undefined} named */
  show(named) {
    if (!named) return this.hide();
    const { card, range } = named;
    if (this.tip?.dataset.card === card.id) return;
    this.hide();
    const box = range.getBoundingClientRect();
    const link = make("a", { href: `${this.dataset.page}#card-${card.id}`, textContent: t("Open the card") });
    this.tip = make("aside", { className: "lore-tip" }, make("h3", { textContent: card.title, dir: "auto" }), make("p", { textContent: card.text, dir: "auto" }), link);
    this.tip.dataset.card = card.id;
    this.tip.setAttribute("aria-label", t("Lore"));
    this.tip.addEventListener("pointerleave", () => this.hide());
    this.append(this.tip);
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const top = box.bottom + height + 8 < innerHeight ? box.bottom + 2 : Math.max(4, box.top - height - 2);
    this.tip.style.translate = `${Math.max(8, Math.min(box.left, innerWidth - width - 8))}px ${top}px`;
  }

  hide() {
    clearTimeout(this.timer);
    if (this.tip?.matches(":hover")) return;
    this.tip?.remove();
    this.tip = undefined;
  }
}
