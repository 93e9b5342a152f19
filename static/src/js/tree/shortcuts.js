// @ts-check
// Keys as words: what was pressed, and how a combo is drawn. The words are those of
// loom/people/shortcuts.py: `g`, `Mod+k`, `Alt+ArrowLeft`, `Mod+Shift+z`.

import { t } from "../t.js";

const NOT_YET = new Set(["Control", "Meta", "Alt", "AltGraph", "Shift", "CapsLock", "Dead", "Process", "Unidentified"]);
const DRAWN = /** @type {Record<string, string>} */ ({
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
});

/** @typedef {Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">} Pressed */

export const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

/** The combo of a key that was pressed; empty where it types a symbol or is half a combo.
 * @param {Pressed} event @param {boolean} [mac] */
export function shortcutOf(event, mac = isMac) {
  if (NOT_YET.has(event.key)) return "";
  const key = event.key === " " ? "Space" : event.key;
  const named = key.length > 1;
  const moving = event.altKey && (mac ? event.ctrlKey : !event.ctrlKey) && !event.metaKey;
  if (event.altKey && !(moving && named)) return "";
  const mod = !moving && (event.ctrlKey || event.metaKey);
  const shift = event.shiftKey && (named || mod);
  const letter = mod && !named ? key.toLowerCase() : key;
  return `${mod ? "Mod+" : ""}${moving ? "Alt+" : ""}${shift ? "Shift+" : ""}${letter}`;
}

/** The combo as caps to draw. @param {string} combo @param {boolean} [mac] @returns {string[]} */
export function capsOf(combo, mac = isMac) {
  const caps = [];
  let rest = combo;
  for (const part of ["Mod", "Alt", "Shift"]) {
    if (!rest.startsWith(`${part}+`)) continue;
    caps.push(part === "Mod" ? (mac ? "⌘" : "Ctrl") : part === "Alt" && mac ? "⌃⌥" : part);
    rest = rest.slice(part.length + 1);
  }
  if (!rest) return [];
  const isLetter = caps.length > 0 && rest.length === 1;
  return [...caps, DRAWN[rest] ?? (isLetter ? rest.toUpperCase() : rest)];
}

/** The combo of an action in the page's table; empty where it has no key.
 * @param {{keys: {id: string, combo: string}[]}[]} groups @param {string} id */
export function shortcutFor(groups, id) {
  return groups.flatMap((group) => group.keys).find((key) => key.id === id)?.combo ?? "";
}

/** The caps of an action in the page's table, in one text.
 * @param {{keys: {id: string, combo: string}[]}[]} groups @param {string} id */
export function capFor(groups, id) {
  return capsOf(shortcutFor(groups, id)).join(" ");
}

/** What the keys do at the weave, in one line: those that work where the focus is.
 * @param {{keys: {id: string, combo: string}[]}[]} groups @param {{may: boolean, coming: boolean, typing: boolean}} now
 * may: ask for more; typing: keys go into a text */
export function hintFor(groups, { may, coming, typing }) {
  const stop = t("{key} to stop", { key: capFor(groups, "stop") });
  if (typing) return may && coming ? stop : "";
  const keys = `${capFor(groups, "take-1")}–${capFor(groups, "take-9")}`;
  if (!may) return t("{keys} to go there", { keys });
  const more = capFor(groups, "more").replace(/^\p{P}$/u, "“$&”"); // else a full stop is read as one
  const then = coming ? stop : t("{key} for more like these", { key: more });
  return `${t("{keys} to accept", { keys })} · ${then}`;
}
