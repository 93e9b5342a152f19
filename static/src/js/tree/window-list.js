// @ts-check
// The windows of a workspace as a list: what each shows, and the buttons for what may be done with it.

import { called } from "./called.js";
import { call, putCall } from "../live/calls.js";
import { quoted } from "./asking.js";
import { make } from "./forms.js";
import { parsed } from "./morph.js";
import { withRefs } from "./refs.js";
import { t } from "../t.js";

/** @typedef {{number: number, kind: "node" | "result" | "stash", visible: boolean, keep: boolean, ref: string, label: string, text: string, before: string[], after: string[], as: "diff" | "prose" | null, open: boolean, current: string | null, document: string | null, revision: number | null}} Shown */
/** @typedef {{store: import("./refs.js").Known | null, mode: string, isOwn: boolean, onChanges: (list: HTMLElement, document: string) => void}} Viewer isOwn: whether the windows are the reader's; onChanges fills a list with the last changes of a document */

const SVG = "http://www.w3.org/2000/svg";
const AROUND = 60; // characters on each side of a change
const LONG = 600; // characters of a text that folds
const SHOWN = 80; // characters of a folded text

/** Windows in their groups: open, stashed, hidden.
 * @param {Shown[]} windows @param {Record<string, string>} markup of texts, as the path draws them, by number
 * @param {Viewer} viewer */
export function windowList(windows, markup, viewer) {
  const groups = [
    { words: t("Open"), rows: windows.filter((shown) => shown.visible) },
    { words: t("Stashed"), rows: windows.filter((shown) => !shown.visible && shown.kind === "stash") },
    { words: t("Hidden"), rows: windows.filter((shown) => !shown.visible && shown.kind !== "stash") },
  ];
  const parts = groups.filter(({ rows }) => rows.length).flatMap(({ words, rows }) => [make("h2", { textContent: words }), make("ul", { className: "list" }, ...rows.map((shown) => windowRow(shown, markup[shown.number], viewer)))]);
  return parts.length ? parts : [make("p", { className: "soft", textContent: t("Nothing is open. Pin a text to keep it beside the path, or stash words to use them later.") })];
}

/** @param {Shown} shown @param {string | undefined} markup @param {Viewer} viewer */
function windowRow(shown, markup, viewer) {
  const head = make("p", { className: "window-head" }, ...nameOf(shown, viewer), " ");
  const marks = [shown.document ? t("revision {number}", { number: shown.revision ?? 0 }) : "", shown.keep && shown.visible ? t("pinned") : "", shown.label && shown.kind !== "stash" ? shown.label : "", shown.current ? t("an older version") : ""];
  head.append(make("span", { className: "soft", textContent: marks.filter(Boolean).join(" · ") }), " ", make("code", { className: "id", textContent: `#${shown.number}` }));
  const text = shown.as === "diff" ? differenceOf(shown.text) : textOf(shown, markup, viewer);
  const body = shown.visible && shown.text.length <= LONG ? text : make("details", {}, make("summary", { textContent: beginning(shown.text) || t("empty") }), text);
  const row = make("li", { className: shown.visible ? "" : "hidden-window" }, head, buttonsOf(shown, viewer), ...changesOf(shown, viewer), shown.open ? body : make("p", { className: "soft", textContent: shown.text }));
  row.dataset.number = String(shown.number);
  const grip = make("button", { type: "button", className: "quiet grip", textContent: "⠿", draggable: true, title: t("Drag to move, or press the arrow keys") });
  grip.setAttribute("aria-label", t("Move {text} up or down", { text: windowNamed(shown) }));
  head.prepend(grip, " ");
  return row;
}

/** What a window shows: as the path draws it, else as it is.
 * @param {Shown} shown @param {string | undefined} markup @param {Viewer} viewer */
function textOf(shown, markup, viewer) {
  const words = markup ? [drawnText(markup, shown.ref)] : linked(shown.text, shown.kind === "result", viewer);
  const values = { dir: "auto", ...(shown.text.length > LONG ? { tabIndex: 0, role: "group", ariaLabel: called(shown.text) } : {}) };
  return make(markup ? "div" : "pre", values, ...around(shown.before), ...words, ...around(shown.after));
}

/** The name of what a window shows, as a link to it where there is one. @param {Shown} shown @param {Viewer} viewer */
function nameOf(shown, viewer) {
  if (shown.document) return [make("a", { href: `/documents/${shown.document}`, textContent: shown.ref })];
  const id = shown.kind === "node" ? /^\[([a-z0-9]+)\]/.exec(shown.ref)?.[1] : undefined;
  if (!id || (viewer.store?.slotOf(id) ?? null) === null) return linked(shown.ref, shown.kind !== "stash", viewer);
  const words = shown.as === "diff" || !shown.text.trim() ? t("Go to the text") : called(shown.text);
  const link = make("a", { href: `?node=${id}`, textContent: words, title: `${t("Go to the text")} · ${shown.ref}`, dir: "auto" });
  link.dataset.go = id;
  return [link];
}

/** The words, with what opens each text that they name. @param {string} words @param {boolean} isNaming @param {Viewer} viewer */
function linked(words, isNaming, viewer) {
  return isNaming ? withRefs(words, viewer.store) : [words];
}

/** The last changes of the document that a window shows, read when they are asked for.
 * @param {Shown} shown @param {Viewer} viewer */
