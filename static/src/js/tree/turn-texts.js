// @ts-check
// The text of rounds that are being written: pieces put together, lines told from prose.

/** @typedef {{generation: string, chunk: number, text: string, whole?: boolean}} Piece */

export class TurnTexts {
  /** @type {Map<string, string>} */
  texts = new Map();

  /** Adds a piece where one of the turns shows its generation. @param {Piece} piece @param {Element[]} turns */
  grow({ generation, chunk, text, whole }, turns) {
    this.texts.set(generation, whole || chunk === 1 ? text : (this.texts.get(generation) ?? "") + text);
    this.show(turns.filter((turn) => turn.querySelector(`[data-generation="${CSS.escape(generation)}"]`)));
  }

  /** Notes what the server has of a turn's text. @param {Element} turn */
  take(turn) {
    for (const box of turn.querySelectorAll(".live[data-generation]")) {
      const id = box.getAttribute("data-generation") ?? "";
      const text = box.querySelector("[data-text]")?.textContent ?? "";
      if (text.length > (this.texts.get(id) ?? "").length) this.texts.set(id, text);
    }
  }

  /** Writes what came since the server drew the turns. @param {Element[]} turns */
  show(turns) {
    for (const box of turns.flatMap((turn) => [...turn.querySelectorAll(".live[data-generation]")])) {
      const slot = box.querySelector("[data-text]");
      const text = this.texts.get(box.getAttribute("data-generation") ?? "") ?? "";
      if (!slot || (slot.textContent === text && slot.hasAttribute("data-parted"))) continue;
      slot.replaceChildren(...written(text));
      slot.setAttribute("data-parted", "");
    }
  }
}

/** A text with its lines of commands set apart, as nodes. @param {string} text */
function written(text) {
  return partsOf(text).map(({ words, isLine }) => {
    if (!isLine) return document.createTextNode(words);
    return Object.assign(document.createElement("code"), { className: "line", textContent: words });
  });
}

/** Prose and lines of a text, in order; together they are the text.
 * @param {string} text @returns {{words: string, isLine: boolean}[]} */
export function partsOf(text) {
  /** @type {{words: string, isLine: boolean}[]} */
  const parts = [];
  for (const words of text.split(/(?<=\n)/)) {
    const isLine = /^ {0,2}→/.test(words);
    const last = parts.at(-1);
    if (last && !isLine && !last.isLine) last.words += words;
    else parts.push({ words, isLine });
  }
  return parts;
}
