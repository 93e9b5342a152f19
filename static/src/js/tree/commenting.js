// @ts-check
// Comments and suggestions on the words that are selected in a text of the tree: offered beside the
// selection and by keys, marked at their words, and shown where they are pressed.

import { nthOf, selectedIn } from "../editor/places.js";
import { wordsBar } from "../editor/words-bar.js";
import { json, part, Refused, told } from "../live/api.js";
import { t } from "../t.js";
import { perform } from "./actions.js";
import { Thread } from "./thread.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** The words of a node that are selected; `also`: those of the texts after it, and all the words as they are drawn.
 * @typedef {{id: string, words: string, nth: number, also?: Words[], whole?: string}} Words */

const TEXTS = "article.node[data-id] > .text, .stretch .run[data-id], .book .cm-content";
const MOST = 2000; // characters that a note is about
const MOST_TEXTS = 8; // of which words are selected together
const AT_ONCE = 100; // texts of which the notes are asked for in one request
const SHOWN_MS = 2500;
const WAIT_MS = 100;
const TRIES = 30;

/** @returns {import("../elements/loom-buffer.js").LoomBuffer | null} */
const book = () => document.querySelector("loom-buffer[data-on]");

/** The texts that the selection is in, in their order, and the selection. */
function selected() {
  const selection = getSelection();
  const range = selection?.rangeCount && !selection.isCollapsed ? selection.getRangeAt(0) : null;
  const inside = range?.commonAncestorContainer;
  const element = inside instanceof Element ? inside : inside?.parentElement;
  if (!range || !element) return null;
  const text = element.closest(TEXTS);
  const around = text ? null : element.closest(".stretch");
  const texts = text ? [text] : [...(around?.querySelectorAll(TEXTS) ?? [])].filter((text) => range.intersectsNode(text) && within(range, text).toString().trim());
  return texts.length && !texts.some((text) => text.querySelector(":scope > form")) ? { range, texts } : null;
}

/** The part of a selection that is in a text. @param {Range} range @param {Element} text */
function within(range, text) {
  const part = range.cloneRange();
  if (!text.contains(range.startContainer)) part.setStart(text, 0);
  if (!text.contains(range.endContainer)) part.setEnd(text, text.childNodes.length);
  return part;
}

/** The words of a node that are selected, with those of the nodes after it; null where none are. What is typed there
 * and not saved becomes a wording first. @param {TreePage} page @returns {Promise<Words | null>} */
export async function selectedWords(page) {
  const chosen = selected();
  if (!chosen) return null;
  if (chosen.texts[0].matches(".cm-content")) return inEditor();
  if (chosen.texts.length > MOST_TEXTS) throw tooMany();
  const all = await Promise.all(chosen.texts.map((text) => inText(page, text, within(chosen.range, text))));
  return together(all, "\n\n");
}

const tooMany = () => new Refused({ message: t("These words are of more than {n} texts.", { n: MOST_TEXTS }), hint: t("Select words of fewer, or write a note on the first.") }, 0);

/** @param {(Words | null)[]} all of each text @param {string} between how they are read together @returns {Words | null} */
function together(all, between) {
  const [first, ...also] = all.filter((words) => words !== null);
  if (!first || !also.length) return first ?? null;
  return { ...first, also, whole: [first, ...also].map(({ words }) => words).join(between) };
}

/** @param {TreePage} page @param {Element} text @param {Range} range in it @returns {Promise<Words | null>} */
async function inText(page, text, range) {
  const id = text.closest("[data-id]")?.getAttribute("data-id") ?? "";
  const before = document.createRange();
  before.selectNodeContents(text);
  const drawn = before.toString();
  before.setEnd(range.startContainer, range.startOffset);
  const from = before.toString().length;
  const to = from + range.toString().length;
  const source = await part(`${page.web}/nodes/${id}/text`);
  const place = selectedIn(source, drawn, from, to);
  return place && wordsAt(id, source, place.from, place.to);
}

