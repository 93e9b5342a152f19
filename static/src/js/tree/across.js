// @ts-check
// Words that reach over the border of two texts: a comment stands at the first and quotes all of them;
// a suggestion becomes one for each text. Pure.

const MOST_QUOTED = 600; // characters of words that a comment quotes

/** A comment on words that go on in the next text: all of them as a quote, then what is said.
 * @param {string} words @param {string} said */
export function quoting(words, said) {
  const whole = words.trim();
  const shown = whole.length > MOST_QUOTED ? `${whole.slice(0, MOST_QUOTED).trimEnd()} …` : whole;
  return `${shown.split("\n").map((line) => `> ${line}`.trimEnd()).join("\n")}\n\n${said}`;
}

const TOKENS = /\s+|[\p{L}\p{N}\p{M}]+|[^\s]/gu;
const MOST_COMPARED = 4_000_000; // pairs of words of an old and a new wording

/** Which part of a new wording belongs to which of the parts of the old one: a border stays behind the
 * word before it where both have that, else before the first word behind it that both have.
 * @param {string[]} parts @param {string} written @returns {string[]} */
export function parted(parts, written) {
  const [old, now] = [parts.join("").match(TOKENS) ?? [], written.match(TOKENS) ?? []];
  const kept = keptIn(old, now);
  const starts = [0];
  for (const token of now) starts.push(starts[starts.length - 1] + token.length);
  let [end, from, token, at] = [0, 0, 0, 0];
  return parts.map((part, place) => {
    end += part.length;
    for (; token < old.length && at < end; token += 1) at += old[token].length;
    const before = kept.find(([was]) => was === token - 1);
    const next = kept.find(([was]) => was >= token);
    const border = before ? starts[before[1] + 1] : next ? starts[next[1]] : written.length;
    const to = place === parts.length - 1 ? written.length : border;
    const piece = written.slice(from, Math.max(from, to));
    from = Math.max(from, to);
    return piece;
  });
}

/** The words that two wordings have in common, in their order: their places in both. @param {string[]} old @param {string[]} now
 * @returns {[number, number][]} */
function keptIn(old, now) {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const [rows, columns] = [old.length - tail - head, now.length - tail - head];
  /** @type {[number, number][]} */
  const kept = Array.from({ length: head }, (_, at) => [at, at]);
  if (rows * columns <= MOST_COMPARED) kept.push(...longest(old, now, head, rows, columns));
  for (let left = tail; left > 0; left -= 1) kept.push([old.length - left, now.length - left]);
  return kept;
}

/** The longest row of words that two stretches have in common. @param {string[]} old @param {string[]} now @param {number} head
 * where both begin @param {number} rows @param {number} columns @returns {[number, number][]} */
function longest(old, now, head, rows, columns) {
  const wide = columns + 1;
  const lengths = new Uint16Array((rows + 1) * wide);
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const isSame = old[head + row] === now[head + column];
      lengths[row * wide + column] = isSame ? lengths[(row + 1) * wide + column + 1] + 1 : Math.max(lengths[(row + 1) * wide + column], lengths[row * wide + column + 1]);
    }
  }
  /** @type {[number, number][]} */
  const kept = [];
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    if (old[head + row] === now[head + column]) kept.push([head + row++, head + column++]);
    else if (lengths[(row + 1) * wide + column] >= lengths[row * wide + column + 1]) row += 1;
    else column += 1;
  }
  return kept;
}
