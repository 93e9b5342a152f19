// @ts-check
// Puts fresh markup in place of what is drawn, and changes only what differs: focus, selection,
// scroll, what is unfolded and what somebody is writing stay. And what of a node is the reader's
// own, which the server draws for everybody alike.

import { Idiomorph } from "idiomorph";
import { age } from "../pages.js";
import { t } from "../t.js";
import { capsOf, shortcutFor } from "./shortcuts.js";

/** @typedef {import("./page.js").TreePage} TreePage */

// What the page itself puts on and into elements; no markup from the server takes it away.
const OWN_CLASSES = ["picked", "last", "folded", "editing", "chosen", "on", "taken", "strip", "pointed"];
const OWN_ELEMENTS = "form, [data-own]";
const OPEN_FORM = "form.inline-form";
const FIELDS = "input, textarea, select, [contenteditable]";
const KEPT = "data-kept";

/** The children of some markup. @param {string} markup */
export function parsed(markup) {
  const template = document.createElement("template");
  template.innerHTML = markup;
  return template.content;
}

/** Makes the children of `parent` be `fresh`, in order, matched by their ids.
 * @param {Element} parent @param {Element[]} fresh
 * @param {{kept?: Element[], mayChange?: (old: Element, fresh: Element) => boolean}} [how]
 * kept: children that come first and stay as they are; mayChange: false leaves an element alone */
export function morph(parent, fresh, { kept = [], mayChange = () => true } = {}) {
  Idiomorph.morph(parent, /** @type {any} */ ([...kept.map(placeFor), ...fresh]), { morphStyle: "innerHTML", ...careful(mayChange) });
}

/** Makes one element be the fresh one, which has the same id. @param {Element} old @param {Element} fresh
 * @param {(old: Element, fresh: Element) => boolean} [mayChange] false leaves an element alone */
export function morphOne(old, fresh, mayChange = () => true) {
  Idiomorph.morph(old, fresh, { morphStyle: "outerHTML", ...careful(mayChange) });
}

/** How Idiomorph leaves alone what is the page's or the reader's own.
 * @param {(old: Element, fresh: Element) => boolean} mayChange */
function careful(mayChange) {
  return {
    // Idiomorph leaves the whole content of what has focus alone, so this is for fields only: a
    // text may have focus too, and is drawn again like any other.
    ignoreActiveValue: document.activeElement?.matches(FIELDS) ?? false,
    callbacks: {
      beforeNodeRemoved: (/** @type {Node} */ node) => !(node instanceof Element && (node.matches(OWN_ELEMENTS) || isAnswered(node))),
      beforeNodeMorphed: (/** @type {Node} */ old, /** @type {Node} */ now) => !(old instanceof Element && now instanceof Element) || (!isSame(old, now) && mayChange(old, now) && carry(old, now)),
      beforeAttributeUpdated: (/** @type {string} */ name, /** @type {Element} */ element) => !isOwn(name, element),
    },
  };
}

/** Whether somebody is writing in a note, or in one of these notes. @param {Element} node */
function isAnswered(node) {
  return node.matches(".note, .notes") && node.querySelector(OPEN_FORM) !== null;
}

/** Makes a drawn text count as another version of it before that is drawn, where a form is open in
 * it: so the form stays where it is, with its focus, its caret and what was typed. Whether it did.
 * @param {Element} old @param {Element} fresh the other version */
export function becomeVersion(old, fresh) {
  if (fresh.id === old.id || !old.querySelector(OPEN_FORM)) return false;
  old.querySelector(":scope > .notes")?.setAttribute("id", fresh.id.replace(/^n-/, "notes-"));
  old.id = fresh.id;
  old.setAttribute("data-id", fresh.getAttribute("data-id") ?? "");
  old.removeAttribute("data-whole");
  // The text of one version never changes, so that `morph` would leave it.
  const text = fresh.querySelector(":scope > .text");
  if (text) old.querySelector(":scope > .text")?.replaceWith(text.cloneNode(true));
  for (const form of old.querySelectorAll(`:scope > ${OPEN_FORM}`)) sayNewer(form);
  return true;
}

/** Says in a form that the text it was opened for has a newer version. @param {Element} form */
function sayNewer(form) {
  if (form.querySelector(".newer")) return;
  const words = Object.assign(document.createElement("p"), { className: "soft newer", textContent: t("There is a newer wording of a text that you read.") });
  words.setAttribute("role", "status");
  form.append(words);
}

/** What stands for an element that stays as it is. @param {Element} element */
function placeFor(element) {
  const place = document.createElement(element.localName);
  place.id = element.id;
  place.setAttribute(KEPT, "");
  return place;
}

/** Whether there is nothing to change. An age is no change, and a node's text never changes.
 * @param {Element} old @param {Element} now */
function isSame(old, now) {
  if (now.hasAttribute(KEPT) || old.isEqualNode(now)) return true;
  if (old.matches("time")) return old.getAttribute("datetime") === now.getAttribute("datetime");
  // What leads out of the grove is drawn for its reader alone, and fetched by itself.
  if (old.matches("[data-portals-out]")) return !now.childElementCount;
  // What a panel shows, it fetches by itself.
  if (old.matches("loom-panel")) return old.getAttribute("data-src") === now.getAttribute("data-src");
  // What notes are about in a text is marked in it.
  return old.matches(".portal-in") || (old.matches(".node > .text") && marksIn(old) === marksIn(now));
}

