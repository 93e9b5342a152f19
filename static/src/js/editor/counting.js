// @ts-check
// Words: of a text, and of many texts in a row, of which one may end within a word of the next.

/** @typedef {{words: number, isOpenBefore: boolean, isOpenAfter: boolean, isEmpty: boolean}} Count open: the text begins, or ends, within a word */

// Scripts that write no blanks between words: each of their characters counts as one.
const EACH = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}";
const WORD = new RegExp(`[${EACH}]|[^\\s${EACH}]+`, "gu");
const INSIDE = new RegExp(`[^\\s${EACH}]`, "u");

/** @param {string} text @returns {Count} */
export function countOf(text) {
  let words = 0;
  WORD.lastIndex = 0;
  while (WORD.test(text)) words += 1;
  const last = /[\s\S]$/u.exec(text.slice(-2))?.[0] ?? "";
  return { words, isOpenBefore: INSIDE.test(/^[\s\S]/u.exec(text)?.[0] ?? ""), isOpenAfter: INSIDE.test(last), isEmpty: !text };
}

/** The words of texts in a row. @param {Iterable<Count>} counts */
export function sumOf(counts) {
  let words = 0;
  let isOpen = false;
  for (const count of counts) {
    if (count.isEmpty) continue;
    words += count.words - Number(isOpen && count.isOpenBefore);
    isOpen = count.isOpenAfter;
  }
  return words;
}
