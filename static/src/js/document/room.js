// @ts-check
// The connection of a document: the wire protocol of y-websocket, and what is typed offline kept.

import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import { applyAwarenessUpdate, Awareness, encodeAwarenessUpdate, removeAwarenessStates } from "y-protocols/awareness";
import { readSyncMessage, writeSyncStep1, writeUpdate } from "y-protocols/sync";
import * as Y from "yjs";
import { Backoff } from "../live/socket.js";

const SYNC = 0;
const AWARENESS = 1;
const QUERY = 3;
const STORED = 100; // Heddle's own: whether what was typed here is stored
const NOTED = 101; // Heddle's own: a comment or suggestion of the document has changed
const AGAIN_MS = 15_000; // how often both copies are compared
const KEEP_MS = 1000; // at most this much of what is typed is lost where a browser ends without a word
const CHUNK = 32_768; // bytes that become characters in one call
const REFUSED = new Set([1009, 4400, 4409, 4413]); // sent again, it would be refused again
const GONE = new Set([...REFUSED, 4401, 4403, 4404]);

/** @typedef {"connecting" | "live" | "offline" | "gone"} State */

/** Emits `state` (detail: {state, code}), and `stored` when the server says whether it has stored
 * what was typed here (`late`: it has not, for a while), or the browser has no room to keep it (`full`). The document is born on the server: `synced` says whether
 * it has come. What could not be sent is kept in the browser until it has been. */
export class DocumentRoom extends EventTarget {
  /** @param {string} id @param {{me?: string, open?: (url: string) => WebSocket}} [options] me: the
   * participant. What one kept in this browser is not sent as another's. */
  constructor(id, { me = "", open = (url) => new WebSocket(url) } = {}) {
    super();
    this.id = id;
    this.me = me;
    this.open = open;
    this.doc = new Y.Doc();
    this.text = this.doc.getText("text");
    this.awareness = new Awareness(this.doc);
    this.backoff = new Backoff();
    /** @type {State} */
    this.state = "connecting";
    this.code = 0; // why it was closed last
    this.synced = false;
    this.unsent = false;
    this.asked = false; // whether the server has asked, on this connection, for what it lacks
    this.late = false;
    this.full = false;
    this.refused = false;
    this.stopped = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.timer = 0;
    this.keeping = 0;
    this.kept = ""; // what this browser keeps, as this copy has it: other tabs keep theirs there, too
    this.again = 0;
    this.heard = 0;
    this.doc.on("update", (update, origin) => this.changed(update, origin));
    this.awareness.on("update", (/** @type {Record<string, number[]>} */ changed, /** @type {unknown} */ origin) => {
      if (origin === this) return;
      this.send(AWARENESS, (out) => encoding.writeVarUint8Array(out, encodeAwarenessUpdate(this.awareness, Object.values(changed).flat())));
    });
    this.wake = this.wake.bind(this);
    this.keep = this.keep.bind(this);
    this.drop = this.drop.bind(this);
  }

  get place() {
    return `document:${this.id}:${this.me}`;
  }

  start() {
    this.takeKept();
    window.addEventListener("online", this.wake);
    window.addEventListener("offline", this.drop);
    document.addEventListener("visibilitychange", this.wake);
    window.addEventListener("pagehide", this.keep);
    this.again = window.setInterval(() => this.look(), AGAIN_MS);
    this.connect();
  }

  stop() {
    this.stopped = true;
    this.keep();
    window.removeEventListener("online", this.wake);
    window.removeEventListener("offline", this.drop);
    document.removeEventListener("visibilitychange", this.wake);
    window.removeEventListener("pagehide", this.keep);
    clearInterval(this.again);
    clearTimeout(this.timer);
    clearTimeout(this.keeping);
    removeAwarenessStates(this.awareness, [this.doc.clientID], "stop");
    this.socket?.close();
    this.awareness.destroy();
    this.doc.destroy();
  }

  wake() {
    if (this.stopped) return;
    if (document.visibilityState === "hidden") return this.keep(); // a phone may end a hidden page
    if (this.state === "gone") return;
    if (this.socket && this.socket.readyState <= 1) return;
    this.backoff.reset();
    this.connect();
  }

