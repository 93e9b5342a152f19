// @ts-check
// What a model could write next, as a tree that is opened token by token. Each opening is one request
// for one token. The list is the tree for keys and screen readers; the picture above shows the same
// as widths.

import { json, Refused, told } from "../live/api.js";
import { make } from "../tree/forms.js";
import { t, tn } from "../t.js";

/** @typedef {{text: string, probability: number, goes_on: boolean}} NextToken as the API names it */
/** @typedef {{text: string, share: number, path: string, level: number, goesOn: boolean, isOpen: boolean, isAsked: boolean, up: Branch | null, below: Branch[] | null}} Branch */

const LEAST_SHOWN = 0.004; // of the picture's width

/** @param {string} text @param {number} share @param {Branch | null} up @param {boolean} goesOn @returns {Branch} */
export function newBranch(text, share, up, goesOn = true) {
  const path = up ? up.path + text : "";
  return { text, share, path, level: up ? up.level + 1 : 1, goesOn, isOpen: false, isAsked: false, up, below: null };
}

/** A probability as it is read. @param {number} share */
export function percent(share) {
  return share >= 0.001 ? `${(100 * share).toFixed(1)} %` : "< 0.1 %";
}

/** A token with its blanks made visible. @param {string} text */
export function visible(text) {
  return text.replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/^ | $/g, "·").replace(/ {2,}/g, (run) => "·".repeat(run.length));
}

