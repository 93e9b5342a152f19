// @ts-check
// What a model would be sent: sections with their sizes and texts, the price, the exact request, and
// what differs from the request before.

import { make } from "./forms.js";
import { language, t, tn } from "../t.js";

/** @typedef {{name: string, tokens: number, text: string, detail: string, note: string}} Section */
/** @typedef {{tokens: number, how: string, usd: number | null, cached_usd: number | null, answer_usd: number | null}} Price */
/** @typedef {{call: string, at: string, share: number, lines: string[], cut: boolean}} Before */
/** @typedef {{participant: string, how: "turn" | "continue", open: boolean, messages: {role: string, content: string}[], prompt: string | null, sections: Section[], tokens: number, limit: number, note: string, price: Price, before: Before | null}} Context */

/** The names of sections, as people read them. @returns {Record<string, string>} */
export const sectionNames = () => ({
  PERSONA: t("Persona"),
  TREE: t("Instructions of the tree"),
  INSTRUCTIONS: t("Instructions"),
  ASKING: t("How to continue"),
  MEMORY: t("Memory"),
  LORE: t("Lore"),
  PATH: t("Path"),
  NOTE: t("Author's note"),
  AUGMENTS: t("Augments"),
  EARLIER: t("Earlier"),
  REQUEST: t("Request"),
  RESULTS: t("Results"),
  STATUS: t("Status"),
  OUTLINE: t("Outline"),
  WINDOWS: t("Windows"),
  TODOS: t("To do"),
  SCRATCHPAD: t("Scratchpad"),
  NOTIFICATIONS: t("Notifications"),
  LOOM: t("Around the path"),
  CLOSING: t("Where to write"),
});

/** @param {number} usd */
const dollars = (usd) => usd.toLocaleString(language(), { style: "currency", currency: "USD", maximumSignificantDigits: 2 });

/** What somebody is sent next: a sentence, the price, each section with its share, the exact request.
 * @param {string} name @param {Context} context @param {Set<string>} opened what is unfolded, by name and detail */
export function contextParts(name, context, opened) {
  const size = { name, tokens: context.tokens.toLocaleString(language()), limit: context.limit.toLocaleString(language()) };
  const head = make("p", { className: "soft" }, t("What {name} is sent next: {tokens} of {limit} tokens.", size));
  const parts = [head];
  if (context.price.usd !== null) parts.push(make("p", { className: "soft", textContent: priceWords(context.price) }));
  const most = Math.max(context.limit, context.tokens, 1);
  parts.push(make("ul", { className: "sections" }, ...context.sections.map((section) => sectionRow(section, most, opened))));
  if (context.note) parts.push(make("p", { className: "soft", textContent: context.note }));
  if (!context.open) parts.push(make("p", { className: "soft", textContent: t("It contains text that you may not see, so only the sizes are shown.") }));
  else parts.push(fold("exact", t("The exact request"), exactRequest(context), opened));
  if (context.before) parts.push(differenceFold(context.before, opened));
  return parts;
}

/** @param {Section} section @param {number} most @param {Set<string>} opened */
function sectionRow(section, most, opened) {
  const key = `${section.name} ${section.detail}`;
  const row = make("summary", {}, make("b", { textContent: sectionNames()[section.name] ?? section.name }), make("span", { className: "size", textContent: section.tokens.toLocaleString(language()) }));
  const detail = [section.detail, section.note].filter(Boolean).join(" · ");
  if (detail) row.append(make("span", { className: "soft said", textContent: detail }));
  const box = make("details", { open: opened.has(key) }, row, make("pre", { dir: "auto", textContent: section.text }));
  box.dataset.key = key;
  box.style.setProperty("--share", `${Math.min(100, (100 * section.tokens) / most)}%`);
  return make("li", section.text ? {} : { className: "left-out" }, box);
}

/** @param {Before} before @param {Set<string>} opened */
function differenceFold(before, opened) {
  const share = Math.round(before.share * 100).toLocaleString(language());
  const lines = before.lines.map((line) => make(line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span", { textContent: `${line}\n` }));
  const words = before.lines.length ? tn("{n} line differs", "{n} lines differ", before.lines.filter((line) => /^[+-]/.test(line)).length) : t("nothing differs");
  const body = make("pre", { className: "diff", dir: "auto" }, ...lines, before.cut ? "…" : "");
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
  return make("div", {}, ...parts.flatMap(({ role, content }) => [make("h3", { textContent: role }), make("pre", { dir: "auto", textContent: content })]));
}
