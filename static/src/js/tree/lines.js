// @ts-check
// Command lines as the page writes them. Text goes as a block, unless it could end it.

/** A quoted string of the line's grammar. @param {string} text */
export function quoted(text) {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}

/** A line with content behind it. @param {string} head @param {string} text */
export function withText(head, text) {
  const couldEnd = text.split("\n").some((line) => line.trim() === "←");
  return couldEnd ? `${head} ${quoted(text)}` : `${head}\n${text}\n←`;
}

/**
 * @typedef {{n?: string, tokens?: string, temperature?: string, using?: string[], counts?: Record<string, string>}} Asking
 * `counts`: how many those give who do not give n.
 * @param {string} from a ref, or "" for here @param {Asking} asking
 */
export function continueLine(from, { n = "", tokens = "", temperature = "", using = [] }) {
  const parts = ["continue"];
  if (from) parts.push(`from ${from}`);
  if (n) parts.push(`n:${n}`);
  if (tokens) parts.push(`tokens:${tokens}`);
  if (temperature) parts.push(`temperature:${temperature}`);
  if (using.length) parts.push("using", ...using.map((name) => `agent:${quoted(name)}`));
  return parts.join(" ");
}

/** The lines of one go: those who give the same number stand on one. @param {Asking} asking */
export function continueLines({ using = [], counts = {}, n = "", ...rest }) {
  /** @type {Map<string, string[]>} */
  const byCount = new Map();
  for (const name of using) {
    const count = counts[name] || n;
    byCount.set(count, [...(byCount.get(count) ?? []), name]);
  }
  if (!byCount.size) return [continueLine("", { ...rest, n })];
  return [...byCount].map(([count, names]) => continueLine("", { ...rest, n: count, using: names }));
}

/** Whether a text is meant as a command: an arrow first, `>` for those without one on the keyboard.
 * @param {string} text */
export function isCommand(text) {
  return /^ {0,2}(→|->)/.test(text);
}

/** The line without its arrow. @param {string} text */
export function bare(text) {
  return text.replace(/^ {0,2}(→|->|>)\s*/, "");
}
