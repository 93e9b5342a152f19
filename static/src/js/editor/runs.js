// @ts-check
// The text of a buffer as runs: which stretch is which node's, and whose each character is.
// Pure: lengths and changes in, lengths out. The last stretch is the working buffer.

/** @typedef {{from: number, to: number, length: number}} Change old places, and how much came instead */
/** @typedef {{who: string, length: number, fresh: boolean}} Piece fresh: typed, and not yet a node's */

/**
 * Lengths of the stretches after changes, and which of them were touched. What is typed between
 * two nodes belongs to the one before, behind the last node to the working buffer; what
 * replaces a selection belongs to the first node that lost something.
 * @param {number[]} lengths the nodes' and, last, the working buffer's @param {Change[]} changes in order
 */
export function stretched(lengths, changes) {
  const next = lengths.slice();
  const touched = /** @type {Set<number>} */ (new Set());
  let first = 0; // no stretch before it meets this change or a later one
  let start = 0;
  for (const { from, to, length } of changes) {
    while (first < lengths.length - 1 && start + lengths[first] < from) start += lengths[first++];
    let at = start;
    let owner = -1;
    for (let place = first; place < lengths.length && at <= to; place += 1) {
      const end = at + lengths[place];
      const lost = Math.min(to, end) - Math.max(from, at);
      if (lost > 0) {
        next[place] -= lost;
        touched.add(place);
        if (owner < 0) owner = place;
      }
      at = end;
    }
    if (!length) continue;
    if (owner < 0) owner = ownerOf(lengths, from);
    next[owner] += length;
    touched.add(owner);
  }
  return { lengths: next, touched };
}

/** The stretch that what is typed at a place goes to. @param {number[]} lengths @param {number} at */
export function ownerOf(lengths, at) {
  const tail = lengths.length - 1;
  let end = 0;
  for (let place = 0; place < tail; place += 1) {
    end += lengths[place];
    if (at < end || (at === end && hasMore(lengths, place))) return place;
  }
  return tail;
}

/** Whether a node comes after this one that holds text. @param {number[]} lengths @param {number} place */
function hasMore(lengths, place) {
  for (let later = place + 1; later < lengths.length - 1; later += 1) if (lengths[later]) return true;
  return false;
}

/** The pieces after changes: what came is `who`'s, and fresh. What stays is not copied.
 * @param {Piece[]} pieces @param {Change[]} changes in order @param {string} who @returns {Piece[]} */
export function repainted(pieces, changes, who) {
  const part = cutter(pieces);
  const runs = /** @type {Piece[][]} */ ([]);
  let at = 0;
  for (const { from, to, length } of changes) {
    runs.push(part(at, from), length ? [{ who, length, fresh: true }] : []);
    at = to;
  }
  runs.push(part(at, Infinity));
  return chained(runs);
}

/** Runs as one, each of which is joined in itself: only their ends are looked at. A long text has
 * many pieces, of which a key changes one. The first run is used up. @param {Piece[][]} runs */
function chained([pieces, ...rest]) {
  for (const run of rest) {
    if (run.length) join(pieces, run[0]);
    if (run.length > 1) pieces = pieces.concat(run.slice(1));
  }
  return pieces;
}

/** @param {Piece[]} pieces @param {Piece} piece */
function join(pieces, piece) {
  const last = pieces[pieces.length - 1];
  if (!piece.length) return;
  // A piece may be part of another book, and is never changed.
  if (last && last.who === piece.who && last.fresh === piece.fresh) pieces[pieces.length - 1] = { ...last, length: last.length + piece.length };
  else pieces.push(piece);
}

/** The pieces of one stretch. @param {Piece[]} pieces @param {number} from @param {number} to @returns {Piece[]} */
export function cut(pieces, from, to) {
  return cutter(pieces)(from, to);
}

/** The same for several stretches in order: all of them together are one walk.
 * @param {Piece[]} pieces @returns {(from: number, to: number) => Piece[]} */
export function cutter(pieces) {
  let first = 0;
  let start = 0; // of pieces[first]
  return (from, to) => {
    while (first < pieces.length && start + pieces[first].length <= from) start += pieces[first++].length;
    let last = first;
    let end = start;
    while (last < pieces.length && end < to) end += pieces[last++].length;
    if (to <= from || last === first) return [];
    // Whole but for the ends: the first may begin before, the last end behind.
    const within = pieces.slice(first, last);
    if (start < from) within[0] = { ...within[0], length: within[0].length - (from - start) };
    const tail = within.length - 1;
    if (end > to) within[tail] = { ...within[tail], length: within[tail].length - (end - to) };
    return within;
  };
}

/** Several runs of pieces as one. @param {Piece[][]} runs */
export function joined(runs) {
  const pieces = /** @type {Piece[]} */ ([]);
  for (const run of runs) for (const piece of run) join(pieces, piece);
  return pieces;
}

/** The least change that makes one text another: what stays at both ends is left alone, and
 * no character is cut in two. @param {string} before @param {string} after */
export function leastChange(before, after) {
  let head = 0;
  const most = Math.min(before.length, after.length);
  while (head < most && before[head] === after[head]) head += 1;
  if (isHigh(before, head - 1)) head -= 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  if (isLow(before, before.length - tail)) tail -= 1;
  return { from: head, to: before.length - tail, insert: after.slice(head, after.length - tail) };
}

/** Texts that follow each other, changed so that together they are another text: what was typed is in the first that it meets.
 * @param {string[]} texts @param {string} whole @returns {string[]} */
export function spread(texts, whole) {
  const { from, to, insert } = leastChange(texts.join(""), whole);
  let start = 0;
  let isPut = false;
  return texts.map((text) => {
    const within = (/** @type {number} */ at) => Math.max(0, Math.min(at - start, text.length));
    const [head, foot] = [within(from), within(to)];
    const isHere = !isPut && from <= start + text.length;
    isPut ||= isHere;
    start += text.length;
    return text.slice(0, head) + (isHere ? insert : "") + text.slice(foot);
  });
}

/** @param {string} text @param {number} at */
const isHigh = (text, at) => /[\ud800-\udbff]/.test(text[at] ?? "");
/** @param {string} text @param {number} at */
const isLow = (text, at) => /[\udc00-\udfff]/.test(text[at] ?? "");

/** The next word of a ghost, with the blanks before it. @param {string} text */
export function nextWord(text) {
  return /^\s*(?:[\p{L}\p{N}\p{M}_'’]+|[^\s\p{L}\p{N}\p{M}_]+|$)/u.exec(text)?.[0] || text;
}

/** How a text is counted outside the browser. @param {string} text */
export function codePoints(text) {
  return [...text].length;
}
