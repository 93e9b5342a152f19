// @ts-check
// Keeps what is read of a tree, so that it can be read after a reload while the server is away.

import { keepTree } from "../live/kept-trees.js";
import { make } from "./forms.js";
import { placeAt } from "./page-drafts.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const REST_MS = 1500; // without a change

/** Keeps the path after each change of it, once nothing changes any more.
 * @param {TreePage} page @param {AbortSignal} signal */
export function keepReadable(page, signal) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const keep = () => {
    clearTimeout(timer);
    if (!page.isPast && page.socket.state !== "gone") void keepTree(shownOf(page)).catch(() => {}); // a full disk
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(keep, REST_MS);
  };
  for (const name of ["text", "changed", "moved", "store"]) page.addEventListener(name, soon, { signal });
  document.addEventListener("drawn", soon, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  soon();
}

/** @param {TreePage} page @returns {import("../live/kept-trees.js").Kept} */
function shownOf(page) {
  const { tree, me, mode } = page.settings;
  const place = placeAt(page, "buffer");
  return {
    tree,
    title: document.querySelector("[data-title]")?.textContent ?? "",
    mode,
    node: page.position,
    html: drawnBook(page) ?? drawnPath(),
    at: new Date().toISOString(),
    outbox: page.outbox.name,
    drafts: `heddle.draft.${me}.${tree}.`,
    place: `${place.kind}.${place.slot}`,
  };
}

/** The texts of the path with who wrote them and when. */
function drawnPath() {
  const box = make("div");
  for (const node of document.querySelectorAll("loom-path .stretch > [data-id]")) {
    const article = make("article", { className: "node" });
    article.setAttribute("data-who", node.getAttribute("data-who") ?? "0");
    const header = make("header");
    for (const part of node.querySelectorAll(":scope > header > .by, :scope > header > time")) header.append(part.cloneNode(true), " ");
    const text = (node.querySelector(":scope > .text") ?? node).cloneNode(true);
    if (header.childNodes.length) article.append(header);
    article.append(text);
    box.append(article);
  }
  return box.innerHTML;
}

/** The text of a buffer by author, without what is not sent; null where no editor holds it. @param {TreePage} page */
function drawnBook(page) {
  const editor = /** @type {import("../elements/loom-buffer.js").LoomBuffer | null} */ (document.querySelector("loom-buffer"))?.editor;
  if (!editor) return null;
  const box = make("div");
  const words = make("p", { className: "text kept-book", dir: "auto" });
  const { state } = editor.view;
  const end = state.doc.length - editor.tail.length;
  let from = 0;
  for (const { who, length } of editor.book.pieces) {
    const to = Math.min(end, from + length);
    if (to <= from) break;
    const run = make("span", { textContent: state.sliceDoc(from, to) });
    run.setAttribute("data-who", String(page.cast.get(who)?.colour ?? 0));
    run.className = "run";
    words.append(run);
    from = to;
  }
  box.append(words);
  return box.innerHTML;
}
