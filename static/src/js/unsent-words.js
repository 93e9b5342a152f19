// @ts-check
// What was typed in the forms of plain pages and was not taken: it comes back to the one who typed it, in its form or
// beside the reason. What was taken does not stand in its form again after a step back.

import { readerHere } from "./live/kept-trees.js";
import { t } from "./t.js";
import { make } from "./tree/forms.js";

const UNSENT = "heddle.unsent"; // a form of a session that had ended
const DONE = "heddle.taken"; // the words of the forms that were taken last, as numbers
const MOST_DONE = 20;
const TYPED_BEFORE = "data-typed"; // of a field that has come back with what was typed in it, and was refused
export const TYPED = "textarea, input:not([type=hidden], [type=checkbox], [type=radio], [type=file], [type=password], [autocomplete=one-time-code])";

/** @typedef {{name: string, words: string, label: string, isNew: boolean}} Words of a field; isNew: typed, and not there before */
/** @typedef {{reader: string | null, pages: string[], what: number, kind: number, form: number, typed: Words[], chosen: string[]}} Sent */

/** A text as a number: some of it may be secret. @param {string} text */
function numberOf(text) {
  let number = 0;
  for (const letter of text) number = (Math.imul(number, 31) + /** @type {number} */ (letter.codePointAt(0))) | 0;
  return number;
}

/** What a form is about, where it is sent and what it sends that nobody types. @param {HTMLFormElement} form */
function about(form) {
  return numberOf(JSON.stringify([form.getAttribute("action") ?? "", ...hiddenOf(form).map(({ name, value }) => [name, value])]));
}

/** The same without which state of the page it was drawn from. @param {HTMLFormElement} form */
const kindOf = (form) => numberOf(JSON.stringify([form.getAttribute("action") ?? "", ...hiddenOf(form).map(({ name, value }) => [name, name === "seen" ? "" : value])]));

/** @param {HTMLFormElement} form @returns {HTMLInputElement[]} */
const hiddenOf = (form) => [...form.querySelectorAll("input[type=hidden]:not([name=csrfmiddlewaretoken])")].map((field) => /** @type {HTMLInputElement} */ (field));

/** @param {number} what */
const formsAbout = (what) => [...document.forms].filter((form) => about(form) === what);

/** The form of this page that was sent, as it is there now. @param {Sent} sent */
export function formOf(sent) {
  const same = formsAbout(sent.what)[sent.form];
  if (same) return same;
  const alike = [...document.forms].filter((form) => form.method === "post" && kindOf(form) === sent.kind);
  return alike.length === 1 ? alike[0] : undefined;
}

/** @param {Element} field */
const isTypedIn = (field) => field.matches(TYPED);

/** @param {Element} field */
const isChosen = (field) => field.matches("select:not([multiple]), [type=checkbox], [type=radio]");

/** What a field of choices has; "" as it came. @param {any} field */
function choiceOf(field) {
  if (!isChosen(field)) return "";
  if (field.matches("select")) return field.selectedIndex === defaultOf(field) ? "" : `=${field.value}`;
  return field.checked === field.defaultChecked ? "" : String(field.checked);
}

/** The option that a list began with. @param {HTMLSelectElement} list */
const defaultOf = (list) => Math.max(0, [...list.options].findIndex((option) => option.defaultSelected));

/** What is in a form that is sent. @param {HTMLFormElement} form @returns {Sent} */
export function wordsOf(form) {
  const fields = /** @type {HTMLInputElement[]} */ ([...form.elements]);
  const what = about(form);
  return {
    reader: readerHere(),
    pages: [location.pathname, new URL(form.getAttribute("action") ?? "", location.href).pathname],
    what,
    kind: kindOf(form),
    form: formsAbout(what).indexOf(form),
    typed: fields.map((field) => {
      const isNew = isTypedIn(field) && (field.value !== field.defaultValue || field.hasAttribute(TYPED_BEFORE));
      return { name: field.name, words: isNew ? field.value : "", label: isNew ? labelOf(field) : "", isNew };
    }),
    chosen: fields.map(choiceOf),
  };
}

/** @param {HTMLInputElement} field */
function labelOf(field) {
  const label = field.labels?.[0];
  return (field.getAttribute("aria-label") ?? label?.querySelector("span")?.textContent ?? label?.firstChild?.textContent ?? "").trim();
}

/** @param {Sent} sent */
const hasWords = (sent) => sent.typed.some(({ words, isNew }) => isNew && words.trim());

