// @ts-check
// What the command bar offers for what has been typed: nodes that match, or verbs.

import { json } from "../live/api.js";
import { t } from "../t.js";

/**
 * @typedef {{kind: "id" | "line" | "label" | "excerpt" | "soft" | "by", text: string}} Part
 * @typedef {{parts: Part[], go?: string, complete?: string, href?: string, run?: () => unknown, group?: string, colour?: number}} Choice
 * @typedef {{atFirst: () => Promise<Choice[]>, besides: (query: string, known: Command[], signal: AbortSignal) => Promise<{best: Choice[], rest: Choice[]}>}} More what is found besides nodes
 * @typedef {{verb: string, syntax: string, help: string, group: string, aliases: string[], allowed: boolean}} Command
 */

/** @type {Promise<Command[]> | null} */
let catalogue = null;

/** The registry, asked for once. @returns {Promise<Command[]>} */
function commands() {
  catalogue ??= json("/api/commands").then((body) => body.results);
  catalogue.catch(() => (catalogue = null));
  return catalogue;
}

/** Verbs that fit what was typed after the arrow; all of them for nothing.
 * @param {Command[]} known @param {string} typed @returns {Choice[]} */
export function verbChoices(known, typed) {
  const word = typed.toLowerCase();
  const [verb] = word.split(/\s/);
  const fits = (/** @type {Command} */ command) =>
    word.includes(" ") ? command.verb === verb || command.aliases.includes(verb) : command.verb.startsWith(verb) || command.aliases.some((alias) => alias.startsWith(verb));
  return known
    .filter((command) => command.allowed !== false && fits(command))
    .slice(0, word.includes(" ") ? 4 : 40)
    .map((command) => ({
      parts: [
        { kind: "line", text: command.syntax },
        { kind: "soft", text: command.help.split("\n")[0] },
      ],
      ...(word.includes(" ") ? {} : { complete: `→ ${command.verb} ` }),
    }));
}

/** The forms of the verb, and what may come next. @param {import("../tree/page.js").TreePage} page @param {Command[]} known @param {string} line */
function lineChoices(page, known, line) {
  const forms = verbChoices(known, line);
  if (!/\s/.test(line)) return forms;
  const ids = [...(page.store?.pathTo(page.position) ?? [])].reverse().map((slot) => page.store?.selected(slot) ?? "");
  const others = page.store?.ids ?? [];
  const nearby = { ids: [...new Set([...ids, ...others])].filter(Boolean), words: (/** @type {string} */ id) => page.excerpts.of(id) };
  const syntaxes = forms.map((form) => form.parts[0].text);
  return [...forms, ...wordChoices(syntaxes, line, nearby)];
}

/** @param {import("../tree/page.js").TreePage} page @param {string} text @param {string} search @param {AbortSignal} signal @param {More} more @returns {Promise<{choices: Choice[], lit: string[], query: string}>} `lit`: the nodes that match, for the map; `query`: what is marked in the choices */
export async function choicesFor(page, text, search, signal, more) {
  const arrow = /^\s*(→|->|>)\s*(.*)$/s.exec(text);
  if (arrow) return { choices: lineChoices(page, await commands(), arrow[2]), lit: [], query: "" };
  const query = text.trim();
  if (!query) return { choices: await more.atFirst(), lit: [], query };
  const direct = /^\[?([a-z]\d[a-z]\d(?:[a-z\d]{0,4}))\]?$/i.exec(query);
  const [answer, { best, rest }] = await Promise.all([json(`${search}?q=${encodeURIComponent(query)}`, { signal }), commands().then((known) => more.besides(query, known, signal))]);
  const near = new Set(answer.hits.filter((/** @type {any} */ hit) => hit.near).map((/** @type {any} */ hit) => hit.id));
  const hits = answer.hits.map((/** @type {any} */ hit) => ({
    go: hit.id,
    group: hit.near ? t("Near in meaning") : t("In this tree"),
    colour: hit.colour,
    parts: [
      { kind: "id", text: hit.id },
      { kind: "excerpt", text: hit.text },
      { kind: "by", text: hit.by },
    ],
  }));
  if (direct && page.store?.places.has(direct[1].toLowerCase())) {
    const id = direct[1].toLowerCase();
    hits.unshift({ go: id, parts: [{ kind: "id", text: id }, { kind: "excerpt", text: t("go to this node") }] });
  }
  const none = /** @type {Choice} */ ({ parts: [{ kind: "soft", text: t("No results. Type → for commands.") }] });
  // Under one heading each: what has the words, then what is near.
  const grouped = [...hits.filter((/** @type {any} */ hit) => !near.has(hit.go)), ...hits.filter((/** @type {any} */ hit) => near.has(hit.go))];
  const choices = [...best, ...grouped, ...rest];
  return { choices: choices.length ? choices : [none], lit: answer.lit, query };
}

// What may come next in a line: refs, options and their values, by the syntax of its forms.

/** @typedef {{ids: string[], words: (id: string) => string}} Nearby nodes of the tree, the nearest first */

const REFS = ["here", "parent", "root"];
const MOST = 8;

/** The options of a syntax with the values that are words: `as:` → version, fork. @param {string} syntax */
function optionsOf(syntax) {
  /** @type {Map<string, string[]>} */
  const byName = new Map();
  for (const [, name, rest] of syntax.matchAll(/\b([a-z-]+):([^\s\]]*)/g)) {
    const values = rest.split("|").filter((value) => /^[a-z]+$/.test(value));
    byName.set(name, values.length > 1 ? values : []);
  }
  return byName;
}

/** Words that may take the place of the last one of a line, as choices.
 * @param {string[]} forms the syntaxes of its verb @param {string} line after the arrow
 * @param {Nearby} nearby @returns {Choice[]} */
export function wordChoices(forms, line, nearby) {
  const last = /\S*$/.exec(line)?.[0] ?? "";
  const before = line.slice(0, line.length - last.length);
  if (/["\n]/.test(line) && (line.split('"').length % 2 === 0 || line.includes("\n"))) return [];
  const put = (/** @type {string} */ word, /** @type {string} */ after, /** @type {string} */ words = "") => ({
    parts: /** @type {import("./choices.js").Part[]} */ ([{ kind: "line", text: word }, { kind: "excerpt", text: words }]),
    complete: `→ ${before}${word}${after}`,
  });
  const options = new Map(forms.flatMap((form) => [...optionsOf(form)]));
  const [name, value] = last.split(":");
  if (value !== undefined) return (options.get(name) ?? []).filter((option) => option.startsWith(value)).map((option) => put(`${name}:${option}`, " "));
  const open = [...options.keys()].filter((key) => key.startsWith(last) && !new RegExp(`\\b${key}:`).test(before));
  const takesRef = forms.some((form) => /\bREF\b/.test(form));
  const refs = takesRef ? [...REFS, ...(last ? nearby.ids : nearby.ids.slice(0, 3))].filter((ref) => ref.startsWith(last.toLowerCase())) : [];
  return [...refs.slice(0, MOST).map((ref) => put(ref, " ", REFS.includes(ref) ? "" : nearby.words(ref))), ...open.map((key) => put(`${key}:`, ""))];
}