  /** Connects again after the person was signed out and is signed in again: the socket of the session
   * that ended is closed, or will be. */
  resume() {
    if (this.stopped || (this.state === "gone" && this.code !== 4401)) return;
    const { socket } = this;
    if (socket) {
      socket.onclose = socket.onmessage = null;
      socket.close();
    }
    this.unsent ||= this.synced;
    this.is("connecting");
    this.backoff.reset();
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = this.open(`${scheme}://${location.host}/ws/documents/${this.id}`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.asked = false;
    socket.onopen = () => {
      this.heard = Date.now();
      this.compare();
      if (this.awareness.getLocalState()) {
        this.send(AWARENESS, (out) => encoding.writeVarUint8Array(out, encodeAwarenessUpdate(this.awareness, [this.doc.clientID])));
      }
    };
    socket.onmessage = ({ data }) => {
      this.backoff.reset(); // not when it opens: a server that is full accepts, and closes
      this.take(new Uint8Array(data));
    };
    socket.onclose = ({ code }) => this.closed(socket, code);
  }

  /** The connection is given up: a dead one may not say so for minutes. */
  drop() {
    const { socket } = this;
    if (!socket) return;
    socket.onclose = socket.onmessage = null;
    socket.close();
    this.closed(socket, 0);
  }

  /** Compares both copies; the answer also says that the connection is alive. */
  look() {
    if (this.socket?.readyState === 1 && Date.now() - this.heard > 3 * AGAIN_MS) this.drop();
    else this.compare();
  }

  /** @param {WebSocket} socket @param {number} code */
  closed(socket, code) {
    if (socket !== this.socket || this.stopped) return;
    this.unsent ||= this.synced; // what was on its way may not have arrived
    const others = [...this.awareness.getStates().keys()].filter((id) => id !== this.doc.clientID);
    removeAwarenessStates(this.awareness, others, this);
    this.isLate(false);
    if (REFUSED.has(code)) {
      this.refused = true; // kept for the next visit, it would be refused there as well
      this.forget();
    }
    this.is(GONE.has(code) ? "gone" : "offline", code);
    if (this.state === "gone") return;
    this.keepSoon();
    this.timer = window.setTimeout(() => this.connect(), this.backoff.next());
  }

  /** @param {State} state @param {number} [code] */
  is(state, code = 0) {
    this.state = state;
    this.code = code;
    this.dispatchEvent(new CustomEvent("state", { detail: { state, code } }));
  }

  /** Asks for all that this copy lacks; the answer to the server's own question sends what it lacks. */
  compare() {
    this.send(SYNC, (out) => writeSyncStep1(out, this.doc));
  }

  /** @param {number} kind @param {(out: import("lib0/encoding").Encoder) => void} write @returns {boolean} */
  send(kind, write) {
    if (this.socket?.readyState !== 1) return false;
    const out = encoding.createEncoder();
    encoding.writeVarUint(out, kind);
    write(out);
    this.socket.send(encoding.toUint8Array(out));
    return true;
  }

  /** @param {Uint8Array} update @param {unknown} origin */
  changed(update, origin) {
    if (origin === this) return;
    this.pass(update);
    this.keepSoon();
    this.dispatchEvent(new CustomEvent("typed"));
  }

  /** Sends an update to the server. Before it asks, it does not know yet who this is, and takes
   * little; its question is answered with all of it. @param {Uint8Array} update */
  pass(update) {
    const isSent = this.asked && this.send(SYNC, (out) => writeUpdate(out, update));
    if (!isSent) this.unsent = true;
  }

  /** @param {Uint8Array} frame */
  take(frame) {
    this.heard = Date.now();
    const given = decoding.createDecoder(frame);
    const kind = decoding.readVarUint(given);
    if (kind === AWARENESS) applyAwarenessUpdate(this.awareness, decoding.readVarUint8Array(given), this);
    if (kind === QUERY) this.send(AWARENESS, (out) => encoding.writeVarUint8Array(out, encodeAwarenessUpdate(this.awareness, [this.doc.clientID])));
    if (kind === STORED) this.isLate(decoding.readVarUint(given) === 0);
    if (kind === NOTED) this.dispatchEvent(new CustomEvent("noted"));
    if (kind !== SYNC) return;
    if (!this.asked) this.takeKept(); // of a tab that may be closed: this answer sends it as well
    const reply = encoding.createEncoder();
    encoding.writeVarUint(reply, SYNC);
    const step = readSyncMessage(given, reply, this.doc, this);
    if (encoding.length(reply) > 1 && this.socket?.readyState === 1) this.socket.send(encoding.toUint8Array(reply));
    if (step === 0) this.sent();
    if (step === 1 && !this.synced) {
      this.synced = true;
      this.dispatchEvent(new CustomEvent("synced"));
    }
    if (step === 1 && this.state !== "live") this.is("live");
  }

  /** @param {boolean} late */
  isLate(late) {
    if (late === this.late) return;
    this.late = late;
    this.keepSoon();
    this.dispatchEvent(new CustomEvent("stored"));
  }

  /** All that the server lacked has been sent to it. */
  sent() {
    this.asked = true;
    this.unsent = false;
    if (!this.late) this.forget();
  }

  /** Removes what was kept for the next visit, unless another tab has kept more since. */
  forget() {
    try {
      if (localStorage.getItem(this.place) === this.kept) localStorage.removeItem(this.place);
    } catch {
      // a browser that keeps nothing
    }
  }

  /** Keeps what the server does not have, for the next visit, with what other tabs keep. */
  keep() {
    clearTimeout(this.keeping);
    this.keeping = 0;
    if (!this.isOwing) return;
    this.takeKept();
    try {
      const state = asText(Y.encodeStateAsUpdate(this.doc));
      localStorage.setItem(this.place, state);
      this.kept = state;
      this.isFull(false);
    } catch {
      this.isFull(true); // it stays in this tab
    }
  }

  /** @param {boolean} full */
  isFull(full) {
    if (full === this.full) return;
    this.full = full;
    this.dispatchEvent(new CustomEvent("stored"));
  }

  /** Whether there is something that the server may not have, and may still take. */
  get isOwing() {
    return (this.unsent || this.late) && !this.refused;
  }

  /** A browser may end without a word, so it is kept while somebody types, and not at each letter. */
  keepSoon() {
    if (this.isOwing) this.keeping ||= window.setTimeout(() => this.keep(), KEEP_MS);
  }

  /** Takes in what this browser keeps: of an earlier visit, or of another tab. */
  takeKept() {
    try {
      const kept = localStorage.getItem(this.place);
      if (!kept || kept === this.kept) return;
      this.kept = kept;
      const update = Uint8Array.from(atob(kept), (letter) => letter.charCodeAt(0));
      Y.applyUpdate(this.doc, update, this);
      this.pass(update);
    } catch {
      // what was kept cannot be read
    }
  }
}

/** @param {Uint8Array} bytes */
function asText(bytes) {
  let letters = "";
  for (let at = 0; at < bytes.length; at += CHUNK) letters += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(letters);
}
