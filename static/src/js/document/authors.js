// @ts-check
// Who wrote what in a document. Yjs signs each letter with the client that typed it; the server knows whose each client is.

import { StateEffect } from "@codemirror/state";
import { Decoration, ViewPlugin } from "@codemirror/view";
import { json, Refused } from "../live/api.js";
import { whoIs } from "./carets.js";

/** @typedef {import("./room.js").DocumentRoom} DocumentRoom */
/** @typedef {import("./carets.js").Cast} Cast */
/** @typedef {[client: number, length: number]} Run letters that follow each other, by one client */

const AT_ONCE = 200; // clients in one question
const SOON_MS = 300;

/** The letters of a text by who typed them, in order. @param {import("yjs").Text} text @returns {Run[]} */
export function runsOf(text) {
  /** @type {Run[]} */
  const runs = [];
  for (let item = text._start; item; item = item.right) {
    if (item.deleted || !item.countable) continue;
    const last = runs[runs.length - 1];
    if (last?.[0] === item.id.client) last[1] += item.length;
    else runs.push([item.id.client, item.length]);
  }
  return runs;
}

/** Whose the clients are that have written in a document. Emits `known` when that has become known of more. */
export class Writers extends EventTarget {
  /** @param {DocumentRoom} room @param {Cast} cast */
  constructor(room, cast) {
    super();
    this.room = room;
    this.cast = cast;
    /** @type {Map<number, string>} participants; "" for nobody */
    this.clients = new Map([[room.doc.clientID, room.me]]);
  }

  /** @param {number} client */
  of(client) {
    const known = this.clients.get(client);
    // Who is here now says so; what they type is on the page before the server is asked.
    return known || this.room.awareness.getStates().get(client)?.user?.id || "";
  }

  /** Asks whose those clients are of which it is not known. @param {Iterable<number>} clients */
  async ask(clients) {
    const unknown = [...new Set(clients)].filter((client) => !this.clients.has(client) && !this.of(client));
    for (let at = 0; at < unknown.length; at += AT_ONCE) {
      const some = unknown.slice(at, at + AT_ONCE);
      try {
        const told = await json(`/documents/${this.room.id}/writers?clients=${some.join(",")}`);
        Object.assign(this.cast, told.cast);
        for (const client of some) this.clients.set(client, told.clients[client] ?? "");
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return; // the text is shown without their colours
      }
    }
    if (unknown.length) this.dispatchEvent(new Event("known"));
  }
}

/** How many letters of each participant there are, most first. @param {Run[]} runs @param {Writers} writers @returns {[string, number][]} */
export function shares(runs, writers) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const [client, length] of runs) counts.set(writers.of(client), (counts.get(writers.of(client)) ?? 0) + length);
  counts.delete("");
  return [...counts].sort((first, other) => other[1] - first[1]);
}

const known = /** @type {import("@codemirror/state").StateEffectType<null>} */ (StateEffect.define());

/** Draws each letter in the colour of whoever typed it, while that is wanted. `writers` says when to draw again.
 * @param {DocumentRoom} room @param {Writers} writers @param {() => boolean} isWanted
 * @param {(shares: [string, number][]) => void} tell who has written how much */
export function authors(room, writers, isWanted, tell) {
  /** @param {import("@codemirror/view").EditorView} view */
  const drawn = (view) => {
    const runs = runsOf(room.text);
    const marks = [];
    let at = 0;
    for (const [client, length] of isWanted() ? runs : []) {
      const [from, to] = [at, Math.min(at + length, view.state.doc.length)];
      at += length;
      const who = writers.of(client);
      const isSeen = view.visibleRanges.some((range) => range.from < to && range.to > from);
      if (!who || to <= from || !isSeen) continue;
      marks.push(Decoration.mark({ class: "by", attributes: { "data-who": String(whoIs({ id: who }, writers.cast).colour) } }).range(from, to));
    }
    return { runs, marks: Decoration.set(marks) };
  };
  return ViewPlugin.fromClass(
    class {
      /** @param {import("@codemirror/view").EditorView} view */
      constructor(view) {
        Object.assign(this, drawn(view));
        this.heard = () => view.dispatch({ effects: known.of(null) });
        writers.addEventListener("known", this.heard);
        this.soon();
      }

      destroy() {
        clearTimeout(this.waiting);
        writers.removeEventListener("known", this.heard);
      }

      soon() {
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => {
          const runs = /** @type {Run[]} */ (this.runs ?? []);
          void writers.ask(runs.map(([client]) => client));
          tell(shares(runs, writers));
        }, SOON_MS);
      }

      /** @param {import("@codemirror/view").ViewUpdate} update */
      update({ view, docChanged, viewportChanged, transactions }) {
        const isTold = transactions.some((transaction) => transaction.effects.some((effect) => effect.is(known)));
        if (!docChanged && !viewportChanged && !isTold) return;
        Object.assign(this, drawn(view));
        if (docChanged || isTold) this.soon();
      }

      /** @type {Run[] | undefined} */
      runs;
      marks = Decoration.none;
      /** @type {ReturnType<typeof setTimeout> | undefined} */
      waiting;
    },
    { decorations: (plugin) => plugin.marks },
  );
}
