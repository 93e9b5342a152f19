// @ts-check
// What is found in a text, and which match comes next.

/** @typedef {{from: number, to: number}} Match */
/** @typedef {{query: string, isExact: boolean, isReplacing: boolean}} Search isExact: with the case as typed */

const MOST = 50_000; // matches that are counted and replaced at once

/** @param {Search} search */
function pattern({ query, isExact }) {
  return new RegExp(query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), isExact ? "gu" : "giu");
}

/** The matches in a text, in order, without overlaps. @param {string} text @param {Search} search @param {number} [offset] of the text in its document @returns {Match[]} */
export function matchesIn(text, search, offset = 0) {
  if (!search.query) return [];
  const matches = [];
  for (const { index, 0: words } of text.matchAll(pattern(search))) {
    matches.push({ from: offset + index, to: offset + index + words.length });
    if (matches.length === MOST) break;
  }
  return matches;
}

/** The match to go to from a place: the next one, or the one before; around at the ends.
 * @param {Match[]} matches @param {{from: number, to: number}} here @param {number} step 1 or -1 */
export function towardsMatch(matches, here, step) {
  if (step > 0) return matches.find((match) => match.from >= here.to) ?? matches[0];
  return matches.filter((match) => match.to <= here.from).at(-1) ?? matches.at(-1);
}
