// @ts-check
// What others are told of this tab: where it stands, and what is written there and not sent.

const SHARE_MS = 200;
const MOST = 16_000; // characters of a working buffer that others see: its end

export class Whereabouts {
  /** @param {import("./page.js").TreePage} page */
  constructor(page) {
    this.page = page;
    this.buffer = "";
    /** @type {any} */
    this.timer = 0;
  }

  tell() {
    clearTimeout(this.timer);
    this.timer = 0;
    const place = { type: "presence", node: this.page.position };
    this.page.socket.send(this.buffer ? { ...place, buffer: this.buffer } : place);
  }

  /** Lets others see what is written here; an empty text is nothing to see. @param {string} text */
  share(text) {
    const buffer = text.slice(-MOST).replace(/^[\udc00-\udfff]/, "");
    if (buffer === this.buffer) return;
    this.buffer = buffer;
    if (!this.timer) this.timer = setTimeout(() => this.tell(), SHARE_MS);
  }
}
