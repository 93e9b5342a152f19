// @ts-check
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
    const found = this.handlers.get(kind) ?? new Set();
    this.handlers.set(kind, found.add(handler));
    return () => void found.delete(handler);
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
