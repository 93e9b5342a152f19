// @ts-check
// The words with which all candidates begin.

/** Fades the words with which all candidates begin: what is read is where they differ. @param {Element[]} cards */
export function fadeShared(cards) {
  if (!("highlights" in CSS)) return;
  const texts = cards.flatMap((card) => /** @type {Text[]} */ ([firstText(card.querySelector(".card-text"))].filter(Boolean)));
  const length = texts.length > 1 && texts.length === cards.length ? sharedBeginning(texts.map((text) => text.data)) : 0;
  const ranges = length ? texts.map((text) => Object.assign(new StaticRange({ startContainer: text, startOffset: 0, endContainer: text, endOffset: length }))) : [];
  CSS.highlights.set("shared", new Highlight(...ranges));
}

/** @param {Element | null} box */
const firstText = (box) => (box ? document.createTreeWalker(box, NodeFilter.SHOW_TEXT).nextNode() : null);

/** How many characters texts have in common at their beginning, up to a whole word. @param {string[]} texts */
export function sharedBeginning(texts) {
  const [first = ""] = texts;
  let length = 0;
  while (length < first.length && texts.every((text) => text[length] === first[length])) length += 1;
  while (length && /\S/.test(first[length - 1])) length -= 1;
  return length;
}
