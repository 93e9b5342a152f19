// @ts-check
// How much a field takes: what is longer is not cut, which nobody sees, but not sent, which is said.

import { language, t } from "./t.js";

const LONG = 1000; // characters that a field of one line takes, where texts are pasted into it

/** @typedef {HTMLTextAreaElement | HTMLInputElement} Field */

/** @param {EventTarget | null} field @returns {field is Field} */
const takesTexts = (field) => field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && field.maxLength >= LONG);

/** Says how much a field takes where more is written in it. @param {Field} field */
export function checkLength(field) {
  const most = Number(field.dataset.most);
  const count = field.value.length > most ? [...field.value].length : 0;
  const written = (/** @type {number} */ number) => number.toLocaleString(language());
  field.setCustomValidity(count > most ? t("At most {n} characters; these are {count}.", { n: written(most), count: written(count) }) : "");
}

/** Keeps browsers from cutting a text that is pasted into a field, on every page. */
export function limitTexts() {
  document.addEventListener("focusin", ({ target }) => {
    if (!takesTexts(target) || target.maxLength < 0) return;
    target.dataset.most = String(target.maxLength);
    target.removeAttribute("maxlength");
  });
  document.addEventListener("input", ({ target }) => {
    if ((target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement) && target.dataset.most) checkLength(target);
  });
}
