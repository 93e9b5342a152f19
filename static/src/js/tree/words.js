// @ts-check
// Two texts word by word: which words of the second are not in the first, in order.

const MOST = 4000; // words; above, a text counts as changed as a whole

/** @typedef {{text: string, changed: boolean}} Piece */

/** Words with the blanks that follow them. @param {string} text */
function words(text) {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/** Whether two words are the same but for the blanks behind them. @param {string} one @param {string} other */
function same(one, other) {
  return one.trimEnd() === other.trimEnd();
}

/**
 * The pieces of `after`, in order, each changed against `before` or not.
 * @param {string} before @param {string} after @returns {Piece[]}
 */
export function changes(before, after) {
  const old = words(before);
  const now = words(after);
  if (old.length > MOST || now.length > MOST) return [{ text: after, changed: before !== after }];
  const kept = common(old, now);
  /** @type {Piece[]} */
  const pieces = [];
  now.forEach((text, at) => {
    const changed = !kept.has(at);
    const last = pieces.at(-1);
    if (last?.changed === changed) last.text += text;
    else pieces.push({ text, changed });
  });
  return pieces;
}

/** The places in `now` of a longest common run of words. @param {string[]} old @param {string[]} now */
function common(old, now) {
  const width = now.length + 1;
  const table = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      table[at] = same(old[i], now[j]) ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  const kept = new Set();
  for (let i = 0, j = 0; i < old.length && j < now.length; ) {
    if (same(old[i], now[j])) {
      kept.add(j);
      i += 1;
      j += 1;
    } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return kept;
}
