// @ts-check
// The page's socket: events in order from a cursor, resumed after every cut.

import { Backoff } from "./backoff.js";

const QUIET_MS = 45_000; // the server's heartbeat comes more often than this
const GONE = { 4401: "signed out", 4404: "not yours" };

/** @typedef {"waiting" | "live" | "offline" | "gone"} State */

/**
 * Emits `frame` (detail: the frame) and `state` (detail: {state, reason}).
 * `since` is asked before each connection, so that it resumes where the page is.
 */
export class LiveSocket extends EventTarget {
  /** @param {string} path @param {() => number} since @param {{open?: (url: string) => WebSocket, backoff?: Backoff, query?: string}} [options] query: what
   * is asked for besides, such as `&drawn=en` */
  constructor(path, since, { open = (url) => new WebSocket(url), backoff = new Backoff(), query = "" } = {}) {
    super();
    this.path = path;
    this.since = since;
    this.query = query;
    this.open = open;
    this.backoff = backoff;
    /** @type {State} */
    this.state = "waiting";
    /** @type {WebSocket | null} */
    this.socket = null;
    this.timer = 0;
    this.watch = 0;
    this.closed = false;
    this.heard = 0;
    this.wake = this.wake.bind(this);
  }

  start() {
    this.closed = false;
    document.addEventListener("visibilitychange", this.wake);
    window.addEventListener("online", this.wake);
    window.addEventListener("pageshow", this.wake);
    this.connect();
  }

  stop() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.wake);
    window.removeEventListener("online", this.wake);
    window.removeEventListener("pageshow", this.wake);
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    this.socket?.close();
  }

  /** Sends a frame if there is a connection; presence is told again after each anyway.
   * @param {object} frame */
  send(frame) {
    if (this.socket?.readyState === 1) this.socket.send(JSON.stringify(frame));
  }

  /** Drops the connection and resumes from the cursor: something was missed. */
  resync() {
    this.backoff.reset();
    this.drop();
    this.connect();
  }

  /** The page is looked at again, or the network is back: a dead socket would not say so. */
  wake() {
    if (this.closed || document.visibilityState === "hidden" || this.state === "gone") return;
    const isAlive = this.socket && this.socket.readyState <= 1;
    if (isAlive && Date.now() - this.heard < QUIET_MS) return;
    this.resync();
  }

  connect() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = this.open(`${scheme}://${location.host}${this.path}?since=${this.since()}${this.query}`);
    this.socket = socket;
    this.heard = Date.now();
    this.listen();
    socket.onopen = () => {
      this.backoff.reset();
      this.tell("live");
    };
    socket.onmessage = (message) => {
      this.listen();
      this.dispatchEvent(new CustomEvent("frame", { detail: JSON.parse(message.data) }));
    };
    socket.onclose = (event) => {
      if (this.socket === socket) this.lost(event.code);
    };
  }

  /** Starts the clock again: silence past its end means the connection is dead. */
  listen() {
    this.heard = Date.now();
    clearTimeout(this.watch);
    this.watch = setTimeout(() => this.resync(), QUIET_MS);
  }

  drop() {
    const socket = this.socket;
    this.socket = null;
    if (socket) {
      socket.onclose = socket.onmessage = socket.onopen = null;
      socket.close();
    }
    clearTimeout(this.watch);
  }

  /** @param {number} code */
  lost(code) {
    this.drop();
    if (this.closed) return;
    const reason = GONE[/** @type {4401 | 4404} */ (code)];
    if (reason) return this.tell("gone", reason);
    this.tell("offline");
    this.timer = setTimeout(() => this.connect(), this.backoff.next());
  }

  /** @param {State} state @param {string} [reason] */
  tell(state, reason = "") {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: { state, reason } }));
  }
}
