// @ts-check
// Shades the text by how surprising each token was to the model that wrote it, in the dialogue and
// in the editor, and shows the rivals of the token that is clicked. The shades are highlights of the
// browser: the text itself stays as it is, also while it is edited. /nodes/{id}/tokens says the same
// to who can't see or point.

import { json, part, Refused } from "../live/api.js";
import { atMostEvery } from "../live/at-most-every.js";
import { make } from "../tree/forms.js";
import { parsed } from "../tree/morph.js";
import { pageOf } from "../tree/page.js";
import { placesIn } from "../tree/token-places.js";
import { t } from "../t.js";
import { toast } from "./loom-toast.js";

const SOON_MS = 120;
const AT_ONCE = 30; // nodes that are asked about at once
const STEPS = [1, 2, 3, 4]; // of surprise that are shaded; what has step 0 was to be expected
const NAME = "surprise-";
const BUTTON = "[data-shade]";

/** @typedef {[string, number]} Token its text and its step */
/** @typedef {{id: string, at: number, range: Range}} Placed a token on the screen */

export class LoomSurprise extends HTMLElement {
  isOn = false;
  /** @type {Map<string, Token[]>} of each node that was asked about; none for one without probabilities */
  known = new Map();
  /** @type {Set<string>} */
  asked = new Set();
  /** @type {Placed[]} */
  placed = [];
  /** @type {HTMLElement | undefined} the rivals that are shown */
  tip;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    const thread = /** @type {HTMLElement | null} */ (document.querySelector(".thread"));
    if (!thread || !globalThis.CSS?.highlights) return;
    this.thread = thread;
    this.soon = atMostEvery(SOON_MS, () => this.draw(), signal);
    const watch = new MutationObserver(() => this.isOn && this.soon?.());
    watch.observe(thread, { childList: true, subtree: true, characterData: true });
    signal.addEventListener("abort", () => watch.disconnect());
    document.addEventListener("click", (event) => this.pressed(event), { signal });
    thread.addEventListener("scroll", () => this.isOn && this.soon?.(), { signal, passive: true });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.hide(), { signal });
    this.say();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.clear();
  }

  /** Whether shading is on, on the buttons that are there. */
  say() {
    for (const button of document.querySelectorAll(BUTTON)) {
      button.removeAttribute("hidden");
      button.setAttribute("aria-pressed", String(this.isOn));
    }
  }

  /** @param {MouseEvent} event */
  pressed(event) {
    const target = /** @type {Element} */ (event.target);
    if (target.closest(BUTTON)) return this.turn(!this.isOn);
    if (this.tip?.contains(target)) return;
    this.hide();
    if (!this.isOn || !this.thread?.contains(target) || target.closest("a, button, input, textarea, summary, form")) return;
    const token = this.at(event.clientX, event.clientY);
    if (token) void this.show(token);
  }

  /** @param {boolean} isOn */
  turn(isOn) {
    this.isOn = isOn;
    this.say();
    if (isOn) this.draw();
    else this.clear();
  }

  clear() {
    this.placed = [];
    delete this.dataset.shaded;
    this.hide();
    for (const step of STEPS) globalThis.CSS?.highlights?.delete(NAME + step);
  }

  draw() {
    if (!this.isOn) return;
    this.placed = [];
    const shades = STEPS.map(() => new Highlight());
    const lacking = new Set();
    for (const { id, place } of this.texts()) {
      const tokens = this.known.get(id);
      if (!tokens) lacking.add(id);
      else if (tokens.length) this.shade(id, tokens, place, shades);
    }
    STEPS.forEach((step, at) => CSS.highlights.set(NAME + step, shades[at]));
    this.dataset.shaded = String(shades.reduce((sum, shade) => sum + shade.size, 0));
    const ids = [...lacking].filter((id) => !this.asked.has(id)).slice(0, AT_ONCE);
    if (ids.length) void this.ask(ids);
  }

  /** The texts that are on the screen: of which node, and what places its tokens there.
   * @returns {{id: string, place: (tokens: string[]) => (Range | null)[]}[]} */
  texts() {
    const stretches = [];
    for (const article of this.thread?.querySelectorAll("article.node[data-id]") ?? []) {
      const text = article.querySelector(".text");
      if (text && isSeen(text)) stretches.push({ id: article.getAttribute("data-id") ?? "", place: (/** @type {string[]} */ tokens) => rangesIn(text, tokens) });
    }
    const editor = /** @type {import("./loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer"))?.editor;
    for (const stretch of editor?.seen() ?? []) {
      stretches.push({ id: stretch.id, place: (/** @type {string[]} */ tokens) => (tokens.join("") === stretch.text ? editor?.rangesOf(stretch.from, tokens) ?? [] : []) });
    }
    return stretches;
  }

  /** @param {string} id @param {Token[]} tokens @param {(tokens: string[]) => (Range | null)[]} place @param {Highlight[]} shades */
  shade(id, tokens, place, shades) {
    for (const [at, range] of place(tokens.map(([text]) => text)).entries()) {
      if (!range) continue;
      this.placed.push({ id, at, range });
      const step = tokens[at][1];
      if (step) shades[step - 1].add(range);
    }
  }

  /** @param {string[]} ids */
  async ask(ids) {
    for (const id of ids) this.asked.add(id);
    try {
      const { nodes } = await json(`${this.page?.web}/surprise?ids=${ids.join(",")}`, { signal: this.stop?.signal });
      for (const id of ids) this.known.set(id, nodes[id] ?? []);
      if (this.isOn && !ids.some((id) => nodes[id]?.length) && !this.placed.length) toast().show(t("No probabilities came with these texts. Participants lists which models report them, once they were tested."));
      this.soon?.();
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof Refused)) throw error;
      for (const id of ids) this.asked.delete(id);
    }
  }

  /** The token at a place of the window. @param {number} x @param {number} y */
  at(x, y) {
    const caret = document.caretRangeFromPoint?.(x, y);
    const near = caret ? this.placed.filter(({ range }) => range.intersectsNode(caret.startContainer)) : this.placed;
    return near.find(({ range }) => [...range.getClientRects()].some((box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom));
  }

  /** @param {Placed} token */
  async show({ id, at, range }) {
    try {
      const markup = await part(`${this.page?.web}/nodes/${id}/tokens?at=${at}`, this.stop?.signal);
      this.hide();
      this.tip = make("aside", { className: "token-tip" }, parsed(markup));
      this.tip.setAttribute("aria-label", t("Rivals of a token"));
      this.append(this.tip);
      const box = range.getBoundingClientRect();
      const { offsetWidth: width, offsetHeight: height } = this.tip;
      const top = box.bottom + height + 8 < innerHeight ? box.bottom + 4 : Math.max(4, box.top - height - 4);
      this.tip.style.translate = `${Math.max(8, Math.min(box.left, innerWidth - width - 8))}px ${top}px`;
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof Refused)) throw error;
      toast().show(error.message, { bad: true });
    }
  }

  hide() {
    this.tip?.remove();
    this.tip = undefined;
  }
}

/** Whether any part of it is on the screen, or nearly. @param {Element} element */
function isSeen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > -innerHeight && top < 2 * innerHeight;
}

/** The ranges of tokens in a drawn text, null for one that is not drawn. @param {Element} root @param {string[]} tokens @returns {(Range | null)[]} */
export function rangesIn(root, tokens) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  /** @type {{node: Text, from: number}[]} */
  const nodes = [];
  let drawn = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    nodes.push({ node: /** @type {Text} */ (node), from: drawn.length });
    drawn += node.nodeValue ?? "";
  }
  let place = 0;
  return placesIn(tokens, drawn).map(([from, to]) => {
    if (from === to) return null;
    while (nodes[place + 1] && nodes[place + 1].from <= from) place += 1;
    let last = place;
    while (nodes[last + 1] && nodes[last + 1].from < to) last += 1;
    const range = document.createRange();
    range.setStart(nodes[place].node, from - nodes[place].from);
    range.setEnd(nodes[last].node, to - nodes[last].from);
    return range;
  });
}
