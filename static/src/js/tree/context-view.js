// @ts-check
// What a model would be sent: sections with their sizes and texts, the price, the exact request, and
// what differs from the request before.

import { tokensOf } from "./asking.js";
import { make } from "./forms.js";
import { language, t, tn } from "../t.js";

/** @typedef {{name: string, tokens: number, text: string, detail: string, note: string, nodes: string[], count?: number | null}} Section */
/** @typedef {{tokens: number, how: string, usd: number | null, cached_usd: number | null, answer_usd: number | null}} Price */
/** @typedef {{call: string, at: string, share: number, lines: string[], cut: boolean}} Before */
/** @typedef {{participant: string, how: "turn" | "continue", open: boolean, messages: {role: string, content: string}[], prompt: string | null, sections: Section[], tokens: number, limit: number, note: string, price: Price, before: Before | null}} Context */

/** The names of sections, as people read them. @returns {Record<string, string>} */
export const sectionNames = () => ({
  PERSONA: t("Persona"),
  TREE: t("Instructions of the tree"),
  MODE: t("How this tree is written"),
  INSTRUCTIONS: t("Instructions"),
  ASKING: t("How to continue"),
  MEMORY: t("Memory"),
  LORE: t("Lore"),
  PATH: t("Path"),
  TYPED: t("What you are writing"),
  NOTE: t("Author's note"),
  AUGMENTS: t("Augments"),
  EARLIER: t("Earlier"),
  REQUEST: t("Request"),
  RESULTS: t("Results"),
  STATUS: t("Status"),
  OUTLINE: t("Outline"),
  WINDOWS: t("Windows"),
  CLAIMS: t("Claims"),
  TODOS: t("To do"),
  SCRATCHPAD: t("Scratchpad"),
  TOOLS: t("Outside tools"),
  NOTIFICATIONS: t("Notifications"),
  LOOM: t("Around the path"),
  CLOSING: t("Where to write"),
});

/** What the option `without` calls those that can be left out of a continuation. @type {Record<string, string>} */
const PARTS = { PERSONA: "persona", TREE: "tree", INSTRUCTIONS: "instructions", MEMORY: "memory", LORE: "lore", NOTE: "note" };

const EYE = "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8Zm6.5 2.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4";

/** @typedef {{opened: Set<string>, without: Set<string>}} Shown what is unfolded, by name and detail, and the parts that are left out */

/** @param {number} usd */
const dollars = (usd) => usd.toLocaleString(language(), { style: "currency", currency: "USD", maximumSignificantDigits: 2 });

/** The context with what stands in the field of a dialogue and is sent with it: behind the path, and counted as the
 * composer counts it. @param {Context} context @param {string} typed @returns {Context} */
export function withTyped(context, typed) {
  if (!typed) return context;
  const tokens = tokensOf(typed);
  const section = { name: "TYPED", tokens, text: typed, detail: "", note: "", nodes: [] };
  const behind = context.sections.findIndex(({ name }) => name === "PATH") + 1 || context.sections.length;
  return { ...context, sections: [...context.sections.slice(0, behind), section, ...context.sections.slice(behind)], tokens: context.tokens + tokens };
}

/** What somebody is sent next: a sentence, the price, all of it as one bar and as rows, the exact request.
 * @param {string} name @param {Context} context @param {Shown} shown */
export function contextParts(name, context, { opened, without }) {
  const size = { name, tokens: context.tokens.toLocaleString(language()), limit: context.limit.toLocaleString(language()) };
  const head = make("p", { className: "soft" }, t("What {name} is sent next: {tokens} of {limit} tokens.", size));
  const parts = [head];
  if (context.price.usd !== null) parts.push(make("p", { className: "soft", textContent: priceWords(context.price) }));
  const { sections, how } = context;
  parts.push(bar(sections));
  const rows = sections.map((section, place) => {
    const row = sectionRow(section, titleOf(sections, place), opened);
    row.dataset.at = String(place);
    const part = how === "continue" ? partOf(section, without) : "";
    if (part) row.append(eyeOf(part, section.name === "LORE" ? section.detail : titleOf(sections, place), without.has(part)));
    return row;
  });
  parts.push(make("ol", { className: "sections" }, ...rows));
  // A part that was cut says so itself.
  if (context.note && !sections.some(({ note }) => note === context.note)) parts.push(make("p", { className: "soft", textContent: context.note }));
  if (!context.open) parts.push(make("p", { className: "soft", textContent: t("It contains text that you may not see, so only the sizes are shown.") }));
  else parts.push(fold("exact", t("The exact request"), exactRequest(context), opened));
  if (context.before) parts.push(differenceFold(context.before, opened));
  return parts;
}

