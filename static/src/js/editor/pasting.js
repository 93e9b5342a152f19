// @ts-check
// What was copied from a formatted page, as Markdown; plain text is what is pasted at first.

/** @typedef {{nodeType: number, nodeName: string, textContent: string | null, childNodes: Iterable<Piece>, getAttribute?: (name: string) => string | null}} Piece a node of a document, or what a test has in its place */

const LEFT_OUT = new Set(["SCRIPT", "STYLE", "HEAD", "TITLE", "META", "LINK", "TEMPLATE"]);
const BLOCKS = new Set(["P", "DIV", "SECTION", "ARTICLE", "HEADER", "FOOTER", "MAIN", "UL", "OL", "TABLE", "TR", "FIGURE"]);
const AROUND = /** @type {Record<string, string>} */ ({ STRONG: "**", B: "**", EM: "*", I: "*", CODE: "`" });

/** The Markdown of a copied part of a page. @param {Piece} root */
export function markdownOf(root) {
  return tidy(within(root));
}

/** @param {string} text */
const tidy = (text) => text.replace(/[ \t]+\n/g, "\n").replace(/\n{3,}/g, "\n\n").trim();

/** @param {Piece} piece */
const within = (piece) => [...piece.childNodes].map(written).join("");

/** @param {Piece} piece @returns {string} */
function written(piece) {
  if (piece.nodeType === 3) return (piece.textContent ?? "").replace(/\s+/g, " ");
  if (piece.nodeType !== 1 || LEFT_OUT.has(piece.nodeName)) return "";
  const name = piece.nodeName;
  const heading = /^H([1-6])$/.exec(name);
  if (heading) return `\n\n${"#".repeat(Number(heading[1]))} ${tidy(within(piece))}\n\n`;
  if (name === "BR") return "\n";
  if (name === "HR") return "\n\n---\n\n";
  if (name === "PRE") return `\n\n\`\`\`\n${(piece.textContent ?? "").replace(/\n$/, "")}\n\`\`\`\n\n`;
  if (name === "BLOCKQUOTE") return `\n\n${tidy(within(piece)).replace(/^/gm, "> ")}\n\n`;
  if (name === "LI") return `\n- ${tidy(within(piece)).replace(/\n/g, "\n  ")}`;
  if (name === "OL") return `\n\n${numbered(piece)}\n\n`;
  if (name === "A") return linked(piece);
  if (AROUND[name] && !isLight(piece)) return around(within(piece), AROUND[name]);
  return BLOCKS.has(name) ? `\n\n${within(piece)}\n\n` : within(piece);
}

/** Some programs copy everything within one bold element that says it is not bold. @param {Piece} piece */
const isLight = (piece) => /font-weight:\s*(normal|400)/.test(piece.getAttribute?.("style") ?? "");

/** @param {Piece} list */
function numbered(list) {
  const items = [...list.childNodes].filter((child) => child.nodeName === "LI");
  return items.map((item, at) => `${at + 1}. ${tidy(within(item)).replace(/\n/g, "\n   ")}`).join("\n");
}

/** @param {Piece} piece */
function linked(piece) {
  const words = within(piece);
  const href = piece.getAttribute?.("href") ?? "";
  return /^https?:/.test(href) && words.trim() && words.trim() !== href ? `[${words.trim()}](${href})` : words;
}

/** Marks are at the words, and blanks outside of them. @param {string} text @param {string} sign */
function around(text, sign) {
  const [, before, words, after] = /^(\s*)([\s\S]*?)(\s*)$/.exec(text) ?? ["", "", text, ""];
  return words ? `${before}${sign}${words}${sign}${after}` : text;
}

/** The Markdown of what is being pasted; "" where it has no format that plain text loses.
 * @param {DataTransfer | null} data */
export function pastedMarkdown(data) {
  const html = data?.getData("text/html") ?? "";
  if (!html) return "";
  const markdown = markdownOf(/** @type {any} */ (new DOMParser().parseFromString(html, "text/html").body));
  const plain = data?.getData("text/plain") ?? "";
  return markdown.replace(/\s+/g, " ").trim() === plain.replace(/\s+/g, " ").trim() ? "" : markdown;
}

/** A text as it can be kept: no program shows U+0000, and half of a character has no meaning.
 * @param {string} text */
export function storable(text) {
  return text.replaceAll("\0", "").replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD");
}
