// @ts-check
// Where the page scrolls to. It opens at the current node, and a press of its reader brings what
// was asked for into view, once. Nothing else moves what is being read: what grows, grows below,
// and what becomes shorter leaves its room empty until the reader goes elsewhere.

/** @typedef {{top: number, bottom: number}} Extent in pixels, downwards */

/**
 * `extent`: where it is drawn now; `below`: how far that was below the top of what scrolls.
 * @typedef {{element: Element, below: number, extent: () => Extent}} Read
 * `readAt`: the character that is read, the caret's in a room or the first from a height on; `lineOf`: where the line of a character is.
 * @typedef {{measure: () => void, readAt: (room: Extent, from: number) => number | null, lineOf: (at: number) => Extent}} Lines
 */

const MOST_BELOW = 0.6; // of the room, for what hangs below a text
const NOTE_MS = 100;
const TRIES = 4;

/** How far to scroll so that something is seen: the least way where all of it fits. Otherwise its
 * start comes to the top, unless that is in the upper half already.
 * @param {Extent} what @param {Extent} room */
export function wayTo({ top, bottom }, room) {
  const half = (room.top + room.bottom) / 2;
  if (bottom - top > room.bottom - room.top) return top >= room.top && top <= half ? 0 : top - room.top;
  if (top < room.top) return top - room.top;
  return Math.max(0, bottom - room.bottom);
}

export class InView {
  /** whether what is drawn has its typefaces: what was shown before is shown again with them */
  isSet = false;
  /** @type {Read | undefined} what is read, and where that is seen */
  read;
  /** where it was last scrolled to by `keepRead`: what is read is the same there */
  kept = -1;
  noting = 0;
  isCaretMoved = false; // in an editor, since the last note

  /** @param {HTMLElement} thread what scrolls @param {HTMLElement} path what grows in it
   * @param {() => Lines | undefined} editor that of the text, once there is one: it estimates
   * the height of lines at first that it measures later */
  constructor(thread, path, editor) {
    this.thread = thread;
    this.path = path;
    this.editor = editor;
    this.at = thread.scrollTop;
    this.width = thread.clientWidth;
    this.height = thread.scrollHeight; // when it was last looked at
    this.note = () => {
      if (thread.clientWidth !== this.width) return; // `keepRead` comes first
      // It became shorter, and somebody measured it: the scroll comes before `drawn` is told.
      const isShorter = thread.scrollHeight < this.height;
      this.height = thread.scrollHeight;
      if (isShorter && this.isCut()) return this.refill();
      this.at = thread.scrollTop;
      if (this.at === this.kept) return;
      this.read = this.readNow();
      this.noteSoon();
    };
    // After a scroll an editor has yet to draw the lines; and not at every key that moves the caret.
    this.noteSoon = () => {
      this.noting ||= setTimeout(() => {
        this.noting = 0;
        if (thread.clientWidth !== this.width) return;
        // Its first line begins with another character in another width: one that was noted there
        // would lead a line away at the next.
        if (thread.scrollTop === this.kept && !this.isCaretMoved) return;
        this.isCaretMoved = false;
        this.read = this.readNow();
      }, NOTE_MS);
    };
    this.noteCaret = () => {
      this.isCaretMoved ||= !!this.editor();
      this.noteSoon();
    };
    thread.addEventListener("scroll", this.note, { passive: true });
    document.addEventListener("selectionchange", this.noteCaret);
    this.size = new ResizeObserver(() => {
      if (thread.clientWidth === this.width) return;
      this.width = thread.clientWidth;
      this.keepRead();
    });
    this.size.observe(thread);
    // What is drawn, and not the path, to which the room belongs.
    this.drawn = new ResizeObserver(() => {
      this.refill();
      this.height = thread.scrollHeight;
    });
    for (const child of path.children) this.drawn.observe(child);
  }

  stop() {
    this.thread.removeEventListener("scroll", this.note);
    document.removeEventListener("selectionchange", this.noteCaret);
    clearTimeout(this.noting);
    this.size.disconnect();
    this.drawn.disconnect();
  }

  /** What is seen of the thread: the composer covers its end. @returns {Extent} */
  get room() {
    const { top, bottom } = this.thread.getBoundingClientRect();
    const covered = this.thread.querySelector("loom-composer")?.getBoundingClientRect().height ?? 0;
    return { top: top + pixels(this.thread, "scrollPaddingBlockStart"), bottom: bottom - covered };
  }

  measure() {
    this.editor()?.measure();
  }

  /** The first text that is seen. */
  atTop() {
    const { top } = this.thread.getBoundingClientRect();
    const texts = this.path.querySelectorAll(":scope .stretch > [data-id], :scope .book");
    return [...texts].find((element) => element.getBoundingClientRect().bottom > top);
  }

  /** What is read: in an editor the line of the caret where that is seen, else the first line.
   * @returns {Read | undefined} */
  readNow() {
    const from = this.thread.getBoundingClientRect().top;
    const element = this.atTop();
    if (!element || !this.thread.clientWidth) return undefined;
    const editor = this.editor();
    const at = editor?.readAt(this.room, from) ?? null;
    const line = editor && at !== null ? editor.lineOf(at) : undefined;
    if (editor && line) return { element, below: line.top - from, extent: () => editor.lineOf(/** @type {number} */ (at)) };
    const extent = textAt(element, from);
    return { element, below: extent().top - from, extent };
  }