/** The notes on words of a text, with these words. @param {Element} text */
function marksIn(text) {
  return [...text.querySelectorAll("[data-of-comment]")].map((mark) => `${mark.getAttribute("data-of-comment")} ${mark.textContent}`).join("\n");
}

/** Takes over into fresh markup what the page knows. @param {Element} old @param {Element} now */
function carry(old, now) {
  for (const name of OWN_CLASSES) if (old.classList.contains(name)) now.classList.add(name);
  if (old.matches(".node[data-whole]")) now.querySelector(":scope > .rest")?.remove();
  if (old instanceof HTMLDetailsElement && old.matches(".portal") && old.dataset.portal !== now.getAttribute("data-portal")) empty(old);
  return true;
}

/** A portal that leads elsewhere by now is filled again. @param {HTMLDetailsElement} portal */
function empty(portal) {
  portal.open = false;
  portal.querySelector(".portal-in")?.replaceChildren();
}

/** Whether an attribute is the reader's doing. @param {string} name @param {Element} element */
function isOwn(name, element) {
  // One without anything in it is only being made.
  if (name === "open") return element.matches("details") && element.childElementCount > 0;
  if (name === "aria-expanded") return element.matches(".fold");
  return name === "data-whole" || name === "data-taken" || (name === "title" && element.matches("time"));
}

/** Fills in, for the reader of this page, a node that was drawn for everybody: their own name,
 * bookmark and keys, ages, and whether another wording is above it than the one it continues.
 * @param {Element} node @param {TreePage} page @param {string} above the version above it */
export function makeOwn(node, page, above) {
  const { me } = page.settings;
  makeOwnPart(node, me);
  if (node.getAttribute("data-writer") === me) node.setAttribute("aria-label", `${node.getAttribute("data-id")}, ${t("You")}`);
  for (const key of node.querySelectorAll("kbd[data-key]")) key.replaceWith(...drawnCaps(page.settings.keys, key.getAttribute("data-key") ?? ""));
  node.classList.toggle("bookmarked", namesIn(node, "data-bookmarked-by").includes(me));
  node.classList.toggle("reworded", isReworded(node, above));
}

/** Lets who may comment resolve notes of their own. @param {Element} drawn @param {string} me */
export function letOwnResolve(drawn, me) {
  const notes = [drawn, ...drawn.querySelectorAll(".note")].filter((element) => element.matches(".note"));
  for (const note of notes) {
    if (note.querySelector(`:scope > header [data-by="${CSS.escape(me)}"]`)) note.querySelector("[data-act='resolve']")?.setAttribute("data-needs", "comment");
  }
}

/** Fills in the reader's name and ages, and lets who may comment resolve notes of their own. @param {Element} drawn @param {string} me */
export function makeOwnPart(drawn, me) {
  nameReader(drawn, me);
  letOwnResolve(drawn, me);
  for (const time of drawn.querySelectorAll("time[datetime]")) time.textContent = age(new Date(time.getAttribute("datetime") ?? ""));
}

/** Says "You" where the reader is named; print has the name. @param {ParentNode} drawn @param {string} me */
export function nameReader(drawn, me) {
  for (const by of drawn.querySelectorAll(`[data-by="${CSS.escape(me)}"]`)) {
    if (by.textContent !== t("You")) by.setAttribute("data-name", by.textContent ?? "");
    by.textContent = t("You");
  }
}

/** Whether a node was written after another wording than the one above it. @param {Element} node @param {string} above */
export function isReworded(node, above) {
  return Boolean(above) && node.hasAttribute("data-wordings") && !namesIn(node, "data-wordings").includes(above);
}

/** A key as it is drawn. @param {import("./page.js").Settings["keys"]} groups @param {string} id */
function drawnCaps(groups, id) {
  const caps = capsOf(shortcutFor(groups, id)).map((cap) => Object.assign(document.createElement("kbd"), { textContent: cap }));
  return caps.flatMap((cap, at) => (at ? [" ", cap] : [cap]));
}

/** @param {Element} node @param {string} attribute */
function namesIn(node, attribute) {
  return (node.getAttribute(attribute) ?? "").split(" ");
}

const MOST_COUNTED = 1000; // as the server counts them

/** Says which of how many siblings a node is; false where it had none yet.
 * @param {Element} node @param {import("./store.js").TreeStore} store @param {number} slot */
export function countSiblings(node, store, slot) {
  const shown = node.querySelector(":scope > footer > .sib:not(.plain)");
  const parent = store.parents[slot];
  if (!shown || parent === null || parent === undefined || store.isPruned(slot)) return false;
  const siblings = store.childrenOf(parent);
  const place = siblings.indexOf(slot);
  const [before, count, after] = shown.children;
  const all = siblings.length > MOST_COUNTED ? `${MOST_COUNTED}+` : siblings.length;
  count.textContent = place < MOST_COUNTED ? `${place + 1} / ${all}` : `${all}`;
  lead(before, siblings[place - 1]);
  lead(after, siblings[place + 1]);
  return true;

  /** @param {Element} link @param {number | undefined} to */
  function lead(link, to) {
    if (to === undefined) {
      for (const name of ["href", "data-go", "data-slot"]) link.removeAttribute(name);
      link.setAttribute("aria-disabled", "true");
      return;
    }
    const id = store.selected(to);
    link.removeAttribute("aria-disabled");
    for (const [name, value] of [["href", `?node=${id}`], ["data-go", id], ["data-slot", ""]]) link.setAttribute(name, value);
  }
}
