// @ts-check
// Samplers between the fields of a form and the settings of a request.

/** @typedef {number | string | string[] | Record<string, number>} Value */
/** @typedef {Record<string, Value>} Values */

/** The settings of what is in the fields; an empty field sets nothing.
 * @param {[string, string][]} fields @returns {Values} */
export function valuesOf(fields) {
  /** @type {Values} */
  const values = {};
  for (const [name, text] of fields) {
    if (!text.trim() && name !== "stop") continue;
    if (!text) continue;
    if (name === "stop") values.stop = text.split("\n").filter(Boolean).map((line) => line.replaceAll("\\n", "\n"));
    else if (name === "grammar") values.grammar = text;
    else if (name === "logit_bias") values.logit_bias = biases(text);
    else if (Number.isFinite(Number(text))) values[name] = Number(text);
  }
  return values;
}

/** Biases as they are written: `1734 -100`, one a line. @param {string} text */
function biases(text) {
  const pairs = [...text.matchAll(/(\d+)\s*[:= ]\s*(-?[\d.]+)/g)];
  return Object.fromEntries(pairs.map(([, token, bias]) => [token, Number(bias)]));
}

/** A value as its field shows it. @param {Value | undefined} value */
export function filled(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((line) => line.replaceAll("\n", "\\n")).join("\n");
  if (typeof value === "object") return Object.entries(value).map(([token, bias]) => `${token} ${bias}`).join("\n");
  return String(value);
}
