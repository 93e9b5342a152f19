// @ts-check
// The text of rounds that are being written: pieces put together, lines told from prose.

import { LiveSocket } from "../live/socket.js";

/** @typedef {{generation: string, chunk: number, text: string, whole?: boolean}} Piece */
/** @typedef {{turns?: Record<string, string>, again?: boolean}} Drawn turns by id, drawn for everybody */

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

// Listens to the views of agents that work: each line of theirs is told there as it is answered,
// with their turn, drawn for everybody.

export class TurnViews {
  /** @type {Map<string, LiveSocket>} sockets by workspace */
  sockets = new Map();

  /** @param {(drawn: Drawn) => void} heard called with what was drawn
   * @param {{open?: (url: string) => WebSocket, changed?: (event: {kind: string, payload: any}) => void}} [options] `changed` is called with each event */
  constructor(heard, { changed = () => {}, ...options } = {}) {
    this.heard = heard;
    this.changed = changed;
    this.options = { ...options, query: `&drawn=${document.documentElement.lang}` };
  }

  /** Listens to the views of these turns, and no longer to others. @param {Element[]} turns */
  watch(turns) {
    const wanted = new Map(turns.map((turn) => [turn.getAttribute("data-view") ?? "", Number(turn.getAttribute("data-view-seq"))]));
    wanted.delete("");
    for (const [view, socket] of this.sockets) {
      if (wanted.has(view)) continue;
      socket.stop();
      this.sockets.delete(view);
    }
    for (const [view, seq] of wanted) {
      if (!this.sockets.has(view)) this.sockets.set(view, this.listen(view, seq));
    }
  }

  /** @param {string} view @param {number} seq the last event that what is drawn knows */
  listen(view, seq) {
    let since = seq;
    const socket = new LiveSocket(`/ws/workspaces/${view}`, () => since, this.options);
    socket.addEventListener("frame", (frame) => {
      const { detail } = /** @type {CustomEvent} */ (frame);
      if (detail.type === "event") {
        since = Math.max(since, detail.event.seq);
        this.changed(detail.event);
      }
      if (detail.type === "drawn") this.heard(detail);
    });
    socket.start();
    return socket;
  }
}
