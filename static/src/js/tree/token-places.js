// @ts-check
// Where the tokens of a text stand in what is drawn of it, which lacks the marks of Markdown. Pure.

const BLANK = /\s/;
const NEAR = 200; // characters within which the drawn text goes on after a piece that is not drawn
const SAME = 8; // characters that have to be the same there

const PASSED = 3; // characters that are not drawn, after which one alone says nothing
const RUN = 4; // characters that then have to be the same

/** [from, to] of each token in the drawn text; from and to are equal for a token of which nothing is drawn.
 * @param {string[]} tokens @param {string} drawn @returns {[number, number][]} */
export function placesIn(tokens, drawn) {
  const source = tokens.join("");
  let [at, read, passed] = [0, 0, 0];
  return tokens.map((token) => {
    let [from, to] = [-1, -1];
    for (const end = read + token.length; read < end; read += 1) {
      const place = placeOf(source, read, drawn, at, passed > PASSED ? RUN : 1);
      if (place < 0) {
        if (!BLANK.test(source[read])) passed += 1;
        continue;
      }
      passed = 0;
      if (from < 0) from = place;
      at = to = place + 1;
    }
    return from < 0 ? [at, at] : [from, to];
  });
}

/** Where a character of the source is drawn, -1 if it is not; `run` characters have to be the same.
 * @param {string} source @param {number} read @param {string} drawn @param {number} at @param {number} run */
function placeOf(source, read, drawn, at, run) {
  const piece = source.slice(read, read + run);
  if (drawn.startsWith(piece, at)) return at;
  let next = at;
  while (next < drawn.length && BLANK.test(drawn[next])) next += 1;
  if (BLANK.test(source[read])) return next > at && run === 1 ? at : -1; // several blanks may be drawn as one
  if (drawn.startsWith(piece, next)) return next;
  if (source.length - read < SAME) return -1;
  const index = drawn.slice(at, at + NEAR).indexOf(source.slice(read, read + SAME));
  return index < 0 ? -1 : at + index;
}
