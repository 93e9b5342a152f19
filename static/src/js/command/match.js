// @ts-check
// Which entries fit what was typed, how well, and where; commands by what they do. Pure.

import { t } from "../t.js";

/** @typedef {import("./choices.js").Choice} Choice */
/** @typedef {import("./choices.js").Command} Command */

const RECENT = 6;

/** Where the words of a query occur in a text: `[from, to]` in order, without overlaps; null
 * where one of them does not occur. A word may begin anywhere. @param {string} text @param {string} query
 * @returns {[number, number][] | null} */
export function spansOf(text, query) {
  const low = text.toLowerCase();
  const ranges = /** @type {[number, number][]} */ ([]);
  // A text whose lower case has another length has no places that could be marked.
  if (low.length !== text.length) return null;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = low.indexOf(word);
    if (at < 0) return null;
    for (let from = at; from >= 0; from = low.indexOf(word, from + word.length)) ranges.push([from, from + word.length]);
  }
  ranges.sort((first, other) => first[0] - other[0]);
  return ranges.reduce((/** @type {[number, number][]} */ all, [from, to]) => {
    const last = all.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else all.push([from, to]);
    return all;
  }, []);
}

/** How well a query fits: 0 not at all, 3 from the beginning of the first text, 2 from the
 * beginning of a word of it, 1 anywhere in any. @param {string} query @param {string[]} texts the main one first */
export function fitOf(query, texts) {
  const wanted = query.toLowerCase().trim();
  if (!wanted) return 1;
  const [main] = texts;
  if (main.toLowerCase().startsWith(wanted)) return 3;
  if (` ${main.toLowerCase()}`.includes(` ${wanted}`)) return 2;
  const every = texts.join(" ").toLowerCase();
  return wanted.split(/\s+/).every((word) => every.includes(word)) ? 1 : 0;
}

/** The choices that fit, the best first; equal ones in their order.
 * @template {{texts: string[]}} T @param {T[]} entries @param {string} query @returns {(T & {fit: number})[]} */
export function fitting(entries, query) {
  const matching = entries.map((entry) => ({ ...entry, fit: fitOf(query, entry.texts) })).filter((entry) => entry.fit);
  return matching.sort((first, other) => other.fit - first.fit);
}

/** Commands by what they do. @param {Command[]} known @param {string} query */
export function commandsFor(known, query) {
  const entries = known
    .filter((command) => command.allowed !== false)
    .map((command) => ({
      texts: [command.verb, command.help.split("\n")[0], command.aliases.join(" ")],
      choice: /** @type {Choice} */ ({
        group: t("Commands"),
        parts: [{ kind: "line", text: `→ ${command.syntax}` }, { kind: "soft", text: command.help.split("\n")[0] }],
        complete: `→ ${command.verb} `,
      }),
    }));
  return fitting(entries, query);
}

/** Nodes that were visited in this tab lately, the latest first, kept for the next visit. */
export class Visited {
  /** @param {Storage} store @param {string} name */
  constructor(store, name) {
    this.store = store;
    this.name = name;
  }

  /** @returns {string[]} */
  get ids() {
    try {
      return JSON.parse(this.store.getItem(this.name) ?? "[]");
    } catch {
      return [];
    }
  }

  /** @param {string} id */
  add(id) {
    const ids = [id, ...this.ids.filter((recent) => recent !== id)].slice(0, RECENT);
    try {
      this.store.setItem(this.name, JSON.stringify(ids));
    } catch {}
  }
}
