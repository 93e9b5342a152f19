// @ts-check
// The composer: text that becomes a node, a question to models, or a → line. What is typed is
// a draft of its place until it was sent.

import { call } from "../live/calls.js";
import { json, Newest, Refused, told } from "../live/api.js";
import { nameOf } from "../live/draft-storage.js";
import { Asking, bare, continueCalls, costOf, inWords, isCommand, madeOf } from "../tree/asking.js";
import { takeImages, typeInto } from "../tree/images.js";
import { asLabelled } from "../tree/forms.js";
import { askWhich, placeAt } from "../tree/page-drafts.js";
import { pageOf } from "../tree/page.js";

const PATIENCE_MS = 10_000;

export class LoomComposer extends HTMLElement {
  /** @type {import("../tree/asking.js").Estimate | undefined} */
  estimate;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  weighing;
  weighs = new Newest();

  connectedCallback() {
    this.page = pageOf();
    this.form = /** @type {HTMLFormElement} */ (this.querySelector("form"));
    this.text = /** @type {HTMLTextAreaElement} */ (this.querySelector("textarea"));
    this.stop = new AbortController();
    const { signal } = this.stop;
    const put = (/** @type {string} */ text) => this.text && typeInto(this.text, text);
    takeImages(this.text, this.page?.api ?? "", put, (words, bad) => this.answer(words, bad), signal);
    this.text.addEventListener("input", () => this.typed(), { signal });
    this.text.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.form.addEventListener("submit", (event) => this.submitted(event), { signal });
    this.form.addEventListener("change", () => this.changed(), { signal });
    this.querySelector("[data-offer]")?.addEventListener("click", () => this.accept(), { signal });
    this.page.addEventListener("moved", () => this.moved(), { signal });
    document.addEventListener("cast", () => this.asks?.show(this.asks.read()), { signal });
    document.addEventListener("cast", () => this.weigh(), { signal });
    this.place = placeAt(this.page, "buffer");
    this.page.drafts.addEventListener("draft", (event) => this.isAt(event) && this.loadDraft(), { signal });
    askWhich(this.page.drafts, this.form, (place) => nameOf(place) === this.name, signal);
    this.asks = new Asking(this.form, this.page.settings.tree);
    this.page.addEventListener("weave", (event) => this.woven(/** @type {CustomEvent} */ (event).detail), { signal });
    this.off = this.page.events.on("generation.ended", () => this.weigh());
    const weave = document.querySelector("loom-weave");
    if (weave) this.woven(madeOf(weave));
    this.loadDraft();
    this.weigh();
    const isNew = this.page.settings.mode === "dialogue" && document.querySelector("loom-weave .empty");
    if (isNew && document.activeElement === document.body) this.text.focus({ preventScroll: true });
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.off?.();
    clearTimeout(this.weighing);
  }

  /** Which draft is in the field. */
  get name() {
    return this.place ? nameOf(this.place) : "";
  }

  /** @param {Event} event */
  isAt(event) {
    return nameOf(/** @type {CustomEvent} */ (event).detail) === this.name;
  }

  loadDraft() {
    if (this.text && this.page && this.place) this.text.value = this.page.drafts.of(this.place);
    this.shape();
  }

  typed() {
    if (this.text?.value.includes("\0")) this.text.value = this.text.value.replaceAll("\0", "");
    if (this.place) this.page?.drafts.write(this.place, this.text?.value ?? "");
    this.answer("");
    this.shape();
    this.showCost();
  }

  /** The draft stays with its node, and the new place's own draft comes. */
  moved() {
    const at = /** @type {HTMLInputElement | null} */ (this.form?.elements.namedItem("at"));
    if (at) at.value = this.page?.position ?? "";
    if (this.page) this.place = placeAt(this.page, "buffer");
    this.loadDraft();
    this.weigh();
  }

  shape() {
    this.form?.classList.toggle("is-command", isCommand(this.text?.value ?? ""));
  }

