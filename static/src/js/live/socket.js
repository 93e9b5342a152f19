// @ts-check
// The page's socket: events in order from a cursor, resumed after every cut.

const QUIET_MS = 45_000; // the server's heartbeat comes more often than this
const GONE = { 4401: "signed out", 4404: "not yours" };

/** @typedef {"waiting" | "live" | "offline" | "gone"} State */

/**
 * Emits `frame` (detail: the frame) and `state` (detail: {state, reason}).
 * `since` is asked before each connection, so that it resumes where the page is.
 */
export class LiveSocket extends EventTarget {
  /** @param {string} path @param {() => number} since @param {{open?: (url: string) => WebSocket, backoff?: Backoff, query?: string, reload?: () => void}} [options] query: what
   * is asked for besides, such as `&drawn=en` */
  constructor(path, since, { open = (url) => new WebSocket(url), backoff = new Backoff(), query = "", reload = () => location.reload() } = {}) {
    super();
    this.path = path;
    this.since = since;
    this.query = query;
    this.open = open;
    this.backoff = backoff;
    this.reload = reload;
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
    socket.onopen = () => this.tell("live");
    socket.onmessage = (message) => {
      this.listen();
      const frame = JSON.parse(message.data);
      // A server that is full accepts, says so, and closes: only then can the reason be read.
      if (frame.type !== "error") this.backoff.reset();
      // What happened since is no longer kept, so nothing that is shown can be brought up to date.
      if (frame.type === "reload") return this.reload();
      this.dispatchEvent(new CustomEvent("frame", { detail: frame }));
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

// How long to wait before the next try: twice as long each time, with jitter, to a limit.

export class Backoff {
  /** @param {{first?: number, limit?: number, dice?: () => number}} [options] milliseconds */
  constructor({ first = 500, limit = 20_000, dice = Math.random } = {}) {
    this.first = first;
    this.limit = limit;
    this.dice = dice;
    this.tries = 0;
  }

  /** The next wait. Between half and all of it, so that many pages do not come at once. */
  next() {
    const whole = Math.min(this.limit, this.first * 2 ** this.tries);
    this.tries += 1;
    return whole * (0.5 + this.dice() / 2);
  }

  /** Something worked: begin from the start again. */
  reset() {
    this.tries = 0;
  }
}

// Events by registration: whoever cares for a kind says so; nobody keeps a list of all.

/** @typedef {{seq: number, kind: string, actor?: string, origin?: string, payload?: any, at?: string}} LogEvent */
/** @typedef {(event: LogEvent) => void} Handler */

export class Events {
  /** @param {number} seq the last event that is known already */
  constructor(seq) {
    this.seq = seq;
    /** @type {Map<string, Set<Handler>>} */
    this.handlers = new Map();
  }

  /** Calls `handler` for each event of a kind ("*": of any). Returns the way to stop it.
   * @param {string} kind @param {Handler} handler */
  on(kind, handler) {
    const handlers = this.handlers.get(kind) ?? new Set();
    this.handlers.set(kind, handlers.add(handler));
    return () => void handlers.delete(handler);
  }

  /** Applies one event: "new", "known" (a repeat), or "gap" (one before it is missing).
   * @param {LogEvent} event */
  apply(event) {
    if (event.seq <= this.seq) return "known";
    if (event.seq > this.seq + 1) return "gap";
    this.seq = event.seq;
    for (const kind of [event.kind, "*"]) {
      for (const handler of this.handlers.get(kind) ?? []) handler(event);
    }
    return "new";
  }
}
