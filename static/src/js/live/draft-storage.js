// @ts-check
// Drafts as the browser keeps them: one entry a place, shared by the tabs of one person.

import { json } from "./api.js";

/** @typedef {"buffer" | "edit" | "note"} Kind */
/** @typedef {{slot: string, kind: Kind}} Place */
/** @typedef {Place & {text?: string}} Carried a place, and its text that goes out as a line */
/**
 * `text` is what was typed, `held` what is on its way as a line, `agreed` what the server
 * has, `at` its name for that state ("" for none). `over` is when the version was stored that an
 * edit was typed over ("" for the first text of a slot), where this browser knows that. `cut`: the edit is the empty
 * wording, which the server keeps no draft of; "sent": a line that carries it is on its way.
 * @typedef {{text: string, held: string, agreed: string, at: string, over?: string, cut?: "typed" | "sent"}} Entry
 */

const EMPTY = { text: "", held: "", agreed: "", at: "" };

/** @param {Place} place */
export function nameOf({ slot, kind }) {
  return `${kind}.${slot}`;
}

/** @param {string} name @returns {Place} */
export function placeOf(name) {
  const [kind, slot] = name.split(".");
  return { slot, kind: /** @type {Kind} */ (kind) };
}

/** All that was typed at a place and is no node yet. An edit is typed in place of the one on its way, everything else
 * behind it. @param {string} name of the place @param {Entry} entry */
export function whole(name, entry) {
  if (placeOf(name).kind !== "edit") return entry.held + entry.text;
  return entry.text || (entry.cut === "typed" ? "" : entry.held);
}

/** A text that comes back, with what was typed since. @param {string} name of the place @param {string} before @param {string} since */
export function behind(name, before, since) {
  if (since && placeOf(name).kind === "edit") return since;
  return before + (before && since && !/\s$/.test(before) ? "\n" : "") + since;
}

export class Shelf {
  /** @param {Storage | null} store @param {string} owner whose drafts, and of which tree */
  constructor(store, owner) {
    this.store = store;
    this.prefix = `heddle.draft.${owner}.`;
  }

  /** @param {string} name @returns {Entry} */
  read(name) {
    return this.parse(this.store?.getItem(this.prefix + name) ?? null);
  }

  /** @param {string | null} kept @returns {Entry} */
  parse(kept) {
    try {
      return { ...EMPTY, ...JSON.parse(kept ?? "{}") };
    } catch {
      return { ...EMPTY };
    }
  }

  /** @param {string} name @param {Entry} entry */
  put(name, entry) {
    try {
      if (entry.held || entry.text || entry.agreed || entry.cut) this.store?.setItem(this.prefix + name, JSON.stringify(entry));
      else this.store?.removeItem(this.prefix + name);
    } catch {
      // A full store costs the second copy; the server still keeps the first.
    }
  }

  /** The names of all that is kept. */
  names() {
    const keys = Array.from({ length: this.store?.length ?? 0 }, (_, at) => this.store?.key(at) ?? "");
    return keys.map((key) => this.nameIn(key)).filter(Boolean);
  }

  /** The name in a key of the store; "" where it is of something else. @param {string} key */
  nameIn(key) {
    return key.startsWith(this.prefix) ? key.slice(this.prefix.length) : "";
  }
}

// What the server keeps of one person's view of a tree.

// A request may outlive its page only where it is small: browsers stop at 64 KiB.
const SMALL = 16_000;

/** The server's side of a workspace's drafts. @param {string} workspace @returns {import("./draft-sync.js").Server} */
export function draftsAt(workspace) {
  const url = `/api/workspaces/${workspace}/drafts`;
  return {
    list: () => json(url),
    keep: ({ slot, kind }, text, seen) => json(`${url}/${slot}`, { method: "PUT", body: { kind, text, seen }, keepalive: text.length < SMALL }),
  };
}