export class LoomMultiverse extends HTMLElement {
  requests = 0;
  /** @type {number | null} dollars; null: a price was not known */
  usd = 0;

  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.root = newBranch("", 1, null);
    this.current = this.root;
    this.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    this.draw();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.request?.abort();
  }

  /** @param {string} name @returns {HTMLElement} */
  box(name) {
    return /** @type {HTMLElement} */ (this.querySelector(`[data-${name}]`));
  }

  /** The branches that are shown, from above. @returns {Branch[]} */
  shown() {
    /** @param {Branch} branch @returns {Branch[]} */
    const under = (branch) => [branch, ...(branch.isOpen ? (branch.below ?? []).flatMap(under) : [])];
    return under(/** @type {Branch} */ (this.root));
  }

  /** @param {Event} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target);
    if (target.closest("[data-stop]")) return this.request?.abort();
    const at = target.closest("[data-at]")?.getAttribute("data-at");
    const chosen = at ? this.shown()[Number(at)] : undefined;
    if (!chosen) return;
    this.go(chosen);
    void this.toggle(chosen);
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return this.request?.abort();
    if (!(/** @type {Element} */ (event.target).closest("[role=treeitem]"))) return;
    const every = this.shown();
    const here = /** @type {Branch} */ (this.current);
    const at = every.indexOf(here);
    const isRtl = getComputedStyle(this).direction === "rtl";
    const key = isRtl && event.key === "ArrowRight" ? "ArrowLeft" : isRtl && event.key === "ArrowLeft" ? "ArrowRight" : event.key;
    if (key === "ArrowDown") this.go(every[at + 1]);
    else if (key === "ArrowUp") this.go(every[at - 1]);
    else if (key === "Home") this.go(every[0]);
    else if (key === "End") this.go(every[every.length - 1]);
    else if (key === "ArrowRight") here.isOpen ? this.go(here.below?.[0]) : void this.open(here);
    else if (key === "ArrowLeft") here.isOpen ? this.close(here) : this.go(here.up);
    else if (key === "Enter" || key === " ") void this.toggle(here);
    else if (key.toLowerCase() === "t") this.take();
    else return;
    event.preventDefault();
  }

  /** @param {Branch | null | undefined} to */
  go(to) {
    if (!to) return;
    this.current = to;
    this.draw();
    /** @type {HTMLElement | null} */ (this.querySelector("[role=treeitem][tabindex='0']"))?.focus();
  }

  /** @param {Branch} branch */
  async toggle(branch) {
    if (branch.isOpen) this.close(branch);
    else await this.open(branch);
  }

  /** @param {Branch} branch */
  close(branch) {
    branch.isOpen = false;
    this.go(branch);
  }

  /** Shows what could come after a branch, and asks for it if nobody has. @param {Branch} branch */
  async open(branch) {
    if (!branch.goesOn) return this.say(t("Nothing comes after this token."));
    if (!branch.below) await this.ask(branch);
    if (!branch.below) return;
    branch.isOpen = true;
    this.go(this.current);
  }

  /** @param {Branch} branch */
  async ask(branch) {
    if (this.request) return;
    this.request = new AbortController();
    branch.isAsked = true;
    this.draw();
    this.say(t("Asking …"));
    try {
      const body = { agent: this.dataset.agent ?? "", begun: branch.path };
      const answer = await json(this.dataset.url ?? "", { method: "POST", body, signal: this.request.signal });
      branch.below = answer.tokens.map((/** @type {NextToken} */ token) => newBranch(token.text, token.probability, branch, token.goes_on));
      this.requests += 1;
      this.usd = answer.usd === null || this.usd === null ? null : this.usd + answer.usd;
      this.say(this.sum());
    } catch (error) {
      if (error instanceof DOMException) this.say(t("Stopped."));
      else if (error instanceof Refused) this.say(told(error), true);
      else throw error;
    } finally {
      this.request = undefined;
      branch.isAsked = false;
      this.draw();
    }
  }

  sum() {
    const count = tn("{n} request", "{n} requests", this.requests);
    return this.usd ? `${count} · $${this.usd.toPrecision(2)}` : count;
  }

  take() {
    const form = this.querySelector("form");
    if (this.current?.path) form?.requestSubmit(/** @type {HTMLElement} */ (this.box("take")));
  }

  /** @param {string} words @param {boolean} [isBad] */
  say(words, isBad = false) {
    const line = this.box("said");
    line.textContent = words;
    line.classList.toggle("refusal", isBad);
  }

  draw() {
    const here = /** @type {Branch} */ (this.current);
    this.box("begun").textContent = here.path;
    /** @type {HTMLInputElement} */ (this.querySelector("input[name=begun]")).value = here.path;
    this.box("take").toggleAttribute("disabled", here.path.trim() === "");
    this.box("stop").hidden = !this.request;
    this.box("picture").replaceChildren(this.block(/** @type {Branch} */ (this.root), this.shown(), 1));
    const hadFocus = this.box("tree").contains(document.activeElement);
    this.box("tree").replaceChildren(...this.shown().map((branch, at) => this.item(branch, at)));
    if (hadFocus) /** @type {HTMLElement | null} */ (this.querySelector("[role=treeitem][tabindex='0']"))?.focus();
  }

  /** A line of the list. @param {Branch} branch @param {number} at */
  item(branch, at) {
    const isRoot = !branch.up;
    const name = isRoot ? t("here") : visible(branch.text);
    const line = make("li", { className: "multiverse-item" });
    const bar = make("span", { className: "multiverse-bar" });
    bar.style.inlineSize = `${100 * branch.share}%`;
    const words = make("span", { className: "multiverse-words" }, make(isRoot ? "em" : "code", {}, name), isRoot ? "" : make("span", { className: "soft" }, percent(branch.share)));
    line.append(bar, words);
    const among = branch.up?.below ?? [branch];
    /** @type {Record<string, string>} */
    const says = { role: "treeitem", tabindex: branch === this.current ? "0" : "-1", "data-at": String(at), "aria-level": String(branch.level), "aria-setsize": String(among.length), "aria-posinset": String(among.indexOf(branch) + 1), "aria-label": isRoot ? name : `${name}, ${percent(branch.share)}` };
    if (branch.goesOn) says["aria-expanded"] = String(branch.isOpen);
    if (branch === this.current) says["aria-current"] = "true";
    if (branch.isAsked) says["aria-busy"] = "true";
    for (const [key, value] of Object.entries(says)) line.setAttribute(key, value);
    line.style.setProperty("--level", String(branch.level - 1));
    return line;
  }

  /** A block of the picture with what is open below it. @param {Branch} branch @param {Branch[]} every @param {number} width */
  block(branch, every, width) {
    const block = make("div", { className: "multiverse-block" });
    block.style.flexGrow = String(branch.share);
    const face = make("span", { className: "multiverse-face", title: branch.up ? `${visible(branch.text)} ${percent(branch.share)}` : "" }, branch.up ? visible(branch.text) : t("here"));
    face.dataset.at = String(every.indexOf(branch));
    face.style.setProperty("--share", String(branch.share));
    face.toggleAttribute("data-here", branch === this.current);
    block.append(face);
    if (!branch.isOpen || !branch.below) return block;
    const below = branch.below.filter(({ share }) => share * width >= LEAST_SHOWN);
    const rest = make("div", { className: "multiverse-rest" });
    rest.style.flexGrow = String(Math.max(0, 1 - below.reduce((sum, { share }) => sum + share, 0)));
    block.append(make("div", { className: "multiverse-row" }, ...below.map((inner) => this.block(inner, every, width * inner.share)), rest));
    return block;
  }
}
