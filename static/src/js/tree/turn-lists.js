// @ts-check
// The order and number of the cards of turns in their lists.

const MOST_ENDED = 3; // at one node, as the server sends them
const MOST_ASIDES = 12;

/** Those that ended come first, the last few of them. @param {Element | null | undefined} list */
export function tidy(list) {
  const ended = [...(list?.querySelectorAll(":scope > .turn:not(.working)") ?? [])];
  const working = list?.querySelector(":scope > .turn.working") ?? null;
  for (const turn of ended) if (working && working.compareDocumentPosition(turn) & Node.DOCUMENT_POSITION_FOLLOWING) list?.insertBefore(turn, working);
  for (const turn of ended.slice(0, -MOST_ENDED)) turn.remove();
}

/** The last few, without the words for none. @param {Element | null | undefined} list */
export function tidyAsides(list) {
  const [turns, words] = [":scope > .turn", ":scope > :not(.turn)"].map((what) => [...(list?.querySelectorAll(what) ?? [])]);
  if (turns.length) for (const extra of [...words, ...turns.slice(MOST_ASIDES)]) extra.remove();
}
