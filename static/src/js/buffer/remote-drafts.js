// @ts-check
// What others are writing at this text and have not sent: to be read, and copied.

import { t } from "../t.js";
import { make } from "../tree/forms.js";
import { placeAt } from "../tree/page-drafts.js";

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {import("../elements/loom-buffer.js").LoomBuffer} LoomBuffer */

export class Shadows {
  /** @param {LoomBuffer} host @param {TreePage} page @param {AbortSignal} signal */
  constructor(host, page, signal) {
    this.host = host;
    this.page = page;
    this.box = make("div", { className: "shadows" });
    host.append(this.box);
    for (const name of ["here", "moved", "store"]) page.addEventListener(name, () => this.draw(), { signal });
    this.draw();
  }

  /** Those who write below the same text. */
  writers() {
    const { page } = this;
    const slot = placeAt(page, "buffer").slot;
    const drafts = new Map();
    for (const { participant, node, buffer } of page.here) {
      const who = page.cast.get(participant);
      if (who && participant !== page.settings.me && buffer && placeAt(page, "buffer", node).slot === slot) drafts.set(participant, { who, buffer });
    }
    return drafts;
  }

  draw() {
    const writers = this.writers();
    for (const shown of [...this.box.children]) if (!writers.has(shown.getAttribute("data-writer") ?? "")) shown.remove();
    for (const [id, { who, buffer }] of writers) {
      const shown = [...this.box.children].find((child) => child.getAttribute("data-writer") === id) ?? this.add(id, who);
      const text = shown.querySelector(".shadow-text");
      if (text && text.textContent !== buffer) text.textContent = buffer;
    }
  }

  /** @param {string} id @param {import("../tree/page.js").Who} who */
  add(id, who) {
    const copy = make("button", { type: "button", className: "button small", textContent: t("Copy") });
    copy.setAttribute("aria-label", t("Copy what {name} is writing", { name: who.name }));
    const text = make("p", { className: "shadow-text" });
    copy.addEventListener("click", () => this.host.write(text.textContent ?? ""));
    const shown = make("aside", { className: "shadow" }, make("p", { className: "shadow-by" }, make("b", { className: "by", textContent: t("{name} is writing here", { name: who.name }) }), " ", copy), text);
    shown.setAttribute("data-writer", id);
    shown.setAttribute("data-who", String(who.colour));
    shown.setAttribute("aria-label", t("{name} is writing here", { name: who.name }));
    this.box.append(shown);
    return shown;
  }
}
