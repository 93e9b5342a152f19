// @ts-check
// The faces of those who are here; press one to go where that one is.

import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

export class LoomPresence extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    this.page.addEventListener("here", () => this.draw(), { signal: this.stop.signal });
    this.addEventListener("click", (event) => {
      const node = /** @type {Element} */ (event.target).closest("[data-at]")?.getAttribute("data-at");
      if (node) this.page?.go(node);
    });
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  draw() {
    const places = new Map(this.page?.here.map((one) => [one.participant, one.node]));
    const faces = [...places].map(([participant, node]) => this.face(participant, node));
    this.querySelector("ul")?.replaceChildren(...faces.filter((face) => face !== null));
    for (const row of document.querySelectorAll("[data-person]")) {
      const node = places.get(row.getAttribute("data-person") ?? "");
      const where = row.querySelector("[data-where]");
      if (where) where.textContent = node ? t("here, at {node}", { node }) : (where.getAttribute("data-else") ?? "");
    }
  }

  /** @param {string} participant @param {string} node */
  face(participant, node) {
    const who = this.page?.cast.get(participant);
    if (!who) return null;
    const item = document.createElement("li");
    const button = Object.assign(document.createElement("button"), {
      type: "button",
      textContent: who.initials,
      className: `face ${who.kind}`,
      title: t("{name}, at {node}", { name: who.id === this.page?.settings.me ? t("You") : who.name, node }),
    });
    button.dataset.who = String(who.colour);
    button.dataset.at = node;
    button.setAttribute("aria-label", t("{place}. Go there", { place: button.title }));
    item.append(button);
    return item;
  }
}
