// @ts-check
// The command bar: search and → commands in one. Answers are shown here and not kept.

import { Refused } from "../live/api.js";
import { choicesFor } from "../command/choices.js";
import { frame, History, option } from "../command/dialog.js";
import { Visited } from "../command/match.js";
import { atFirst, besides } from "../command/palette.js";
import { bare } from "../tree/asking.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { speak } from "../tree/feedback.js";
import { withRefs } from "../tree/refs.js";

/** @typedef {import("../command/choices.js").Choice} Choice */

export class LoomCommand extends HTMLElement {
  /** @type {Choice[]} */
  choices = [];
  active = -1;
  /** Whether the list belongs to what is typed, or somebody chose from it since. */
  isFresh = false;
  /** @type {Set<string>} lines that are on their way */
  running = new Set();

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.history = new History(localStorage, `heddle.lines.${this.page.settings.me}`);
    this.visited = new Visited(localStorage, `heddle.visited.${this.page.settings.tree}`);
    this.page.addEventListener("moved", (event) => this.visited?.add(/** @type {CustomEvent} */ (event).detail.from), { signal });
    this.page.excerpts.addEventListener("excerpts", () => this.dialog?.open && !this.input?.value && this.suggest(), { signal });
    this.build();
    document.addEventListener("click", (event) => {
      if (/** @type {Element} */ (event.target).closest("[data-command-open]")) this.open();
    }, { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.asking?.abort();
    clearTimeout(this.timer);
  }

  build() {
    const { dialog, input, list, answer } = frame();
    this.dialog = dialog;
    this.input = input;
    this.list = list;
    this.answer = answer;
    this.replaceChildren(this.dialog);
    this.input.addEventListener("input", () => this.typed());
    this.dialog.addEventListener("keydown", (event) => this.pressed(event));
    this.dialog.addEventListener("click", (event) => this.clicked(event));
    this.dialog.addEventListener("close", () => {
      // Until the next frame a closed dialog's field still counts as the one typed in.
      this.input?.blur();
      this.page?.emit("hits", []);
    });
  }

  /** @param {string} [text] */
  open(text) {
    if (!this.dialog?.open) this.dialog?.showModal();
    if (!this.input) return;
    if (text !== undefined) this.input.value = text;
    this.input.select();
    this.typed();
  }

  get isCommand() {
    return /^\s*(→|->|>)/.test(this.input?.value ?? "");
  }

  typed() {
    this.dialog?.classList.toggle("is-command", this.isCommand);
    this.history?.leave();
    this.say("");
    this.isFresh = false;
    if (this.isCommand) this.chooseFirst();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.suggest(), this.isCommand ? 60 : 180);
  }

  async suggest() {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    const text = this.input?.value ?? "";
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const more = {
      atFirst: () => atFirst(page, this.visited?.ids ?? []),
      besides: (/** @type {string} */ query, /** @type {import("../command/choices.js").Command[]} */ known, /** @type {AbortSignal} */ signal) => besides(page, query, known, signal),
    };
    try {
      const { choices, lit, query } = await choicesFor(page, text, this.dataset.search ?? "", asking.signal, more);
      if (asking.signal.aborted) return;
      this.draw(choices, query);
      if (this.isCommand) await this.preview(text, asking.signal);
      else this.page?.emit("hits", lit);
    } catch (error) {
      if (error instanceof Refused) this.say(error.message, "bad");
      else if (!(error instanceof DOMException)) throw error;
    }
  }

