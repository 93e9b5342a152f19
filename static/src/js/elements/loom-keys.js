// @ts-check
// The sheet of keys, drawn from the table that the keys themselves are read from.

import { t } from "../t.js";
import { capsOf, isMac } from "../tree/shortcuts.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";

/** @typedef {import("../tree/keys.js").Key} Key */

export class LoomKeys extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    document.addEventListener(
      "click",
      (event) => {
        if (/** @type {Element} */ (event.target).closest("[data-keys-open]")) this.open();
      },
      { signal: this.stop.signal },
    );
    this.name();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** Ctrl and Alt by their names on a Mac. */
  name() {
    if (!isMac) return;
    for (const cap of document.querySelectorAll("kbd[data-mod]")) cap.textContent = cap.textContent === "Ctrl" ? "⌘" : "⌃⌥";
  }

  open() {
    if (!this.dialog) this.build();
    if (this.dialog?.open) return;
    this.dialog?.showModal();
    // The button to leave has the focus, and is below; reading begins above.
    if (this.dialog) this.dialog.scrollTop = 0;
  }

  build() {
    const groups = pageOf().settings.keys.map(({ name, keys }) =>
      make("section", {}, make("h3", { textContent: name }), make("dl", { className: "keys" }, ...keys.filter((key) => key.combo).flatMap((key) => this.row(key, keys)))),
    );
    const close = make("button", { type: "button", className: "button small", textContent: t("Close") });
    const change = make("a", { href: "/settings/keys", textContent: t("Change keys") });
    const foot = make("p", { className: "dialog-foot" }, close, change);
    this.dialog = /** @type {HTMLDialogElement} */ (
      make("dialog", { className: "sheet-dialog wide keys-sheet" }, make("h2", { textContent: t("Keys") }), make("div", { className: "key-groups" }, ...groups), foot)
    );
    this.dialog.setAttribute("aria-label", t("Keys"));
    this.replaceChildren(this.dialog);
    close.addEventListener("click", () => this.dialog?.close());
  }

  /** One action; the nine digits as one. @param {Key} key @param {Key[]} all */
  row(key, all) {
    const digits = all.filter((digit) => digit.id === `take-${digit.combo}`);
    if (digits.length === 9 && digits.includes(key)) return key === digits[0] ? this.line(["1", "…", "9"], t("accept a candidate")) : [];
    return this.line(capsOf(key.combo), key.words);
  }

  /** @param {string[]} caps @param {string} words */
  line(caps, words) {
    return [make("dt", {}, ...caps.map((cap) => make(cap === "…" ? "span" : "kbd", { textContent: cap }))), make("dd", { textContent: words })];
  }
}
