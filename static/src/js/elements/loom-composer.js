// @ts-check
// The composer: text that becomes a node, a question to models, or a → line. What is typed is
// a draft of its place until it was sent.

import { call } from "../live/calls.js";
import { json, Newest, Refused, told } from "../live/api.js";
import { nameOf } from "../live/draft-storage.js";
import { keyAfter, newKey } from "../live/outbox.js";
import { Asking, bare, continueCalls, costOf, inFewWords, inWords, isCommand, madeOf } from "../tree/asking.js";
import { takeImages, typeInto } from "../tree/images.js";
import { asLabelled, make } from "../tree/forms.js";
import { askWhich, placeAt } from "../tree/page-drafts.js";
import { pageOf } from "../tree/page.js";
import { heldUp } from "../tree/pruned-place.js";
import { t } from "../t.js";

const PATIENCE_MS = 10_000;
const MOST_COUNTED = 4; // contexts that are asked for at once
const REST_MS = 1000; // before what those beside would be sent is counted, too

export class LoomComposer extends HTMLElement {
  /** @type {import("../tree/asking.js").Estimate | undefined} */
  estimate;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  weighing;
  weighs = new Newest();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  resting;
  /** @type {{ids: string, estimate: import("../tree/asking.js").Estimate} | undefined} what those offered beside would be sent */
  beside;
  /** what they were counted for: it is asked again when that has changed */
  besideOf = "";
  /** whether their button can be seen: nobody is counted for what is out of sight */
  isOtherSeen = !globalThis.IntersectionObserver;
  /** @type {Set<string>} places where the reader wants to write beside an answer */
  besides = new Set();
  wasReady = false;
  isWaiting = false;

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
    this.form.addEventListener("change", (event) => this.changed(event.target), { signal });
    this.querySelector("[data-offer]")?.addEventListener("click", () => this.accept(), { signal });
    const other = this.querySelector("[data-ask-other]");
    other?.addEventListener("click", () => this.askOther(), { signal });
    if (other && globalThis.IntersectionObserver) {
      const watch = new IntersectionObserver((entries) => this.otherSeen(entries.at(-1)?.isIntersecting === true));
      watch.observe(other);
      signal.addEventListener("abort", () => watch.disconnect());
    }
    this.page.addEventListener("moved", () => this.moved(), { signal });
    document.addEventListener("cast", () => this.asks?.show(this.asks.read()), { signal });
    for (const name of ["cast", "contexts"]) document.addEventListener(name, () => this.weigh(), { signal });
    this.place = placeAt(this.page, "buffer");
    this.page.drafts.addEventListener("draft", (event) => this.isAt(event) && this.loadDraft(), { signal });
    askWhich(this.page.drafts, this.form, (place) => nameOf(place) === this.name, signal);
    this.asks = new Asking(this.form, this.page.settings.tree);
    this.takeWanted();
    this.asks.leavesOut = () => this.page?.contexts.leavesOut() ?? "";
    this.page.addEventListener("weave", (event) => this.woven(/** @type {CustomEvent} */ (event).detail), { signal });
    this.off = this.page.events.on("generation.ended", () => this.weigh());
    const weave = document.querySelector("loom-weave");
    if (weave) this.woven(madeOf(weave));
    this.takeEarly();
    this.weigh();
    const isNew = this.page.settings.mode === "dialogue" && document.querySelector("loom-weave .empty");
    if (isNew && document.activeElement === document.body) this.text.focus({ preventScroll: true });
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.off?.();
    clearTimeout(this.weighing);
    clearTimeout(this.resting);
  }

  /** Which draft is in the field. */
  get name() {
    return this.place ? nameOf(this.place) : "";
  }

  /** @param {Event} event */
  isAt(event) {
    return nameOf(/** @type {CustomEvent} */ (event).detail) === this.name;
  }

  /** The caret stays where the text does. */
  loadDraft() {
    const draft = this.page && this.place ? this.page.drafts.of(this.place) : "";
    const { text } = this;
    if (text && text.value !== draft) {
      const { value, selectionStart, selectionEnd } = text;
      text.value = draft;
      const isTyping = value && draft.startsWith(value) && document.activeElement === text;
      if (isTyping) text.setSelectionRange(selectionStart, selectionEnd);
    }
    this.shape();
  }

  /** What was typed before this page was ready stays, behind the draft that was there. */
  takeEarly() {
    const early = this.wasReady ? "" : (this.text?.value ?? "");
    this.wasReady = true;
    this.loadDraft();
    if (!this.text || !early.trim()) return;
    this.text.value = this.text.value ? `${this.text.value}\n${early}` : early;
    this.typed();
  }

  /** Who is named by the page's address is picked once, as by the button beside a new model. */
  takeWanted() {
    const address = new URL(location.href);
    const wanted = address.searchParams.get("ask");
    if (!wanted) return;
    this.asks?.pickId(wanted);
    address.searchParams.delete("ask");
    history.replaceState(history.state, "", address);
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

  /** What is sent with the next request: the text in the field, unless it is a line. */
  message() {
    const text = this.text?.value ?? "";
    return isCommand(text) ? "" : text;
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
    const held = this.page && !isCommand(this.text?.value ?? "") ? heldUp(this.page) : "";
    if (held) return this.answer(held, true);
    const book = /** @type {import("./loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer[data-on]"));
    if (book) {
      if (action === "respond") book.editor?.focus();
      return void (await book.go(action));
    }
    if (action === "respond") this.text?.focus({ preventScroll: true });
    const text = this.text?.value ?? "";
    if (this.page?.sending.size && !(await this.isItsTurn(text))) return undefined;
    if (text && !isCommand(text) && !(await this.mayFork())) return undefined;
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
      if (action === "continue" && this.act) {
        const turn = this.act.start(text, draft);
        this.page?.sends(turn);
        return void (await turn);
      }
      const then = action === "continue" ? continueCalls(this.asks?.read() ?? {}) : undefined;
      const key = newKey();
      const written = text ? await this.page?.say(call("respond", { content: text }), { quiet: true, draft, then, key }) : null;
      if (action === "continue") await this.askFor(written?.position ?? at, { calls: then, key });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.answer(isCommand(text) ? error.reply : asLabelled(told(error), this.form), true);
    }
  }

  /** Waits for the texts that are on their way: what is sent next follows them. Whether it may go: not where one
   * came back, nor where somebody has typed on meanwhile. @param {string} text what is sent */
  async isItsTurn(text) {
    if (this.isWaiting) return false;
    this.isWaiting = true;
    const words = t("This is sent once the text before it is stored.");
    this.answer(words);
    const isFree = await this.page?.sent();
    this.isWaiting = false;
    if (this.querySelector("[data-answer]")?.textContent === words) this.answer("");
    return Boolean(isFree) && this.isConnected && (this.text?.value ?? "") === text;
  }

  /** Whether what is sent may stand beside an answer that was given here and not read on from: asked once for each
   * place. Whoever goes on from the answer takes what was typed along. @returns {Promise<boolean>} */
  async mayFork() {
    const { page } = this;
    const turns = /** @type {import("./loom-turns.js").LoomTurns | null} */ (document.querySelector("loom-turns"));
    const answer = turns?.answerBelow();
    if (!page || !answer || this.besides.has(page.position)) return true;
    const at = page.position;
    const words = make("span", { textContent: t("{name} has answered below this text.", { name: answer.name }) });
    const choice = await new Promise((done) => {
      const choose = (/** @type {string} */ way, /** @type {string} */ label) => {
        const button = make("button", { type: "button", className: "button small", textContent: label });
        button.addEventListener("click", () => done(way));
        return button;
      };
      this.querySelector(".contest.past")?.remove();
      const box = make("p", { className: "contest past", role: "alert" }, words, choose("on", t("Go on from the answer")), choose("beside", t("Write beside it")));
      this.form?.prepend(box);
      box.querySelector("button")?.focus();
      page.addEventListener("moved", () => done(""), { once: true });
    });
    this.querySelector(".contest.past")?.remove();
    if (choice === "beside") return Boolean(this.besides.add(at));
    if (choice === "on") {
      page.acts.leave(answer.node);
      this.text?.focus();
    }
    return false;
  }

  /** Empties the field; its text is on its way, and comes back where it is refused. */
  clear() {
    if (this.text) this.text.value = "";
    this.answer("");
    this.shape();
  }

  /** @param {string} words @param {boolean} [bad] */
  answer(words, bad = false) {
    const status = /** @type {HTMLElement} */ (this.querySelector("[data-answer]"));
    status.hidden = !words;
    status.textContent = words;
    status.classList.toggle("bad", bad);
  }

  /** Says something with a way to where it is. @param {string} words @param {string} label @param {() => void} run */
  answerWith(words, label, run) {
    const button = make("button", { type: "button", className: "button small", textContent: label });
    button.addEventListener("click", run);
    this.answer(words);
    this.querySelector("[data-answer]")?.append(" ", button);
  }

  /** Asks for continuations of the position with the settings of the fields. */
  ask() {
    return this.go("continue");
  }

  /** Asks those beside the ones that are picked: from now on they are picked. */
  askOther() {
    if (!this.asks?.other()) return undefined;
    this.asks.pickOther();
    this.form?.dispatchEvent(new Event("change", { bubbles: true }));
    this.weigh();
    return this.go("continue");
  }

  /** Asks an agent, picked or not, so that the key for it never asks the models. */
  askAgent() {
    return this.asks?.actor() ? this.go("continue") : this.askOther();
  }

  /** Asks everybody chosen, each for as many as he gives. @param {string} at
   * @param {{calls?: import("../live/calls.js").Call[], key?: string}} [after] the commands that the text before carried,
   * and its key: another tab may send them, too */
  async askFor(at, { calls: carried, key = newKey() } = {}) {
    this.answer(""); // of what was asked before
    if (this.act) return void (await this.act.start("", undefined, at));
    const calls = carried ?? continueCalls(this.asks?.read() ?? {});
    this.page?.emit("asking", calls);
    await Promise.all(calls.map((call, place) => this.page?.say(call, { at, quiet: true, key: keyAfter(key, place) })));
  }

  /** The agents of the picker, where one of them is picked: it acts in a turn. */
  get act() {
    const act = /** @type {import("./loom-act.js").LoomAct | null} */ (this.querySelector("loom-act"));
    return act?.asked().participant ? act : null;
  }

  /** @param {EventTarget | null} [field] */
  changed(field) {
    if (field instanceof HTMLInputElement) this.asks?.pick(field);
    this.asks?.keep();
    this.weigh();
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
    const answer = json(`${this.page?.api}/estimate?node=${at}`).catch(() => undefined);
    const [estimate, contexts] = await Promise.all([answer, this.contexts(this.asks?.picked() ?? [])]);
    if (this.weighs.isPast(number)) return;
    if (estimate) take(estimate, contexts);
    this.estimate = estimate;
    if (this.besideOf !== this.besideNow()) this.beside = undefined;
    this.showCost();
    this.besideSoon(number);
  }

  /** @param {boolean} isSeen */
  otherSeen(isSeen) {
    this.isOtherSeen = isSeen;
    if (isSeen && this.estimate) this.besideSoon(this.weighs.asked);
  }

  /** @param {number} number of the count before */
  besideSoon(number) {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => void this.readBeside(number), REST_MS);
  }

  /** What those beside would be counted for now: whom, where, and after how long a text. */
  besideNow() {
    const other = this.asks?.other();
    const parts = [other?.how, other?.ids, this.page?.position, this.estimate?.participants.map(({ tokens }) => tokens)];
    return other && this.estimate ? JSON.stringify(parts) : "";
  }

  /** Counts what those beside would be sent, once the reader stays. @param {number} number of the count before */
  async readBeside(number) {
    const { page } = this;
    const other = this.asks?.other();
    const now = this.besideNow();
    if (!other || !page || document.hidden || !this.isOtherSeen || (this.beside && this.besideOf === now)) return;
    const counted = await this.contexts(other.ids.map((id) => ({ id, how: other.how })));
    if (this.weighs.isPast(number) || !this.estimate) return;
    this.besideOf = now;
    const participants = this.estimate.participants.map((one) => ({ ...one }));
    this.beside = { ids: other.ids.join(), estimate: take({ ...this.estimate, participants }, counted) };
    this.showCost();
  }

  /** What they would be sent, by participant. @param {{id: string, how: "turn" | "continue"}[]} asked */
  async contexts(asked) {
    const { page } = this;
    const some = asked.slice(0, MOST_COUNTED);
    const all = await Promise.all(some.map(async ({ id, how }) => /** @type {const} */ ([id, await page?.contexts.of(id, page.position, how).catch(() => undefined)])));
    return new Map(all);
  }

  showCost() {
    const shown = /** @type {HTMLElement | null} */ (this.querySelector("[data-cost]"));
    const asking = this.asks?.read();
    this.showOther();
    if (!shown || !asking || !this.estimate) return;
    const using = asking.actor ? [asking.actor] : asking.using;
    const cost = { ...costOf(this.estimate, { ...asking, using, n: asking.actor ? "1" : asking.n }, this.message()), isTurn: Boolean(asking.actor) };
    // Its line is there from the start, so that nothing is covered when it comes.
    const isAsking = using.length && !this.form?.classList.contains("is-command");
    const without = asking.without && !asking.actor ? ` · ${t("without {parts}, this time", { parts: asking.without })}` : "";
    shown.textContent = isAsking ? `${inWords(cost)}${without}` : "";
    shown.classList.toggle("bad", cost.over);
  }

  /** The button that asks an agent where models are picked, and models where an agent is, with what they would read. */
  showOther() {
    const button = /** @type {HTMLButtonElement | null} */ (this.querySelector("[data-ask-other]"));
    const other = this.asks?.other();
    if (!button) return;
    button.hidden = !other || this.form?.classList.contains("is-command") === true;
    if (!other) return;
    const names = other.names.join(", ");
    const isTurn = other.how === "turn";
    button.title = isTurn ? t("{name} acts in the tree and answers", { name: names }) : "";
    const asking = isTurn ? { using: other.names } : { ...this.asks?.read(), using: other.names, counts: this.asks?.models.counts };
    const reads = this.beside?.ids === other.ids.join() ? inFewWords({ ...costOf(this.beside.estimate, asking, this.message()), isTurn }) : "";
    const words = [isTurn ? t("Ask {name}", { name: names }) : t("Continue with {name}", { name: names }), reads];
    for (const [place, span] of [...button.children].entries()) if (span.textContent !== words[place]) span.textContent = words[place];
  }
}

/** What each is sent is counted once, as the context shows it.
 * @param {import("../tree/asking.js").Estimate} estimate
 * @param {Map<string, import("../tree/context-view.js").Context | undefined>} contexts by participant */
function take(estimate, contexts) {
  for (const participant of estimate.participants) {
    const context = contexts.get(participant.participant);
    if (context) Object.assign(participant, { tokens: context.tokens, how: context.price.how });
  }
  return estimate;
}
