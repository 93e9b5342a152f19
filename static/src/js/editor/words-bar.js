// @ts-check
// What can be done with the words that are selected: one bar beside them, to which each feature
// adds its buttons. None of them knows the others; the bar knows none.

import { t } from "../t.js";

const REST_MS = 150; // after the last change of a selection
const EDGE = 8; // px between the bar and the words, and to the edge of the window

/** A button of the bar. `of`: whose it is; `group`: what buttons stand together, by its name for
 * screen readers, in the order of their `order`; `offers`: where what is selected stands, or with `isAsked` what is current;
 * null where the button has nothing to do; `act`: what it does, for what was offered last.
 * @typedef {{of: object, group: string, order: number, words: string, opens?: boolean, offers: (isAsked: boolean) => DOMRect | null, act: (button: HTMLButtonElement) => void}} Choice */

/** What a button opens below the bar; `shut`: it was closed. @typedef {{element: HTMLElement, opener: HTMLButtonElement, shut: () => void}} Opened */

export class WordsBar {
  constructor() {
    /** @type {Map<Choice, HTMLButtonElement>} */
    this.choices = new Map();
    this.timer = 0;
    /** @type {Element | null} */
    this.back = null; // what has the focus again when the bar goes
    /** @type {Opened | null} */
    this.opened = null;
    /** @type {DOMRect | null} */
    this.words = null;
    this.row = document.createElement("div");
    this.row.className = "words-do";
    this.row.setAttribute("role", "toolbar");
    this.row.setAttribute("aria-label", t("Selected words"));
    this.box = Object.assign(document.createElement("div"), { className: "words-bar", hidden: true });
    this.box.append(this.row);
    // The selection stays while a button is pressed.
    for (const name of ["pointerdown", "mousedown"]) this.box.addEventListener(name, (event) => /** @type {Element} */ (event.target).closest("input, textarea") || event.preventDefault());
    this.box.addEventListener("keydown", (event) => this.pressed(event));
    document.addEventListener("selectionchange", () => this.soon());
    document.addEventListener("pointerup", () => this.soon());
    document.addEventListener("scroll", () => this.soon(), { capture: true, passive: true });
    document.addEventListener("pointerdown", (event) => this.isHeld && !this.box.contains(/** @type {Node} */ (event.target)) && this.close(), { capture: true });
  }

