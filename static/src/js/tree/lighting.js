// @ts-check
// Lights the passages of the text that a part of a request is about, while one points at the part.

const MOST = 200; // places that are lit

/** Lights the texts of nodes, as far as they are drawn. @param {string[]} nodes */
export function lightNodes(nodes) {
  put(nodes.flatMap((id) => drawn(id)));
}

/** Lights every place where one of the words stands. @param {string[]} words */
export function lightWords(words) {
  const wanted = words.map((word) => word.toLowerCase()).filter(Boolean);
  const ranges = /** @type {Range[]} */ ([]);
  for (const box of document.querySelectorAll("loom-path .stretch > [data-id] > .text, loom-buffer .cm-content")) {
    const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text && ranges.length < MOST; text = texts.nextNode()) ranges.push(...within(/** @type {Text} */ (text), wanted));
  }
  put(ranges);
}

/** Nothing is lit any more. */
export function lightNothing() {
  if ("highlights" in CSS) CSS.highlights.delete("sent");
}

/** @param {Range[]} ranges */
function put(ranges) {
  if ("highlights" in CSS) CSS.highlights.set("sent", new Highlight(...ranges));
}

/** @param {Text} text @param {string[]} words */
function within(text, words) {
  const data = text.data.toLowerCase();
  const ranges = [];
  for (const word of words) {
    for (let at = data.indexOf(word); at >= 0; at = data.indexOf(word, at + word.length)) ranges.push(over(text, at, text, at + word.length));
  }
  return ranges;
}

/** Where the text of a node is drawn: in its article, or in the lines of the editor. @param {string} id */
function drawn(id) {
  const buffer = /** @type {import("../elements/loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer"));
  const editor = buffer?.editor;
  const place = editor ? editor.ids.indexOf(id) : -1;
  if (editor && place >= 0) {
    const { view } = editor;
    const { from, text } = editor.stretch(place);
    const [start, end] = [Math.max(from, view.viewport.from), Math.min(from + text.length, view.viewport.to)];
    if (start >= end) return [];
    const [first, other] = [view.domAtPos(start), view.domAtPos(end)];
    return [over(first.node, first.offset, other.node, other.offset)];
  }
  const box = document.querySelector(`loom-path .stretch > [data-id="${CSS.escape(id)}"] > .text`);
  return box ? [over(box, 0, box, box.childNodes.length)] : [];
}

/** @param {Node} from @param {number} start @param {Node} to @param {number} end */
function over(from, start, to, end) {
  const range = document.createRange();
  range.setStart(from, start);
  range.setEnd(to, end);
  return range;
}