/** @returns {Promise<Words | null>} */
async function inEditor() {
  const host = book();
  const editor = host?.editor;
  if (!host || !editor) return null;
  const { from, to } = editor.view.state.selection.main;
  const within = () => editor.stretchesIn(from, to).filter((stretch) => stretch.slot);
  if (!within().length) throw new Refused({ message: t("This is not saved yet: save it, then comment on it."), hint: "" }, 0);
  if (within().some(({ slot }) => editor.book.dirty.has(slot)) && !(await host.saving?.edits())) throw new Refused({ message: t("Not saved."), hint: "" }, 0);
  const stretches = within();
  if (stretches.length > MOST_TEXTS) throw tooMany();
  const all = stretches.map((stretch) => wordsAt(stretch.id, stretch.text, Math.max(0, from - stretch.from), Math.min(to - stretch.from, stretch.text.length)));
  const words = together(all, "");
  return words?.also ? { ...words, whole: editor.view.state.sliceDoc(from, to) } : words;
}

/** Without the blanks at the ends. @param {string} id @param {string} text @param {number} from @param {number} to @returns {Words | null} */
function wordsAt(id, text, from, to) {
  const all = text.slice(from, to);
  const words = all.trim();
  if (!words) return null;
  if (words.length > MOST) throw new Refused({ message: t("A comment is about at most {n} characters.", { n: MOST.toLocaleString() }), hint: "" }, 0);
  return { id, words, nth: nthOf(text, words, from + all.indexOf(words)) };
}

/** Opens the form of a comment or a suggestion for the words that are selected.
 * @param {TreePage} page @param {"annotate" | "suggest"} name */
async function begin(page, name) {
  try {
    const about = await selectedWords(page);
    if (!about) return;
    if (about.also && name === "suggest" && page.settings.mode !== "buffer") {
      throw new Refused({ message: t("These words are of {n} texts.", { n: about.also.length + 1 }), hint: t("Suggest another wording for words of one of them, or comment on all.") }, 0);
    }
    const host = await formsOf(page, about.id);
    if (host) perform(name, { page, id: about.id, host, button: null, about });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // By its element: what this module is imported for is tested without a page.
    const toast = /** @type {import("../elements/loom-toast.js").LoomToast | null} */ (document.querySelector("loom-toast"));
    toast?.show(told(error), { bad: true });
  }
}

/** Where forms about a node open: at its text, else at its details. @param {TreePage} page @param {string} id */
export async function formsOf(page, id) {
  const shown = document.getElementById(`n-${id}`);
  return shown?.matches("article") ? shown : (book()?.formAt(id) ?? (await beside(page, id)));
}

/** The details of a node, once they are drawn beside the text. @param {TreePage} page @param {string} id */
async function beside(page, id) {
  page.emit("details", id);
  return await drawn(() => document.querySelector(`.details[data-id="${CSS.escape(id)}"]`));
}

/** What a look finds, as soon as it finds something. @template T @param {() => T | null} look @returns {Promise<T | null>} */
async function drawn(look) {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const element = look();
    if (element) return element;
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
  return null;
}

/** Shows a note, and where it is among others. @param {TreePage} page @param {string} note @param {string} id of its text */
async function show(page, note, id) {
  const own = () => [...document.querySelectorAll(`[data-note="${CSS.escape(note)}"].note`)].find((place) => place.closest("article.node, .details"));
  const folded = own()?.closest(".notes.folded");
  folded?.classList.remove("folded");
  if (!own()) await beside(page, id);
  const place = /** @type {HTMLElement | null} */ (await drawn(() => own() ?? null));
  if (!place) return;
  place.tabIndex = -1;
  place.scrollIntoView({ block: "nearest" });
  place.focus({ preventScroll: true });
  point(place);
}

/** What can be done with the words that are selected, in the bar beside them.
 * @param {TreePage} page @param {AbortSignal} signal */
