// @ts-check
// What may come next in a line: refs, options and their values, by the syntax of its forms.

/** @typedef {import("./choices.js").Choice} Choice */
/** @typedef {{ids: string[], words: (id: string) => string}} Nearby nodes of the tree, the nearest first */

const REFS = ["here", "parent", "root"];
const MOST = 8;

/** The options of a syntax with the values that are words: `as:` → version, fork. @param {string} syntax */
function optionsOf(syntax) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const [, name, rest] of syntax.matchAll(/\b([a-z-]+):([^\s\]]*)/g)) {
    const values = rest.split("|").filter((value) => /^[a-z]+$/.test(value));
    found.set(name, values.length > 1 ? values : []);
  }
  return found;
}

/** Words that may take the place of the last one of a line, as choices.
 * @param {string[]} forms the syntaxes of its verb @param {string} line after the arrow
 * @param {Nearby} nearby @returns {Choice[]} */
export function wordChoices(forms, line, nearby) {
  const last = /\S*$/.exec(line)?.[0] ?? "";
  const before = line.slice(0, line.length - last.length);
  if (/["\n]/.test(line) && (line.split('"').length % 2 === 0 || line.includes("\n"))) return [];
  const put = (/** @type {string} */ word, /** @type {string} */ after, /** @type {string} */ words = "") => ({
    parts: /** @type {import("./choices.js").Part[]} */ ([{ kind: "line", text: word }, { kind: "excerpt", text: words }]),
    complete: `→ ${before}${word}${after}`,
  });
  const options = new Map(forms.flatMap((form) => [...optionsOf(form)]));
  const [name, value] = last.split(":");
  if (value !== undefined) return (options.get(name) ?? []).filter((one) => one.startsWith(value)).map((one) => put(`${name}:${one}`, " "));
  const open = [...options.keys()].filter((one) => one.startsWith(last) && !new RegExp(`\\b${one}:`).test(before));
  const takesRef = forms.some((form) => /\bREF\b/.test(form));
  const refs = takesRef ? [...REFS, ...(last ? nearby.ids : nearby.ids.slice(0, 3))].filter((one) => one.startsWith(last.toLowerCase())) : [];
  return [...refs.slice(0, MOST).map((one) => put(one, " ", REFS.includes(one) ? "" : nearby.words(one))), ...open.map((one) => put(`${one}:`, ""))];
}