function changesOf(shown, viewer) {
  if (!shown.document || !shown.revision) return [];
  const list = make("ul", { className: "list" });
  const box = make("details", {}, make("summary", { textContent: t("Last changes") }), list);
  box.addEventListener("toggle", () => box.open && !list.childElementCount && viewer.onChanges(list, shown.document ?? ""));
  return [box];
}

/** What tells a window from others whose texts may begin alike. @param {Shown} shown */
function windowNamed(shown) {
  if (shown.kind === "stash") return shown.label;
  return shown.text.trim() ? `${called(shown.text)} #${shown.number}` : `#${shown.number}`;
}

/** What may be done with a window. @param {Shown} shown @param {Viewer} viewer */
function buttonsOf(shown, { isOwn, mode }) {
  const button = (/** @type {import("../live/calls.js").Call | null} */ what, /** @type {string} */ words, values = {}, hasEye = false) => {
    const element = make("button", { type: "button", className: "quiet", ariaLabel: `${words}: ${windowNamed(shown)}`, ...values }, ...(hasEye ? [eye(), " "] : []), words);
    if (what) putCall(element, what);
    return element;
  };
  const buttons = [];
  if (shown.visible) {
    if (!shown.keep) buttons.push(button(call("open", { ref: `#${shown.number}`, keep: true }), t("Pin")));
    buttons.push(button(call("hide", { windows: [`#${shown.number}`] }), t("Hide"), { ariaPressed: "true" }, shown.kind === "result"));
  } else if (shown.kind === "stash") {
    buttons.push(button(call("recall", { label: shown.label }), t("Recall")));
  } else {
    buttons.push(button(call("show", { windows: [`#${shown.number}`] }), t("Show"), { ariaPressed: "false" }, shown.kind === "result"));
  }
  if (isOwn && shown.open) {
    const take = button(null, mode === "buffer" ? t("Insert into the text") : t("Insert into the composer"));
    take.dataset.take = shown.text;
    buttons.push(take);
  }
  if (shown.kind === "stash") {
    const drop = button(call("drop", { ref: `stash:${quoted(shown.label)}` }), t("Drop"));
    drop.dataset.label = shown.label;
    buttons.push(drop);
  } else buttons.push(button(call("close", { windows: [`#${shown.number}`] }), t("Close")));
  return make("span", { className: "window-do" }, ...buttons);
}

/** Puts rows in place of those of before; the control that had the focus has it again, in the row of its window.
 * @param {Element} box @param {Node[]} rows */
export function drawAgain(box, rows) {
  const controls = "button, a, summary";
  const row = box.contains(document.activeElement) ? document.activeElement?.closest("li[data-number]") : null;
  const at = row ? [...row.querySelectorAll(controls)].indexOf(/** @type {Element} */ (document.activeElement)) : -1;
  box.replaceChildren(...rows);
  const again = row && box.querySelector(`li[data-number="${row.getAttribute("data-number")}"]`);
  const held = again ? [...again.querySelectorAll(controls)] : [];
  /** @type {HTMLElement | undefined} */ (held[at] ?? held.at(-1))?.focus({ preventScroll: true });
}

/** A revision of a document: its number, who wrote it, and what it changed.
 * @param {number} number @param {string[]} authors @param {{kind: "same" | "old" | "new", text: string}[]} pieces */
export function revisionRow(number, authors, pieces) {
  const head = make("p", { className: "soft", textContent: [t("revision {number}", { number }), authors.join(", ")].filter(Boolean).join(" · ") });
  return make("li", {}, head, make("p", { className: "change", dir: "auto" }, ...pieces.map(pieceOf)));
}

/** Lines around a window, which it does not own. @param {string[]} lines */
const around = (lines) => (lines.length ? [make("span", { className: "soft around", textContent: lines.join("\n") })] : []);

/** A text as the path draws it; its portals are those of the node that it is of.
 * @param {string} markup @param {string} ref */
function drawnText(markup, ref) {
  const text = make("div", { className: "text window-text" }, parsed(markup));
  const node = /^\[([a-z0-9]+)\]/.exec(ref)?.[1];
  if (node) text.dataset.of = node;
  return text;
}

/** The beginning of a text, by which a folded one is known. @param {string} text */
const beginning = (text) => (text.length > SHOWN ? `${text.slice(0, SHOWN).trimEnd()}…` : text);

/** What was added and removed, marked. @param {string} text */
function differenceOf(text) {
  const lines = text.split("\n").map((line) => make(line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span", { textContent: line }));
  return make("pre", { className: "diff", dir: "auto" }, ...lines);
}

/** A piece of a change: what stayed only at its ends. @param {{kind: "same" | "old" | "new", text: string}} piece */
function pieceOf({ kind, text }) {
  if (kind !== "same") return make(kind === "new" ? "ins" : "del", { textContent: text });
  return text.length <= 3 * AROUND ? text : `${text.slice(0, AROUND)} … ${text.slice(-AROUND)}`;
}

/** An eye, drawn: not every machine has a font with one. */
function eye() {
  const drawing = document.createElementNS(SVG, "svg");
  for (const [name, value] of [["class", "eye"], ["viewBox", "0 0 20 14"], ["aria-hidden", "true"], ["focusable", "false"]]) drawing.setAttribute(name, value);
  const lines = document.createElementNS(SVG, "path");
  lines.setAttribute("d", "M1 7c4.5-7.5 13.5-7.5 18 0-4.5 7.5-13.5 7.5-18 0zM10 4.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6z");
  drawing.append(lines);
  return drawing;
}
