// @ts-check
// Where a text names the cards of its lore: whole words in any case, as the server finds them. Pure.

/** @typedef {{id: string, title: string, kind: string, keys: string[], text: string}} LoreCard */
/** @typedef {{from: number, to: number, card: LoreCard}} Named */

const MOST = 2000; // places that are found in one text

/** Above this, scripts put no blanks between words: a key may stand anywhere. */
const UNSPACED = /[\u0e00-\u1dff\u2000-\u{10ffff}]/u;

/** A function that finds the places in a text. @param {LoreCard[]} cards @returns {(text: string) => Named[]} */
export function finderOf(cards) {
  /** @type {Map<string, LoreCard>} */
  const byKey = new Map();
  for (const card of cards) for (const key of card.keys) if (!byKey.has(folded(key))) byKey.set(folded(key), card);
  const keys = [...byKey.keys()].filter(Boolean).sort((first, other) => other.length - first.length);
  if (!keys.length) return () => [];
  const pattern = new RegExp(keys.map(asPattern).join("|"), "giu");
  return (text) => {
    /** @type {Named[]} */
    const matches = [];
    for (const match of text.matchAll(pattern)) {
      const card = byKey.get(folded(match[0]));
      if (card) matches.push({ from: match.index, to: match.index + match[0].length, card });
      if (matches.length === MOST) break;
    }
    return matches;
  };
}

/** @param {string} key */
function asPattern(key) {
  const words = key.split(" ").map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("\\s+");
  const before = UNSPACED.test(key[0]) || !/[\p{L}\p{N}_]/u.test(key[0]) ? "" : "(?<![\\p{L}\\p{N}\\p{M}_])";
  const after = UNSPACED.test(key.at(-1) ?? "") || !/[\p{L}\p{N}_]/u.test(key.at(-1) ?? "") ? "" : "(?![\\p{L}\\p{N}\\p{M}_])";
  return before + words + after;
}

/** @param {string} text */
function folded(text) {
  return text.normalize("NFC").toLowerCase().split(/\s+/).filter(Boolean).join(" ");
}
