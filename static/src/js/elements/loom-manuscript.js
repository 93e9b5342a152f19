// @ts-check
// The cards of the chapters: dragged or moved by keys to another place. Each card has a form that
// moves it, which this fills and sends; the server draws the cards again.

const STEPS = /** @type {Record<string, number>} */ ({ ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 });

export class LoomManuscript extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    /** @type {HTMLElement | null} */
    this.held = null;
    this.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.addEventListener("dragstart", (event) => this.taken(event), { signal });
    this.addEventListener("dragover", (event) => this.over(event), { signal });
    this.addEventListener("drop", (event) => this.dropped(event), { signal });
    this.addEventListener("dragend", () => this.release(), { signal });
    // What was moved has the focus again, also where a key came before htmx knew the new forms, and
    // the browser sent one as any page does.
    /** @type {HTMLElement | null} */ (this.querySelector("[data-moved]"))?.focus();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** @returns {HTMLElement[]} */
  get cards() {
    return [...this.querySelectorAll(".chapter-card")].map((element) => /** @type {HTMLElement} */ (element));
  }

  /** Alt and an arrow move the card, an arrow alone the focus. @param {KeyboardEvent} event */
  pressed(event) {
    const undo = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
    const isField = /** @type {Element} */ (event.target).matches("input, textarea");
    if (undo && !isField) {
      const button = this.querySelector("[data-undo] button");
      if (button) event.preventDefault();
      return /** @type {HTMLElement | null} */ (button)?.click();
    }
    const card = /** @type {Element} */ (event.target).closest(".chapter-card");
    const step = STEPS[event.key];
    if (event.target !== card || !card || !step || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const cards = this.cards;
    const at = cards.indexOf(/** @type {HTMLElement} */ (card));
    const other = cards[at + step];
    if (!other) return;
    if (event.altKey) this.move(/** @type {HTMLElement} */ (card), at + 1 + step);
    else other.focus();
  }

  /** @param {DragEvent} event */
  taken(event) {
    const card = /** @type {Element} */ (event.target).closest(".chapter-card");
    if (!card?.hasAttribute("draggable")) return;
    this.held = /** @type {HTMLElement} */ (card);
    event.dataTransfer?.setData("text/plain", this.held.dataset.key ?? "");
    card.classList.add("held");
  }

  /** @param {DragEvent} event */
  over(event) {
    const card = /** @type {Element} */ (event.target).closest(".chapter-card");
    if (!this.held || !card || card === this.held) return;
    event.preventDefault();
    const box = card.getBoundingClientRect();
    const isAfter = event.clientX > box.left + box.width / 2 !== (getComputedStyle(this).direction === "rtl");
    for (const other of this.cards) {
      other.classList.toggle("before", other === card && !isAfter);
      other.classList.toggle("after", other === card && isAfter);
    }
  }

  /** @param {DragEvent} event */
  dropped(event) {
    const target = this.querySelector(".chapter-card.before, .chapter-card.after");
    const held = this.held;
    if (!held || !target) return this.release();
    event.preventDefault();
    const cards = this.cards;
    const from = cards.indexOf(held);
    const to = cards.indexOf(/** @type {HTMLElement} */ (target)) + (target.classList.contains("after") ? 1 : 0);
    this.release();
    this.move(held, from < to ? to : to + 1);
  }

  release() {
    for (const card of this.cards) card.classList.remove("held", "before", "after");
    this.held = null;
  }

  /** Sends the card's own form. @param {HTMLElement} card @param {number} to its place, from 1 */
  move(card, to) {
    const form = /** @type {HTMLFormElement | null} */ (card.querySelector("form[data-move]"));
    if (!form || Number(card.dataset.place) === to) return;
    const place = Object.assign(document.createElement("input"), { type: "hidden", name: "to", value: String(to) });
    form.append(place);
    form.requestSubmit();
  }
}