  /** Adds a button until the signal says stop. @param {Choice} choice @param {AbortSignal} signal */
  add(choice, signal) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button small", textContent: choice.words });
    if (choice.opens) button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const { opened } = this;
      if (opened?.opener === button) return this.drop();
      choice.act(button);
      if (this.opened === opened) this.hide(); // it opened nothing here
    });
    this.choices.set(choice, button);
    this.arrange();
    signal.addEventListener("abort", () => {
      this.choices.delete(choice);
      if (this.opened?.opener === button) this.drop();
      this.arrange();
      if (!this.choices.size) this.hide();
    });
    return button;
  }

  /** The buttons in their groups, each of which has a name. */
  arrange() {
    /** @type {Map<string, HTMLElement>} */
    const groups = new Map();
    for (const [{ group }, button] of [...this.choices].sort(([one], [other]) => one.order - other.order)) {
      let place = groups.get(group);
      if (!place) {
        place = Object.assign(document.createElement("div"), { className: "words-group" });
        place.setAttribute("role", "group");
        place.setAttribute("aria-label", group);
        groups.set(group, place);
      }
      place.append(button);
    }
    this.row.replaceChildren(...groups.values());
  }

  /** Whether what is selected stays what is meant: something is open here, or has the focus. */
  get isHeld() {
    return !this.box.hidden && (this.opened !== null || this.box.contains(document.activeElement));
  }

  /** The selection has changed, or moved: the bar follows when it rests. */
  soon() {
    clearTimeout(this.timer);
    if (this.isHeld) return;
    this.timer = window.setTimeout(() => this.isHeld || this.show(null), REST_MS);
  }

  /** Shows what can be done with what is selected; what belongs to `asker`, with what is current.
   * @param {object | null} asker */
  show(asker) {
    this.drop();
    this.words = null;
    for (const [choice, button] of this.choices) {
      const place = choice.offers(choice.of === asker);
      button.hidden = !place;
      this.words ??= place;
    }
    for (const group of this.row.children) /** @type {HTMLElement} */ (group).hidden = [...group.children].every((button) => /** @type {HTMLElement} */ (button).hidden);
    this.box.hidden = !this.words;
    if (this.words && !this.box.isConnected) (document.querySelector("main") ?? document.body).append(this.box); // in a landmark
    this.put();
    return this.words !== null;
  }

  /** By keys: shows the bar, with the focus on a button; false where that has nothing to do.
   * @param {HTMLButtonElement} button */
  start(button) {
    clearTimeout(this.timer);
    const back = document.activeElement;
    const asked = [...this.choices].find(([, shown]) => shown === button)?.[0];
    if (!asked || !this.show(asked.of) || button.hidden) return false;
    this.back = back;
    button.focus();
    return true;
  }

  /** Opens something below the buttons, in place of what was open.
   * @param {HTMLButtonElement} opener @param {HTMLElement} element @param {() => void} shut */
  open(opener, element, shut) {
    this.drop();
    clearTimeout(this.timer);
    if (!this.back && !this.box.contains(document.activeElement)) this.back = document.activeElement;
    this.opened = { opener, element, shut };
    opener.setAttribute("aria-expanded", "true");
    this.box.append(element);
    this.put();
  }

  /** What is open goes; the bar stays. */
  drop() {
    const { opened } = this;
    if (!opened) return;
    this.opened = null;
    opened.opener.setAttribute("aria-expanded", "false");
    opened.element.remove();
    opened.shut();
    this.put();
  }

  hide() {
    clearTimeout(this.timer);
    this.drop();
    this.box.hidden = true;
    this.back = null;
  }

  /** All goes, and the focus is where it was. */
  close() {
    const { back } = this;
    const hadFocus = this.box.contains(document.activeElement);
    this.hide();
    if (hadFocus && back instanceof HTMLElement) back.focus({ preventScroll: true });
  }

  /** Places the bar below the words, or above them where there is no room; in what a keyboard on
   * the screen leaves of the window. */
  put() {
    if (!this.words || this.box.hidden) return;
    const { style, offsetWidth, offsetHeight } = this.box;
    const first = EDGE + (visualViewport?.offsetTop ?? 0);
    const last = (visualViewport ? visualViewport.offsetTop + visualViewport.height : innerHeight) - EDGE;
    const below = this.words.bottom + EDGE;
    const above = this.words.top - EDGE - offsetHeight;
    const top = below + offsetHeight > last && above >= first ? above : Math.min(below, last - offsetHeight);
    style.insetBlockStart = `${Math.max(first, top)}px`;
    const start = document.documentElement.dir === "rtl" ? innerWidth - this.words.right : this.words.left;
    style.insetInlineStart = `${Math.max(EDGE, Math.min(innerWidth - offsetWidth - EDGE, start))}px`;
  }

  /** Arrows move, Escape goes back; the page's own keys are not meant. @param {KeyboardEvent} event */
  pressed(event) {
    event.stopPropagation();
    if (event.key === "Escape") {
      event.preventDefault();
      const opener = this.opened?.opener;
      if (!opener) return this.close();
      this.drop();
      return opener.focus();
    }
    const inRow = this.row.contains(/** @type {Node} */ (event.target));
    const step = { ArrowDown: 1, ArrowUp: -1, ...(inRow ? { ArrowRight: 1, ArrowLeft: -1 } : {}) }[event.key];
    if (!step) return;
    const inside = inRow && event.key !== "ArrowDown" ? this.row : this.opened?.element;
    const places = /** @type {HTMLElement[]} */ ([...(inside?.querySelectorAll("input, button") ?? [])]).filter((place) => !place.hidden);
    if (!places.length) return;
    event.preventDefault();
    const at = places.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    places[(at + step + places.length) % places.length].focus();
  }
}

const ONE = Symbol.for("heddle.words-bar");

/** The one bar of the page, whichever file of the page asks for it. @returns {WordsBar} */
export function wordsBar() {
  const page = /** @type {any} */ (document);
  page[ONE] ??= new WordsBar();
  return page[ONE];
}
