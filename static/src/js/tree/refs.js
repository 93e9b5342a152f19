// @ts-check
// Refs in what was answered: a text of this tree is a link to it; a document, and a text of another
// tree, is opened in a window. And the command that opens what was typed or pasted.

import { call } from "../live/calls.js";
import { quoted } from "./asking.js";
import { make } from "./forms.js";

/** @typedef {{slotOf: (id: string) => number | null}} Known */

export const REF = /(\[[a-z0-9]{4,8}\]|doc:(?:"(?:[^"\\\n]|\\.)+"(?: §(?:"[^"\n]+"|[\w-]+)| lines:\d+(?:-\d+)?)?|[a-z0-9]{12,})|tree:(?:"[^"\n]+"|[\w-]+) node:[a-z0-9]{4,8})/;

/** The words in pieces: each ref of a text that is known, and of what is elsewhere, as an element.
 * @param {string} words @param {Known | null | undefined} known @returns {(string | HTMLElement)[]} */
export function withRefs(words, known) {
  return words.split(REF).map((piece, at) => (at % 2 === 0 ? piece : refOf(piece, known)));
}

/** @param {string} ref @param {Known | null | undefined} known */
function refOf(ref, known) {
  if (ref.startsWith("[")) {
    const id = ref.slice(1, -1);
    if (!known || known.slotOf(id) === null) return ref;
    const link = make("a", { href: `?node=${id}`, textContent: ref });
    link.dataset.go = id;
    return link;
  }
  const button = make("button", { type: "button", className: "ref", textContent: ref });
  button.dataset.openRef = ref;
  return button;
}

/** Puts the refs of what an element says in their place. @param {Element} element @param {Known | null | undefined} known */
export function linkRefs(element, known) {
  const words = element.textContent ?? "";
  if (!element.childElementCount && REF.test(words)) element.replaceChildren(...withRefs(words, known));
}

const ADDRESS = /^(?:https?:\/\/[^/\s]+)?\/(trees|documents)\/([a-z0-9]+)\/?(?:\?(?:[^\s#]*&)?node=([a-z0-9]{4,8})|[?#]|$)/;
const TYPED = /^(?:(?:doc|tree|branch|node):\S|\[?[a-z]\d[a-z]\d(?:[a-z\d]{0,4})\]?(?:$|\s+(?:lines|para|§)))/i;

/** The command that opens something in a window: the address of a page, the title of a document, or a
 * ref; other words are searched for. @param {string} typed @param {string[]} titles of documents */
export function openingOf(typed, titles) {
  const words = typed.trim();
  const address = ADDRESS.exec(words);
  if (address) return call("open", { ref: `${address[1] === "documents" ? "doc" : "tree"}:${address[2]}${address[3] ? ` node:${address[3]}` : ""}` });
  const title = titles.find((title) => title.toLowerCase() === words.toLowerCase());
  if (title) return call("open", { ref: `doc:${quoted(title)}` });
  return TYPED.test(words) ? call("open", { ref: words }) : call("find_open", { query: words });
}