  /** Says what the line would do. @param {string} text @param {AbortSignal} signal */
  async preview(text, signal) {
    const line = bare(text.trim());
    if (!/\s|^(undo|redo|help)$/.test(line)) return;
    try {
      const answer = await this.page?.preview(line, signal);
      if (!signal.aborted) this.say(answer.reply, "dry");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!signal.aborted) this.say(error.reply, "dry");
    }
  }

  /** @param {Choice[]} choices @param {string} [query] */
  draw(choices, query = "") {
    const before = this.choices[this.active];
    this.choices = choices;
    this.isFresh = true;
    this.list?.replaceChildren(
      ...choices.flatMap((choice, index) => {
        const element = option(choice, index, query);
        const isNew = choice.group && choice.group !== choices[index - 1]?.group;
        return isNew ? [make("div", { className: "command-group", ariaHidden: "true", textContent: choice.group }), element] : [element];
      }),
    );
    // The same list drawn again, with words that have come since, keeps its choice.
    if (!query && before?.go && choices[this.active]?.go === before.go) this.choose(this.active);
    else this.chooseFirst();
  }

  /** A line of a command is run as it is typed: none is chosen for it. */
  chooseFirst() {
    this.choose(this.choices.length && !this.isCommand ? 0 : -1);
  }

  /** Somebody chose from the list as it is. @param {number} index */
  pick(index) {
    this.isFresh = true;
    this.choose(index);
  }

  /** @param {number} index */
  choose(index) {
    this.active = index;
    [...(this.list?.querySelectorAll('[role="option"]') ?? [])].forEach((option, at) => {
      option.setAttribute("aria-selected", String(at === index));
      if (at === index) option.scrollIntoView({ block: "nearest" });
    });
    if (index >= 0) this.input?.setAttribute("aria-activedescendant", `choice-${index}`);
    else this.input?.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    // Its field has the focus for a moment after Escape: what is pressed then is for the page.
    if (!this.dialog?.open) return;
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isUp = step === -1 && !this.input?.value && this.active <= 0;
    if (step && this.history && (isUp || this.history.at)) this.recall(step);
    else if (step) this.pick(Math.max(-1, Math.min(this.choices.length - 1, this.active + step)));
    else if (event.key === "Tab" && !event.shiftKey && this.complete()) event.preventDefault();
    else if (event.key === "Enter" && !event.isComposing) this.enter();
    else return;
    if (event.key !== "Tab") event.preventDefault();
  }

  /** Puts in an earlier line, or a later one; nothing after the last. @param {number} step */
  recall(step) {
    if (!this.input) return;
    this.input.value = this.history?.step(-step) ?? "";
    this.dialog?.classList.toggle("is-command", this.isCommand);
    this.chooseFirst();
  }

  complete() {
    const choice = this.choices[this.active] ?? this.choices.find((other) => other.complete);
    if (!choice?.complete || !this.input) return false;
    this.input.value = choice.complete;
    this.typed();
    return true;
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    if (event.target === this.dialog) return this.dialog?.close();
    const target = /** @type {HTMLElement} */ (event.target);
    const ref = /** @type {HTMLElement | null} */ (target.closest(".command-answer :is([data-go], [data-open-ref])"));
    if (ref && !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey) this.follow(ref, event);
    const option = target.closest('[role="option"]');
    if (!option) return;
    this.pick(Number(option.id.replace("choice-", "")));
    this.enter();
  }

  /** Goes to what an answer names; a window is opened by who shows them. @param {HTMLElement} ref @param {MouseEvent} event */
  follow(ref, event) {
    this.dialog?.close();
    if (!ref.dataset.go) return;
    event.preventDefault();
    this.page?.go(ref.dataset.go);
  }

  enter() {
    // The list still shows what fits other words: Enter waits for the first of these.
    if (!this.isFresh && !this.isCommand) {
      clearTimeout(this.timer);
      return void this.suggest().then(() => this.isFresh && this.dialog?.open && this.enter());
    }
    const choice = this.choices[this.active];
    if (choice?.go) {
      this.dialog?.close();
      return this.page?.go(choice.go);
    }
    if (choice?.href) return location.assign(choice.href);
    if (choice?.run) {
      this.dialog?.close();
      // What was done is about the page below, which has the focus again by then.
      return void requestAnimationFrame(() => choice.run?.());
    }
    if (choice?.complete) return void this.complete();
    const text = this.input?.value.trim() ?? "";
    if (this.isCommand && bare(text)) this.run(text);
  }

  /** @param {string} text */
  async run(text) {
    if (this.running.has(text)) return;
    this.running.add(text);
    // Nothing that would be done is said over what is done.
    clearTimeout(this.timer);
    this.asking?.abort();
    if (!this.isFresh) this.draw([]);
    this.history?.add(text);
    // Where the next line is being typed already, that is left alone.
    const isNext = () => this.input?.value.trim() !== text;
    try {
      const answer = await this.page?.say(bare(text), { quiet: true });
      if (isNext()) return;
      this.say(answer?.reply ?? "", "done");
      this.input?.select();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(isNext() ? `${bare(text)}: ${error.reply}` : error.reply, "bad");
    } finally {
      this.running.delete(text);
    }
  }

  /** @param {string} words @param {"" | "dry" | "bad" | "done"} [how] */
  say(words, how = "") {
    if (!this.answer) return;
    this.answer.className = `command-answer ${how}`;
    this.answer.replaceChildren(...(how === "dry" ? [words] : withRefs(words, this.page?.store)));
    if (how === "bad" || how === "done") speak(words);
  }
}
