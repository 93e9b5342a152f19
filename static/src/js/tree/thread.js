// @ts-check
// The thread of a comment in a buffer: it opens in the text, below the words that it is about, as it
// stands below its text in a dialogue.

import { part, Refused } from "../live/api.js";
import { showAges } from "../pages.js";
import { t } from "../t.js";
import { make } from "./forms.js";
import { letOwnResolve } from "./morph.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {import("../editor/open.js").BufferEditor} BufferEditor */

export class Thread {
  /** @type {{editor: BufferEditor, note: string, id: string, host: HTMLElement} | null} what is open */
  shown = null;

  /** @param {TreePage} page @param {AbortSignal} signal */
  constructor(page, signal) {
    this.page = page;
    page.addEventListener("event", (event) => {
      const { payload } = /** @type {CustomEvent} */ (event).detail;
      const { note, id } = this.shown ?? {};
      const about = [payload?.node?.id, payload?.node?.parent, payload?.node].filter((uid) => typeof uid === "string");
      if (note && about.some((uid) => uid === note || page.store?.textOf(uid) === id)) void this.refresh();
    }, { signal });
    page.addEventListener("text", () => this.shown && !this.shown.editor.hasNote(this.shown.note) && this.close(), { signal });
    signal.addEventListener("abort", () => this.close());
  }

  /** Opens the thread of a note below its words, or closes it where it is open; false where its words
   * are not in this text. @param {BufferEditor} editor @param {string} note @param {string} id of the text */
  async toggle(editor, note, id) {
    if (this.shown?.note === note) return this.close(true);
    if (!editor.hasNote(note)) return false;
    this.close();
    const host = make("div", { className: "passage-form passage-thread", tabIndex: -1 });
    host.dataset.id = id;
    host.setAttribute("role", "group");
    host.setAttribute("aria-label", t("Comment"));
    host.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      this.close(true);
    });
    // What was said meanwhile comes when a form is closed.
    this.watch = new MutationObserver(() => this.isStale && !host.querySelector("form") && void this.refresh());
    this.watch.observe(host, { childList: true, subtree: true });
    this.shown = { editor, note, id, host };
    await this.refresh();
    if (this.shown?.host !== host) return true;
    editor.showThread(host, note);
    host.focus({ preventScroll: true });
    host.scrollIntoView({ block: "nearest" });
    return true;
  }

  /** Reads the thread again, unless somebody writes in it. */
  async refresh() {
    const { shown } = this;
    if (!shown) return;
    this.isStale = shown.host.querySelector("form") !== null;
    if (this.isStale) return;
    try {
      const markup = await part(`${this.page.web}/nodes/${shown.id}`);
      if (this.shown !== shown) return;
      const drawn = new DOMParser().parseFromString(markup, "text/html").querySelector(`.note[data-note="${CSS.escape(shown.note)}"]`);
      if (!drawn) return void this.close();
      drawn.removeAttribute("id"); // the pane has it as well
      letOwnResolve(drawn, this.page.settings.me);
      const held = shown.host.contains(document.activeElement);
      const close = make("button", { type: "button", className: "quiet", textContent: t("Close") });
      close.addEventListener("click", () => this.close(true));
      drawn.querySelector(":scope > .note-tools")?.append(close);
      shown.host.replaceChildren(drawn);
      showAges();
      if (held) shown.host.focus({ preventScroll: true });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      shown.host.textContent = error.message;
    }
  }

  /** @param {boolean} [isAsked] by the reader, who goes on at the words */
  close(isAsked = false) {
    const { shown } = this;
    this.watch?.disconnect();
    this.shown = null;
    if (!shown) return true;
    shown.editor.showThread(null);
    if (isAsked) shown.editor.focus();
    return true;
  }
}
