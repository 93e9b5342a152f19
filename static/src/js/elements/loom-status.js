// @ts-check
// The status line: whether this page is live, how far the log has come, who is here.

import { pageOf } from "../tree/page.js";
import { speak } from "../tree/feedback.js";
import { language, t, tn } from "../t.js";

const WORDS = { waiting: t("connecting"), live: t("live"), offline: t("offline"), gone: t("disconnected") };
/** Why a connection was ended for good. @type {Record<string, string>} */
const ENDED = { "signed out": t("signed out"), "not yours": t("no longer open to you") };

export class LoomStatus extends HTMLElement {
  /** @type {keyof typeof WORDS} */
  state = "waiting";
  reason = "";

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.page.addEventListener("state", (event) => this.told(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("event", () => this.draw(), { signal });
    this.page.addEventListener("here", () => this.draw(), { signal });
    this.page.addEventListener("store", () => this.size(), { signal });
    this.page.addEventListener("changed", () => this.sizeSoon(), { signal });
    this.page.outbox.addEventListener("waiting", () => this.draw(), { signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  /** @param {{state: keyof typeof WORDS, reason: string}} news */
  told({ state, reason }) {
    const before = this.state;
    this.state = state;
    this.reason = reason;
    if (state === "offline" && before === "live") speak(t("Offline. What you type is kept."));
    if (state === "live" && before === "offline") speak(t("Connected again."));
    this.draw();
  }

  draw() {
    const waiting = this.page?.outbox.waiting ?? 0;
    // What could not be sent says it sooner than a socket, which may seem to be open for a while.
    const state = waiting && this.state === "live" ? "offline" : this.state;
    const words = state === "gone" ? (ENDED[this.reason] ?? this.reason) : WORDS[state];
    this.closest("loom-tree")?.setAttribute("data-connection", state);
    this.querySelector(".dot")?.setAttribute("data-state", state === "gone" ? "offline" : state);
    this.put(this, "[data-live]", waiting ? `${words} · ${t("{n} not sent yet, kept here", { n: waiting })}` : words);
    this.put(this, "[data-seq]", `seq ${(this.page?.events.seq ?? 0).toLocaleString(language())}`);
    const people = new Set(this.page?.here.map((person) => person.participant)).size;
    this.put(document, "[data-here]", people ? t("{n} here", { n: people }) : "");
  }

  /** Counting a large tree at every event would be felt. */
  sizeSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.size(), 400);
  }

  size() {
    const size = this.page?.store?.size();
    if (!size) return;
    // Who has one line to read need not count it.
    const words = size.branches > 1 ? tn("{n} branch", "{n} branches", size.branches) : "";
    for (const place of document.querySelectorAll("[data-size]")) place.textContent = words;
  }

  /** @param {ParentNode} root @param {string} selector @param {string} words */
  put(root, selector, words) {
    const place = root.querySelector(selector);
    if (place && place.textContent !== words) place.textContent = words;
  }
}
