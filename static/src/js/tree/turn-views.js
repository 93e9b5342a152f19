// @ts-check
// Listens to the views of agents that work: each line of theirs is told there as it is answered.

import { LiveSocket } from "../live/socket.js";

export class TurnViews {
  /** @type {Map<string, LiveSocket>} sockets by workspace */
  sockets = new Map();

  /** @param {() => void} heard called for each event @param {{open?: (url: string) => WebSocket}} [options] */
  constructor(heard, options = {}) {
    this.heard = heard;
    this.options = options;
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
      const { type, event } = /** @type {CustomEvent} */ (frame).detail;
      if (type !== "event" || event.seq <= since) return;
      since = event.seq;
      this.heard();
    });
    socket.start();
    return socket;
  }
}