/** A second part of the same name is what the agent's own view says of it. @param {Section[]} sections @param {number} place */
function titleOf(sections, place) {
  const { name } = sections[place];
  const isSecond = name === "PATH" && sections.findIndex((section) => section.name === "PATH") < place;
  return isSecond ? t("Path in short, with ids") : (sectionNames()[name] ?? name);
}

/** All that is sent as one bar, in the order sent; the rows below say it too. @param {Section[]} sections */
function bar(sections) {
  const pieces = sections.flatMap((section, place) => {
    if (!section.tokens) return [];
    const piece = make("span", { className: "sent-piece", title: `${titleOf(sections, place)}: ${section.tokens.toLocaleString(language())}` });
    Object.assign(piece.dataset, { at: String(place), part: section.name.toLowerCase() });
    piece.style.setProperty("--share", String(section.tokens));
    return [piece];
  });
  return make("div", { className: "sent-bar", ariaHidden: "true" }, ...pieces);
}

/** What a section contains in the reader's language, if it is a number of things: the API says it in English.
 * @param {Section} section */
function detailWords({ name, detail, count: n }) {
  if (typeof n !== "number") return detail;
  if (name === "NOTE") return tn("{n} paragraph before the end", "{n} paragraphs before the end", n);
  return name === "RESULTS" ? tn("{n} round", "{n} rounds", n) : tn("{n} node", "{n} nodes", n);
}

/** @param {Section} section @param {string} title @param {Set<string>} opened */
function sectionRow(section, title, opened) {
  const key = `${section.name} ${section.detail}`;
  const row = make("summary", {}, make("b", { textContent: title }), make("span", { className: "size", textContent: section.tokens ? section.tokens.toLocaleString(language()) : "" }));
  const detail = [detailWords(section), section.note].filter(Boolean).join(" · ");
  if (detail) row.append(make("span", { className: "soft said", textContent: detail }));
  const box = make("details", { open: opened.has(key) }, row, make("pre", { dir: "auto", textContent: section.text }));
  box.dataset.key = key;
  const item = make("li", section.text ? {} : { className: "left-out" }, box);
  item.dataset.part = section.name.toLowerCase();
  return item;
}

/** What a part is called where it is left out; "" for one that is always sent, or never. @param {Section} section @param {Set<string>} without */
function partOf(section, without) {
  const name = PARTS[section.name] ?? "";
  const part = name === "lore" ? `lore:${section.detail.replaceAll(";", ",").trim()}` : name;
  return part && (section.text || without.has(part)) ? part : "";
}

/** The button that leaves a part out this time, or sends it again. @param {string} part @param {string} title @param {boolean} isShut */
function eyeOf(part, title, isShut) {
  const button = make("button", { type: "button", className: "eye", title: isShut ? t("Send it again") : t("Leave out this time"), ariaPressed: String(isShut), ariaLabel: t("Leave out this time: {part}", { part: title }) });
  button.dataset.leave = part;
  const [svg, path] = ["svg", "path"].map((name) => document.createElementNS("http://www.w3.org/2000/svg", name));
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", isShut ? `${EYE}M2.5 14 13.5 2` : EYE);
  svg.append(path);
  button.append(svg);
  return button;
}

/** @param {Before} before @param {Set<string>} opened */
function differenceFold(before, opened) {
  const share = Math.round(before.share * 100).toLocaleString(language());
  const lines = before.lines.map((line) => make(line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span", { textContent: `${line}\n` }));
  const words = before.lines.length ? tn("{n} line differs", "{n} lines differ", before.lines.filter((line) => /^[+-]/.test(line)).length) : t("nothing differs");
  const body = make("pre", { className: "diff", dir: "auto" }, ...lines, before.cut ? "…" : "");
  const isSame = !before.lines.length && before.share >= 1;
  if (isSame) return fold("difference", t("The same as the last request"), body, opened);
  return fold("difference", t("Since the last request: {share}% the same from the start, {words}", { share, words }), body, opened);
}

/** @param {string} key @param {string} words @param {Element} body @param {Set<string>} opened */
function fold(key, words, body, opened) {
  const box = make("details", { className: "fold", open: opened.has(key) }, make("summary", { textContent: words }), body);
  box.dataset.key = key;
  return box;
}

/** @param {Price} price */
function priceWords({ usd, cached_usd: cached, answer_usd: answer }) {
  const sent = dollars(usd ?? 0);
  const whole = { sent, answer: dollars(answer ?? 0) };
  const words = t("About {sent} to send, and up to {answer} for the answer.", whole);
  return cached === null ? words : `${words} ${t("{cached} where its beginning is cached.", { cached: dollars(cached) })}`;
}

/** @param {Context} context */
function exactRequest({ messages, prompt }) {
  const parts = prompt === null ? messages : [{ role: t("prompt"), content: prompt }];
  return make("div", {}, ...parts.flatMap(({ role, content }) => [make("h2", { textContent: role }), make("pre", { dir: "auto", textContent: content })]));
}
