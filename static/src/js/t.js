// @ts-check
// Words of the page in the reader's language: English is the key, the catalogue has the rest.

/** @typedef {Record<string, string | string[]>} Catalogue */

/** @type {Catalogue | null} */
let catalogue = null;

/** @returns {Catalogue} */
function words() {
  if (catalogue) return catalogue;
  const kept = typeof document === "undefined" ? null : document.getElementById("words");
  catalogue = kept ? JSON.parse(kept.textContent ?? "{}") : {};
  return /** @type {Catalogue} */ (catalogue);
}

/** @param {string} text @param {Record<string, string | number>} values */
function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** The text in the reader's language; `{name}` stands for a value.
 * @param {string} text @param {Record<string, string | number>} [values] */
export function t(text, values = {}) {
  const translated = words()[text];
  return fill(typeof translated === "string" && translated ? translated : text, values);
}

/** One text for one thing and another for several; `{n}` is how many. The catalogue's entry ""
 * tells for 0 to 199 things which form is meant: formulas repeat after that.
 * @param {string} singular @param {string} many @param {number} n @param {Record<string, string | number>} [values] */
export function tn(singular, many, n, values = {}) {
  const forms = words()[singular];
  const rule = words()[""];
  const place = typeof rule === "string" && rule ? Number(rule[n < 200 ? n : 100 + (n % 100)]) : Number(n !== 1);
  const form = (Array.isArray(forms) ? forms : [singular, many])[place] || many;
  return fill(form, { n: n.toLocaleString(language()), ...values });
}

/** The language of the page, for dates and numbers. */
export function language() {
  return (typeof document !== "undefined" && document.documentElement.lang) || "en";
}

/** Takes a catalogue at hand instead of the page's. @param {Catalogue} given */
export function learn(given) {
  catalogue = given;
}
