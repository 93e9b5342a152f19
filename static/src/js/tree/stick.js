// @ts-check
// Keeps the end of the path in sight while text comes, as long as the reader is at the end.

const NEAR = 48;

export class Stick {
  /** @param {HTMLElement} thread what scrolls @param {Element} column what grows */
  constructor(thread, column) {
    this.thread = thread;
    this.on = true;
    this.height = thread.scrollHeight;
    this.scrolled = () => {
      // A scroll that growth caused is not the reader's wish to be elsewhere.
      if (thread.scrollHeight === this.height) this.on = this.left() < NEAR;
    };
    thread.addEventListener("scroll", this.scrolled, { passive: true });
    // What somebody writes in must not be scrolled away by what grows below it.
    column.addEventListener("focusin", (event) => {
      if (/** @type {Element} */ (event.target).closest("form.inline-form")) this.release();
    });
    this.size = new ResizeObserver(() => this.grown());
    this.size.observe(column);
    this.size.observe(thread);
  }

  stop() {
    this.thread.removeEventListener("scroll", this.scrolled);
    this.size.disconnect();
  }

  left() {
    return this.thread.scrollHeight - this.thread.scrollTop - this.thread.clientHeight;
  }

  grown() {
    this.height = this.thread.scrollHeight;
    if (this.on) this.thread.scrollTop = this.height;
  }

  /** Whether a last node is read from its start: it is long, or what hangs below it is, and none
   * of that is still coming. @param {Element} last @param {Element} path */
  isTooLong(last, path) {
    const room = this.thread.clientHeight;
    const node = last.getBoundingClientRect();
    if (node.height > room * 0.6) return true;
    const composer = this.thread.querySelector("loom-composer")?.getBoundingClientRect().height ?? 0;
    const isComing = path.querySelector(".card.coming, .turn.working") !== null;
    return !isComing && path.getBoundingClientRect().bottom - node.top + composer > room;
  }

  /** Shows the end from now on. */
  toEnd() {
    this.on = true;
    this.grown();
  }

  /** Leaves the view to the reader. */
  release() {
    this.on = false;
    this.height = this.thread.scrollHeight;
  }
}
