// @ts-check
// Where the page scrolls to. It opens at the current node, and a press of its reader brings what
// was asked for into view, once. Nothing else moves what is being read: what grows, grows below,
// and what becomes shorter leaves its room empty until the reader goes elsewhere.

/** @typedef {{top: number, bottom: number}} Extent in pixels, downwards */

const MOST_BELOW = 0.6; // of the room, for what hangs below a text

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
  /** @type {{element: Element, share: number} | undefined} what is at the top, and how much of it is above that */
  read;

  /** @param {HTMLElement} thread what scrolls @param {HTMLElement} path what grows in it
   * @param {() => void} measure makes what is drawn as high as it will be: an editor estimates
   * lines at first that it measures later */
  constructor(thread, path, measure) {
    this.thread = thread;
    this.path = path;
    this.measure = measure;
    this.at = thread.scrollTop;
    this.note = () => {
      this.at = thread.scrollTop;
      this.read = this.atTop();
    };
    thread.addEventListener("scroll", this.note, { passive: true });
    let width = thread.clientWidth;
    this.size = new ResizeObserver(() => {
      if (thread.clientWidth === width) return;
      width = thread.clientWidth;
      this.keepRead();
    });
    this.size.observe(thread);
    // What is drawn, and not the path, to which the room belongs.
    this.drawn = new ResizeObserver(() => this.refill());
    for (const child of path.children) this.drawn.observe(child);
  }

  stop() {
    this.thread.removeEventListener("scroll", this.note);
    this.size.disconnect();
    this.drawn.disconnect();
  }

  /** What is seen of the thread: the composer covers its end. @returns {Extent} */
  get room() {
    const { top, bottom } = this.thread.getBoundingClientRect();
    const covered = this.thread.querySelector("loom-composer")?.getBoundingClientRect().height ?? 0;
    return { top: top + pixels(this.thread, "scrollPaddingBlockStart"), bottom: bottom - covered };
  }

  /** The first text that is seen. */
  atTop() {
    const { top } = this.thread.getBoundingClientRect();
    const texts = this.path.querySelectorAll(":scope .stretch > [data-id], :scope .book");
    for (const element of texts) {
      const box = element.getBoundingClientRect();
      if (box.bottom > top) return { element, share: box.height ? (top - box.top) / box.height : 0 };
    }
    return undefined;
  }

  /** Lines are broken elsewhere, as the page has another width: what was read is at the top again. */
  keepRead() {
    const { thread, read } = this;
    if (!read?.element.isConnected || read.share <= 0 || !thread.clientWidth) return;
    const box = read.element.getBoundingClientRect();
    this.hold(thread.scrollTop + box.top + read.share * box.height - thread.getBoundingClientRect().top);
  }

  /** From now on, what is read stays where it is. */
  settle() {
    this.isSet = true;
    this.at = this.thread.scrollTop;
  }

  /** What is drawn became shorter, and the page ends above what was read: room takes its place
   * before anybody sees it. */
  refill() {
    const { scrollTop, scrollHeight, clientHeight } = this.thread;
    if (this.isSet && scrollTop < this.at && scrollTop >= scrollHeight - clientHeight - 1) this.hold(this.at);
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
   * below. @param {() => void} deed */
  still(deed) {
    const { thread } = this;
    this.measure();
    const at = thread.scrollTop;
    const element = this.atTop()?.element;
    const top = element?.getBoundingClientRect().top ?? 0;
    deed();
    const moved = element?.isConnected ? element.getBoundingClientRect().top - top : at - thread.scrollTop;
    if (Math.abs(moved) >= 1 || this.path.style.minBlockSize) this.hold(Math.max(0, thread.scrollTop + moved));
  }

  /** Changes a text that keeps its own place, as an editor does: the page does not end above what
   * is read while that happens, and the editor, far from its end then, does not follow that.
   * @param {() => void} deed */
  keep(deed) {
    const { thread, path } = this;
    path.style.minBlockSize = `${Math.ceil(path.getBoundingClientRect().height + thread.clientHeight)}px`;
    this.measure();
    deed();
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
  }
}

/** @param {Element} element @param {"marginBlockStart" | "scrollPaddingBlockStart"} name */
function pixels(element, name) {
  return parseFloat(getComputedStyle(element)[name]) || 0;
}