function offer(page, signal) {
  const bar = wordsBar();
  const of = {};
  const group = t("Notes and links");
  const place = () => {
    const chosen = page.can.comment ? selected() : null;
    return chosen?.range.toString().trim() ? chosen : null;
  };
  const box = () => place()?.range.getBoundingClientRect() ?? null;
  bar.add({ of, group, order: 1, words: t("Comment"), offers: box, act: () => void begin(page, "annotate") }, signal);
  bar.add({ of, group, order: 2, words: t("Suggest another wording"), offers: box, act: () => void begin(page, "suggest") }, signal);
  const host = () => {
    const texts = place()?.texts ?? [];
    return texts.length === 1 ? texts[0].closest("article.node[data-id]") : null;
  };
  const link = () => {
    const node = host();
    if (node) perform("link", { page, id: node.getAttribute("data-id") ?? "", host: node, button: null });
  };
  bar.add({ of, group, order: 3, words: t("Link…"), offers: () => (page.can.write && host() ? box() : null), act: link }, signal);
}

/** The marks of notes in a buffer's editor: which there are is asked for once for each text. */
class Marks {
  /** @type {import("../editor/comments.js").Comments} */
  known = new Map();

  /** @param {TreePage} page @param {AbortSignal} signal */
  constructor(page, signal) {
    this.page = page;
    for (const name of ["book", "text"]) page.addEventListener(name, () => void this.load(), { signal });
    page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
  }

  /** @param {{kind: string, payload: any}} event */
  heard({ kind, payload }) {
    const note = kind === "node.added" && payload.node.kind === "annotation" ? payload.node.id : /^annotation\.|^node\.flagged$/.test(kind) ? payload.node : "";
    if (!note || !book()) return;
    const id = this.page.store?.textOf(note) ?? "";
    if (!this.known.delete(id) && kind !== "node.added") return;
    void this.load(id);
  }

  /** @param {string} [also] a text that has a note now */
  async load(also = "") {
    const editor = book()?.editor;
    if (!editor) return;
    const missing = editor.book.nodes.filter(({ id, noted }) => id && (noted || id === also) && !this.known.has(id)).map(({ id }) => id);
    try {
      for (let at = 0; at < missing.length; at += AT_ONCE) {
        const ids = missing.slice(at, at + AT_ONCE);
        const { notes } = await json(`${this.page.web}/comments?ids=${ids.join(",")}`);
        for (const id of ids) this.known.set(id, notes[id] ?? []);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
    book()?.editor?.comment(new Map(this.known));
  }
}

/** Follows what is selected and pressed until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function followComments(page, signal) {
  offer(page, signal);
  new Marks(page, signal);
  const thread = new Thread(page, signal);
  document.addEventListener("click", (event) => {
    const mark = /** @type {Element} */ (event.target).closest("[data-of-comment]");
    if (!mark?.closest(TEXTS) || !getSelection()?.isCollapsed) return;
    const editor = book()?.editor;
    const note = mark.getAttribute("data-of-comment") ?? "";
    if (editor?.view.dom.contains(mark)) void thread.toggle(editor, note, editor.stretchAt(editor.view.posAtDOM(mark)).id);
    else void show(page, note, mark.closest("[data-id]")?.getAttribute("data-id") ?? "");
  }, { signal });
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (!event.altKey || !(event.ctrlKey || event.metaKey)) return;
    const editor = book()?.editor;
    const here = event.code === "KeyM" && editor?.view.hasFocus && getSelection()?.isCollapsed ? editor.noteHere() : null;
    if (editor && here) {
      event.preventDefault();
      return void thread.toggle(editor, here.note, here.id);
    }
    if (!page.can.comment || !selected()) return;
    const name = event.code === "KeyM" ? "annotate" : event.code === "KeyS" ? "suggest" : "";
    if (!name) return;
    event.preventDefault();
    void begin(page, name);
  };
  document.addEventListener("keydown", keys, { signal, capture: true });
}

/** Goes to the words that a note is about. @param {string} note */
export function goToWords(note) {
  if (book()?.editor?.showNote(note)) return;
  const marks = [...document.querySelectorAll(`[data-of-comment="${CSS.escape(note)}"]`)];
  marks[0]?.scrollIntoView({ block: "center" });
  for (const mark of marks) point(mark);
}

/** Draws attention to something for a moment. @param {Element} element */
function point(element) {
  element.classList.add("pointed");
  setTimeout(() => element.classList.remove("pointed"), SHOWN_MS);
}