  /** Lines are broken elsewhere, as the page has another width: what was read is where it was. */
  keepRead() {
    const { thread, read } = this;
    if (!read?.element.isConnected || !thread.clientWidth || this.at <= 0) return;
    // A line far from what is seen is only estimated until it is shown.
    for (let tries = 0; tries < TRIES; tries += 1) {
      this.measure();
      const { top, bottom } = this.room;
      const line = read.extent();
      const below = Math.min(read.below, Math.max(0, bottom - top - (line.bottom - line.top)));
      const way = line.top - thread.getBoundingClientRect().top - below;
      if (Math.abs(way) < 1) break;
      this.hold(Math.max(0, thread.scrollTop + way));
    }
    this.kept = this.at = thread.scrollTop;
  }

  /** From now on, what is read stays where it is. */
  settle() {
    this.isSet = true;
    this.at = this.thread.scrollTop;
    this.height = this.thread.scrollHeight;
  }

  /** What is drawn became shorter, and the page ends above what was read: room takes its place
   * before anybody sees it. */
  refill() {
    if (this.isCut()) this.hold(this.at);
  }

  /** Whether the page ends above where it was scrolled to. */
  isCut() {
    const { scrollTop, scrollHeight, clientHeight } = this.thread;
    return this.isSet && scrollTop < this.at && scrollTop >= scrollHeight - clientHeight - 1;
  }

  /** From the last line of the text to the end of what hangs below, but not more than a writer
   * would give for the text above it. @param {number} least of the room
   * @param {boolean} [isText] the text alone, to its end @returns {Extent} */
  fromCaret(least, isText = false) {
    this.measure();
    const { top, bottom } = this.room;
    const text = /** @type {Element} */ (this.path.querySelector(".book, .stretch"));
    const ghost = text.querySelector(".ghost")?.getClientRects()[0];
    const end = ghost ? ghost.bottom : text.getBoundingClientRect().bottom;
    const line = parseFloat(getComputedStyle(text).lineHeight) || 0;
    if (isText) return { top: end - line, bottom: end + line };
    const below = Math.max(this.natural(), end + least * (bottom - top));
    return { top: end - line, bottom: Math.min(below, end + MOST_BELOW * (bottom - top)) };
  }

  /** Where what is drawn ends, without the room that is held below it. */
  natural() {
    return this.path.lastElementChild?.getBoundingClientRect().bottom ?? 0;
  }

  /** Whether the reader went on from a place, rather than that the page ends above it now.
   * @param {number} at */
  isLeft(at) {
    const { scrollTop, scrollHeight, clientHeight } = this.thread;
    return scrollTop !== at && !(scrollTop < at && scrollTop >= scrollHeight - clientHeight - 1);
  }

  /** Brings something into view. @param {Extent} what where it is drawn now */
  bring(what) {
    const way = Math.round(wayTo(what, this.room));
    this.hold(Math.max(0, this.thread.scrollTop + way));
  }

  /** Changes what is drawn: what is read stays, also where more comes above it or less is left
   * below. @param {() => void} change */
  still(change) {
    const { thread } = this;
    this.measure();
    const at = thread.scrollTop;
    const element = this.atTop();
    const top = element?.getBoundingClientRect().top ?? 0;
    change();
    const moved = element?.isConnected ? element.getBoundingClientRect().top - top : at - thread.scrollTop;
    if (Math.abs(moved) >= 1 || this.path.style.minBlockSize) this.hold(Math.max(0, thread.scrollTop + moved));
  }

  /** Changes a text that keeps its own place, as an editor does: the page does not end above what
   * is read while that happens, and the editor, far from its end then, does not follow that.
   * @param {() => void} change */
  keep(change) {
    const { thread, path } = this;
    path.style.minBlockSize = `${Math.ceil(path.getBoundingClientRect().height + thread.clientHeight)}px`;
    this.measure();
    change();
    this.measure();
    this.hold(thread.scrollTop);
  }

  /** Scrolls to a place, with as much empty room at the end as that takes. @param {number} at */
  hold(at) {
    const { thread, path } = this;
    path.style.minBlockSize = "";
    const next = path.nextElementSibling;
    // A margin that fills up the column is no part of what has to be made longer.
    const spare = next ? pixels(next, "marginBlockStart") : 0;
    const lacks = at + thread.clientHeight - thread.scrollHeight;
    if (lacks > 0) path.style.minBlockSize = `${Math.ceil(path.getBoundingClientRect().height + spare + lacks)}px`;
    thread.scrollTop = at;
    this.at = thread.scrollTop;
    this.height = thread.scrollHeight;
  }
}

/** @param {Element} element @param {"marginBlockStart" | "scrollPaddingBlockStart"} name */
function pixels(element, name) {
  return parseFloat(getComputedStyle(element)[name]) || 0;
}

/** Tells where the text is drawn that is at a height now: a character of it where there is one
 * there, else a share of its element. @param {Element} element @param {number} height
 * @returns {() => Extent} */
function textAt(element, height) {
  const box = element.getBoundingClientRect();
  const share = box.height ? (height - box.top) / box.height : 0;
  const text = element.querySelector(".text, .plain")?.getBoundingClientRect() ?? box;
  const caret = document.caretPositionFromPoint?.(text.left + 1, Math.max(height, text.top) + 1);
  const node = caret?.offsetNode;
  const isText = node instanceof Text && element.contains(node) && caret;
  const range = document.createRange();
  if (isText) {
    range.setStart(node, Math.min(caret.offset, Math.max(0, node.length - 1)));
    range.setEnd(node, Math.min(caret.offset + 1, node.length));
  }
  return () => {
    const drawn = isText && node.isConnected ? range.getClientRects()[0] : undefined;
    if (drawn) return drawn;
    const now = element.getBoundingClientRect();
    return { top: now.top + share * now.height, bottom: now.top + share * now.height };
  };
}
