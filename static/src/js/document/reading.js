// @ts-check
// Words that are selected in a document as it reads: where they are seen, and where in its text they are.

import { selectedIn } from "../editor/places.js";

/** What is selected of the drawn text; null: nothing, or something else too. @param {HTMLElement} read */
function selectedOf(read) {
  const selection = document.getSelection();
  const range = selection?.rangeCount ? selection.getRangeAt(0) : null;
  const isOfIt = range && !range.collapsed && !read.hidden && read.contains(range.commonAncestorContainer);
  return isOfIt ? range : null;
}

/** Where the selected words are seen. @param {HTMLElement} read */
export const readBox = (read) => selectedOf(read)?.getBoundingClientRect() ?? null;

/** Where the selected words are in the text, which has the marks of Markdown, too.
 * @param {HTMLElement} read @param {string} text @returns {{from: number, to: number} | null} */
export function readWords(read, text) {
  const range = selectedOf(read);
  if (!range) return null;
  const before = document.createRange();
  before.selectNodeContents(read);
  before.setEnd(range.startContainer, range.startOffset);
  const from = before.toString().length;
  return selectedIn(text, read.textContent ?? "", from, from + range.toString().length);
}