/** Puts what was typed and chosen into a form that has come back without it. @param {HTMLFormElement} form @param {Sent} sent */
export function typeAgain(form, { typed, chosen }) {
  const fields = /** @type {any[]} */ ([...form.elements]);
  for (const [at, field] of fields.entries()) {
    if (!(typed[at]?.isNew && typed[at].name === field.name && isTypedIn(field))) continue;
    if (field.value === field.defaultValue) field.value = typed[at].words;
    field.setAttribute(TYPED_BEFORE, "");
  }
  if (typed.some(({ isNew }) => isNew)) for (const [at, field] of fields.entries()) if (chosen[at] && typed[at].name === field.name) chooseAgain(field, chosen[at]);
  form.closest("details")?.setAttribute("open", "");
}

/** @param {any} field @param {string} choice */
function chooseAgain(field, choice) {
  if (!isChosen(field) || choiceOf(field) || field.matches("[data-sends]")) return;
  if (choice.startsWith("=")) {
    if ([...(field.options ?? [])].some((option) => option.value === choice.slice(1))) field.value = choice.slice(1);
  } else field.checked = choice === "true";
}

/** Shows what was typed where its form does not come back, to be copied. @param {Sent} sent @param {Element | undefined} [after] */
export function showWords(sent, after) {
  if (sent.reader !== readerHere()) return;
  const fields = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll(TYPED)].filter((field) => field.closest("main")));
  const lost = sent.typed.filter(({ words, isNew }) => isNew && words.trim() && !fields.some(({ value }) => value === words));
  if (!lost.length) return;
  const rows = lost.map(({ words, label }) => {
    const copy = make("button", { type: "button", className: "button small quiet", textContent: t("Copy") });
    copy.setAttribute("data-copy", "");
    const text = make("p", { className: "unsent-text", dir: "auto", textContent: words });
    text.setAttribute("data-secret", "");
    return make("div", {}, ...(label ? [make("p", { className: "soft", textContent: label })] : []), text, copy);
  });
  const box = make("section", { className: "unsent-words", ariaLabel: t("What you wrote was not sent") }, make("h2", { textContent: t("What you wrote was not sent") }), ...rows);
  const main = document.querySelector("main");
  if (after) after.after(box);
  else main?.prepend(box);
}

/** Keeps a form whose session had ended, until its person is signed in again. @param {Sent} sent */
export function keepUnsent(sent) {
  if (readerHere() !== "" || !sent.reader || !hasWords(sent)) return;
  write(UNSENT, sent);
}

/** Puts the words of such a form back, for the one who typed them alone, and says so; the form. */
export function returnUnsent() {
  const sent = /** @type {Sent | null} */ (read(UNSENT));
  const reader = readerHere();
  if (!sent || !reader) return undefined;
  if (reader !== sent.reader) sessionStorage.removeItem(UNSENT);
  if (reader !== sent.reader || sent.pages[0] !== location.pathname) return undefined;
  sessionStorage.removeItem(UNSENT);
  const form = formOf(sent);
  if (!form) showWords(sent);
  else {
    typeAgain(form, sent);
    form.prepend(make("p", { className: "refusal", role: "alert", textContent: t("You were signed out, so this was not sent. Send it again.") }));
  }
  return form;
}

/** Notes that a form was taken. @param {Sent} sent */
export function noteTaken(sent) {
  if (!sent.reader || sent.reader !== readerHere() || !hasWords(sent)) return;
  const { what, form, typed } = sent;
  const words = typed.map(({ words, isNew }) => (isNew && words ? numberOf(words) : 0));
  write(DONE, [...(read(DONE) ?? []), { page: sent.pages[0], what, form, words }].slice(-MOST_DONE));
}

/** After a step back: takes words that were sent out of the form in which the browser has put them again. */
export function clearTaken() {
  for (const { page, what, form, words } of read(DONE) ?? []) {
    const there = page === location.pathname && formsAbout(what)[form];
    const fields = /** @type {HTMLInputElement[]} */ (there ? [...there.elements] : []);
    const typed = fields.filter((field, at) => words[at] && isTypedIn(field));
    const isSame = typed.length > 0 && fields.every((field, at) => !words[at] || (isTypedIn(field) && numberOf(field.value) === words[at]));
    if (isSame) for (const field of typed) field.value = field.defaultValue;
  }
}

/** @param {string} name @returns {any} */
function read(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} name @param {unknown} value */
function write(name, value) {
  try {
    sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // a browser without room keeps nothing
  }
}
