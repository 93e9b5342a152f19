// @ts-check
// What asking comes to, before it is asked: from what the server says a path has, and prices.

import { t, tn } from "../t.js";

/**
 * @typedef {{input: number, output: number, cached?: number}} Prices USD per million tokens
 * @typedef {{name: string, tokens: number, how: string, length: number, prices: Prices | null, caches_from: number | null}} ToRead
 * @typedef {{money: {left_usd: number | null}, participants: ToRead[]}} Estimate
 * @typedef {{tokens: number, how: string, usd: number | null, left: number | null, over: boolean}} Cost
 */

/**
 * What a question comes to at most, and reads: tokens of the longest reader.
 * @param {Estimate} estimate @param {import("./lines.js").Asking} asking @param {string} text not yet sent
 * @returns {Cost}
 */
export function costOf(estimate, { n = "", tokens = "", using = [], counts = {} }, text) {
  const more = Math.ceil(new TextEncoder().encode(text).length / 4);
  const asked = estimate.participants.filter((one) => using.includes(one.name));
  let usd = /** @type {number | null} */ (null);
  for (const one of asked) {
    if (!one.prices) continue;
    const many = Number(counts[one.name] || n || 1);
    const read = one.tokens + more;
    const length = Number(tokens) || one.length;
    const primed = many > 1 && one.caches_from !== null && read >= one.caches_from && one.prices.cached !== undefined;
    const others = primed ? /** @type {number} */ (one.prices.cached) : one.prices.input;
    usd = (usd ?? 0) + (read * (one.prices.input + (many - 1) * others) + many * length * one.prices.output) / 1e6;
  }
  const longest = asked.reduce((most, one) => (one.tokens > most.tokens ? one : most), { tokens: 0, how: "counted" });
  const left = estimate.money.left_usd;
  return { tokens: longest.tokens + more, how: more ? "estimated" : longest.how, usd, left, over: usd !== null && left !== null && usd > left };
}

/** An amount with two figures that count. @param {number} usd */
export function dollars(usd) {
  if (usd === 0 || usd >= 0.995) return `$${usd.toFixed(2)}`;
  if (usd < 0.000001) return "under $0.000001";
  for (let digits = 2; digits < 7; digits += 1) {
    if (Number(usd.toFixed(digits)) >= 10 ** -(digits - 1)) return `$${usd.toFixed(digits)}`;
  }
  return `$${usd.toFixed(6)}`;
}

/** @param {Cost} cost */
export function inWords({ tokens, how, usd, left, over }) {
  const parts = [how === "counted" ? tn("{n} input token", "{n} input tokens", tokens) : tn("about {n} input token", "about {n} input tokens", tokens)];
  if (usd !== null) parts.push(t("at most {money}", { money: dollars(usd) }));
  if (usd !== null && left !== null) parts.push(t("{money} left today", { money: dollars(left) }));
  if (over) parts.push(t("answers stop at this limit"));
  return parts.join(" · ");
}
