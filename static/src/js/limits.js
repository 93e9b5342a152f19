// @ts-check
// How much a field takes: what is longer is not cut, which nobody sees, but not sent, which is said.

import { language, t } from "./t.js";

/** Says how much a text area takes where more is written in it. @param {HTMLTextAreaElement} field */
export function checkLength(field) {
  const most = Number(field.dataset.most);
  const count = field.value.length > most ? [...field.value].length : 0;
  const written = (/** @type {number} */ number) => number.toLocaleString(language());
  field.setCustomValidity(count > most ? t("At most {n} characters; these are {count}.", { n: written(most), count: written(count) }) : "");
}

/** Keeps browsers from cutting what is pasted into a text area, on every page. */
export function limitTexts() {
  document.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof HTMLTextAreaElement) || target.maxLength < 0) return;
    target.dataset.most = String(target.maxLength);
    target.removeAttribute("maxlength");
  });
  document.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLTextAreaElement && target.dataset.most) checkLength(target);
  });
}
