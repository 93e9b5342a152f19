// @ts-check
// A text as sentences, and a new text that is put together from sentences of several. Pure.

/** @typedef {{text: string, of: string}} Chosen a sentence, and the text (all of it) that it is from */

// What browsers take for the end of a sentence although a name follows: “Dr. Smith”.
const TITLES = /(?:^|[\s(“"„«'’])(?:Dr|Mr|Mrs|Ms|Prof|St|Hr|Fr|Sr|Sra|Srta|Dra|Gen|Capt|Lt|Rev)\.\s*$/u;

/** The sentences of a text, each with the blanks behind it; together they are the text. @param {string} text @returns {string[]} */
export function sentencesOf(text) {
  const segments = [...new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text)].map((segment) => segment.segment);
  /** @type {string[]} */
  const sentences = [];
  for (const segment of segments) {
    const last = sentences.at(-1);
    // Blanks alone, and what goes on with a small letter, are no sentence of their own.
    if (last !== undefined && (!last.trim() || !segment.trim() || /^\p{Ll}/u.test(segment) || TITLES.test(last))) sentences[sentences.length - 1] = last + segment;
    else sentences.push(segment);
  }
  return sentences;
}

/** The sentences in their order as one text, which begins as the texts that it is from do: a passage of a story often
 * begins with a blank. @param {Chosen[]} chosen */
export function together(chosen) {
  let text = "";
  for (const { text: sentence } of chosen) {
    const rest = text ? sentence.trimStart() : sentence;
    text += text && !/\s$/u.test(text) && rest ? ` ${rest}` : rest;
  }
  const beginning = /^\s*/u.exec(chosen[0]?.of ?? "")?.[0] ?? "";
  return beginning + text.trim();
}