  /** A line goes with Enter alone; texts go with the key that sends. @param {KeyboardEvent} event */
  pressed(event) {
    const isPlain = event.key === "Enter" && !event.isComposing && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (!isPlain || !isCommand(this.text?.value ?? "") || this.text?.value.includes("\n")) return;
    event.preventDefault();
    this.go("respond");
  }

  /** @param {SubmitEvent} event */
  submitted(event) {
    event.preventDefault();
    this.go(event.submitter?.getAttribute("data-do") ?? "continue");
  }

  /** Sends: a line as it is, a text as a node, and then asks for continuations.
   * @param {string} action "respond" or "continue" */
  async go(action) {
    const book = /** @type {import("./loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer[data-on]"));
    if (book) {
      if (action === "respond") book.editor?.focus();
      return void (await book.go(action));
    }
    if (action === "respond") this.text?.focus({ preventScroll: true });
    const text = this.text?.value ?? "";
    const at = this.page?.position ?? "";
    if (!text && action === "respond") return this.text?.focus();
    const draft = text ? this.place : undefined;
    this.clear();
    try {
      if (isCommand(text)) {
        const answer = await this.page?.say(bare(text), { quiet: true, draft });
        this.answer(answer?.reply ?? "");
        return;
      }
      const written = text ? await this.page?.say(call("respond", { content: text }), { quiet: true, draft }) : null;
      if (action === "continue") {
        await this.askFor(written?.position ?? at);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.answer(isCommand(text) ? error.reply : asLabelled(told(error), this.form), true);
    }
  }

  /** Empties the field; its text is on its way, and comes back where it is refused. */
  clear() {
    if (this.text) this.text.value = "";
    this.answer("");
    this.shape();
  }

  /** @param {string} words @param {boolean} [bad] */
  answer(words, bad = false) {
    const said = /** @type {HTMLElement} */ (this.querySelector("[data-answer]"));
    said.hidden = !words;
    said.textContent = words;
    said.classList.toggle("bad", bad);
  }

  /** Asks for continuations of the position with the settings of the fields. */
  ask() {
    return this.go("continue");
  }

  /** Asks everybody chosen, each for as many as he gives. @param {string} at */
  async askFor(at) {
    this.answer(""); // of what was asked before
    const calls = continueCalls(this.asks?.read() ?? {});
    this.page?.emit("asking", calls);
    await Promise.all(calls.map((one) => this.page?.say(one, { at, quiet: true })));
  }

  changed() {
    this.asks?.keep();
    this.showCost();
  }

  /** Chooses those who were asked on this path before. */
  accept() {
    this.asks?.take();
    this.showCost();
  }

  /** Whom the reader asked on this path before is offered here.
   * @param {{asked: Record<string, import("../tree/asking.js").Asked>}} weave */
  woven({ asked }) {
    this.asks?.offer(asked);
    this.showCost();
  }

  /** Asks what a path has and costs, once things have come to rest. */
  weigh() {
    clearTimeout(this.weighing);
    this.weighing = setTimeout(() => {
      // A long text is on its way to the editor: nothing shall delay it.
      const isOpening = document.querySelector("loom-buffer:not([data-on])") && performance.now() < PATIENCE_MS;
      if (isOpening) this.weigh();
      else void this.readCost();
    }, 250);
  }

  async readCost() {
    const number = this.weighs.ask();
    const at = this.page?.position ?? "";
    const estimate = await json(`${this.page?.api}/estimate?node=${at}`).catch(() => undefined);
    if (this.weighs.isPast(number)) return;
    this.estimate = estimate;
    this.showCost();
  }

  showCost() {
    const shown = /** @type {HTMLElement | null} */ (this.querySelector("[data-cost]"));
    const asking = this.asks?.read();
    if (!shown || !asking || !this.estimate) return;
    const cost = costOf(this.estimate, asking, this.text?.value ?? "");
    // Its line is there from the start, so that nothing is covered when it comes.
    const isAsking = asking.using.length && !this.form?.classList.contains("is-command");
    shown.textContent = isAsking ? inWords(cost) : "";
    shown.classList.toggle("bad", cost.over);
  }
}
