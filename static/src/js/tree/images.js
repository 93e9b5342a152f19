// @ts-check
// Images that are dropped on a text field or pasted into it: kept by the server, named in the text.

import { Refused, send, told } from "../live/api.js";
import { t } from "../t.js";

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** The images among what was dropped or pasted. @param {DataTransfer | null} given */
export function imagesIn(given) {
  return [...(given?.files ?? [])].filter((file) => KINDS.includes(file.type));
}

/** The files that are no images, unless what is pasted is also text. @param {DataTransfer | null} given @param {string} how */
export function othersIn(given, how) {
  if (how === "paste" && given?.types.includes("text/plain")) return [];
  return [...(given?.files ?? [])].filter((file) => !KINDS.includes(file.type));
}

/** What a file is probably an image of: its name, unless a camera or a browser made it up.
 * @param {string} name */
export function altOf(name) {
  const words = name.replace(/\.[^.]*$/, "").replaceAll(/[_-]+/g, " ").trim();
  return /^(image|img|dsc|pxl|screenshot|unnamed)?[\s\d:()]*$/i.test(words) ? "" : words;
}

/**
 * Takes images that are dropped or pasted, before what edits the text sees them, until the signal
 * says stop.
 * @param {HTMLElement} field where they are taken
 * @param {string} tree the address of the tree's API
 * @param {(text: string, at: Event) => void} put puts a text where the caret is, or the pointer
 * @param {(words: string, bad?: boolean) => void} say @param {AbortSignal} signal
 */
export function takeImages(field, tree, put, say, signal) {
  /** @param {Event} event @param {DataTransfer | null} given */
  const take = (event, given) => {
    const files = imagesIn(given);
    const other = othersIn(given, event.type)[0];
    if (event.defaultPrevented || !(files.length || other)) return;
    event.preventDefault();
    event.stopPropagation();
    if (other) say(t("{name} is not an image that can be shown. Use a PNG, JPEG, GIF or WebP.", { name: other.name }), true);
    if (files.length) void keep(tree, files, (text) => put(text, event), say);
  };
  const first = { signal, capture: true };
  field.addEventListener("paste", (event) => take(event, event.clipboardData), first);
  field.addEventListener("drop", (event) => take(event, event.dataTransfer), first);
  // Anywhere else on the page, too: the browser would leave the page for the file.
  window.addEventListener("drop", (event) => take(event, event.dataTransfer), { signal });
  window.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  }, { signal });
}

/** @param {string} tree @param {File[]} files @param {(text: string) => void} put @param {(words: string, bad?: boolean) => void} say */
async function keep(tree, files, put, say) {
  for (const file of files) {
    const form = new FormData();
    form.append("file", file);
    form.append("alt", altOf(file.name));
    try {
      const kept = await send(`${tree}/images`, form);
      put(kept.text);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(told(error), true);
      return;
    }
  }
  say(t("The text between the brackets says what an image shows to those who cannot see it."));
}

/** Puts a text where the caret is, as if it had been typed. @param {HTMLTextAreaElement} field @param {string} text */
export function typeInto(field, text) {
  const before = field.value.slice(0, field.selectionStart);
  const gap = before && !before.endsWith("\n") ? "\n" : "";
  field.setRangeText(`${gap}${text}\n`, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

const NAMED = /!\[([^[\]\n]{0,1000})\]\(image:([0-9a-f]{64})\)/g;

/** A text in parts: as it is, and the address and description of each image that it names.
 * @param {string} text @returns {(string | {src: string, alt: string})[]} */
export function withImages(text) {
  /** @type {(string | {src: string, alt: string})[]} */
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(NAMED)) {
    if (match.index > from) parts.push(text.slice(from, match.index));
    parts.push({ src: `/api/images/${match[2]}`, alt: match[1] });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}
