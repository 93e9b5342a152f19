// @ts-check
// The faces of those who are here; press one to go where that one is, or follow: then this
// tab goes where that one goes, until it moves by itself or Escape is pressed.

import { called } from "../tree/called.js";
import { pageOf } from "../tree/page.js";
import { speak } from "../tree/feedback.js";
import { t } from "../t.js";

export class LoomPresence extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    /** @type {string} the participant whom this tab follows; "": nobody */
    this.followed = "";
    this.page.addEventListener("here", () => this.draw(), { signal });
    this.page.addEventListener("moved", () => this.moved(), { signal });
    // The words of a text where somebody is came after its id.
    this.page.excerpts.addEventListener("excerpts", () => this.nameless && this.draw(), { signal });
    document.addEventListener("click", (event) => this.clicked(/** @type {Element} */ (event.target)), { signal });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.followed || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      this.follow("");
    }, { signal, capture: true });
  }

  /** @param {Element} target */
  clicked(target) {
    const follow = target.closest("[data-follow]")?.getAttribute("data-follow");
    if (follow) return this.follow(follow === this.followed ? "" : follow);
    const node = this.contains(target) ? target.closest("[data-at]")?.getAttribute("data-at") : "";
    if (node) this.page?.go(node);
  }

  /** Goes where somebody goes from now on; "" follows nobody. @param {string} participant */
  follow(participant) {
    const before = this.page?.cast.get(this.followed ?? "")?.name;
    this.followed = participant;
    const name = this.page?.cast.get(participant)?.name ?? "";
    if (participant) speak(t("You are following {name}. Press Escape or move to stop.", { name }));
    else if (before) speak(t("You stopped following {name}.", { name: before }));
    this.draw();
  }

  /** A move that does not lead to the followed person is the reader's own. */
  moved() {
    if (this.followed && this.page?.position !== this.target) this.follow("");
  }

  /** @param {Map<string, string>} places */
  goAlong(places) {
    const node = places.get(this.followed ?? "");
    if (this.followed && !node) return this.follow("");
    if (!node || this.page?.isPast) return;
    this.target = this.page?.store?.textOf(node) ?? node;
    if (this.target !== this.page?.position) this.page?.go(node, { replace: true });
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  draw() {
    const held = this.contains(document.activeElement) ? document.activeElement?.getAttribute("data-face") : null;
    this.nameless = false;
    const places = new Map(this.page?.here.map((person) => [person.participant, person.node]));
    const faces = [...places].map(([participant, node]) => this.face(participant, node));
    this.querySelector("ul")?.replaceChildren(...faces.filter((face) => face !== null));
    if (held) /** @type {HTMLElement | null} */ (this.querySelector(`[data-face="${CSS.escape(held)}"]`))?.focus();
    this.goAlong(places);
    this.tellFollowing();
    for (const row of document.querySelectorAll("[data-person]")) {
      const node = places.get(row.getAttribute("data-person") ?? "");
      const where = row.querySelector("[data-where]");
      this.offer(row, Boolean(node));
      if (where) where.textContent = node ? t("here, at {node}", { node: this.nameOf(node) }) : (where.getAttribute("data-else") ?? "");
    }
  }

  /** The button that follows somebody, where that one is here. @param {Element} row @param {boolean} isHere */
  offer(row, isHere) {
    const id = row.getAttribute("data-person") ?? "";
    row.querySelector("[data-follow]")?.remove();
    const name = this.page?.cast.get(id)?.name;
    if (!isHere || id === this.page?.settings.me || !name) return;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: id === this.followed ? t("Stop following") : t("Follow") });
    button.dataset.follow = id;
    button.setAttribute("aria-label", `${button.textContent}: ${name}`);
    button.setAttribute("aria-pressed", String(id === this.followed));
    row.append(button);
  }

  /** Says beside the faces whom this tab follows, with the way out. */
  tellFollowing() {
    const name = this.page?.cast.get(this.followed ?? "")?.name;
    const shown = this.querySelector("[data-follow]");
    if (shown?.getAttribute("data-follow") === this.followed) return;
    shown?.remove();
    if (!name || !this.followed) return;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button small following", textContent: t("Following {name} ×", { name }) });
    button.dataset.follow = this.followed;
    button.setAttribute("aria-label", t("Stop following {name}", { name }));
    this.append(button);
  }

  /** A text by its first words; by its id while they are not known, and where it has none. @param {string} node */
  nameOf(node) {
    const words = this.page?.excerpts.of(node);
    if (!words && !this.page?.excerpts.known.has(node)) this.nameless = true;
    return words ? called(words) : node;
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
      title: t("{name}, at {node}", { name: who.id === this.page?.settings.me ? t("You") : who.name, node: this.nameOf(node) }),
    });
    button.dataset.who = String(who.colour);
    button.dataset.at = node;
    button.dataset.face = participant;
    button.setAttribute("aria-label", t("{place}. Go there", { place: button.title }));
    item.append(button);
    return item;
  }
}
