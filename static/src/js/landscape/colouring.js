// @ts-check
// The colours of texts on the map, by what the reader chose, and the legend that says what they
// mean. Pure.

/**
 * @typedef {{revision: number, placed: number, titled: number, trees: {id: string, title: string}[], participants: {id: string, name: string, kind: string, model: string}[],
 *   branches: {tree: string, node: string, words: string}[], ids: string[], x: number[], y: number[], tree: number[], ups: number[],
 *   authors: number[], times: number[], branch: number[], ratings: [number, number][], surprise: [number, number][], lit: number[] | null,
 *   regions: import("./labels.js").Region[]}} Points
 * @typedef {{words: string, count: number, colour: number[]}} Entry of a legend
 * @typedef {{of: Uint8Array, entries: Entry[], ramp?: number}} Colouring `of` is a place in the entries for each text; the first `ramp` entries follow on each other
 */

export const WAYS = ["author", "model", "time", "branch", "rating", "surprise"];
const MOST = 11; // colours of a kind; the rest share one
const STEPS = 24; // of time

// Told apart on the land of both themes, also by most who see colours otherwise.
const KINDS = {
  light: ["#c2410c", "#1d4ed8", "#047857", "#9333ea", "#b45309", "#0e7490", "#be185d", "#4d7c0f", "#6d28d9", "#b91c1c", "#0369a1"],
  dark: ["#fb923c", "#7ba6ff", "#4ade9f", "#c99bff", "#fbd34d", "#4fd8ee", "#ff8fc0", "#b5e655", "#a9a4ff", "#ff8a80", "#6cc4ff"],
};
const REST = { light: "#6b6560", dark: "#a8a196" };
const TIME = { light: ["#35618f", "#7b4ea3", "#c2436d", "#dd6a2b", "#b88a00"], dark: ["#4f7cc4", "#9d7ae0", "#e56f96", "#ff9a5c", "#ffe08a"] };
const SURPRISE = { light: ["#0e7490", "#4d8a4a", "#b88a00", "#dd6a2b", "#b91c4b"], dark: ["#4fb8d8", "#7fd08a", "#fbd34d", "#ff9a5c", "#ff6b8a"] };
const RATED = { light: ["#b91c1c", "#8a837a", "#15803d"], dark: ["#ff8a80", "#857f75", "#5ee08a"] };

/** @param {string} hex */
export function rgb(hex) {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

/**
 * The colour of each text. `words` says what cannot be told from the points.
 * @param {Points} points @param {string} way one of WAYS @param {boolean} isDark
 * @param {{others: string, people: string, plus: string, minus: string, none: string, unknown: string, bits: (bits: number) => string, day: (seconds: number) => string, untitled: string}} words
 * @returns {Colouring}
 */
export function colouringOf(points, way, isDark, words) {
  const theme = isDark ? "dark" : "light";
  if (way === "time") return byTime(points, theme, words.day);
  if (way === "surprise") return bySurprise(points, theme, words);
  if (way === "rating") {
    const of = new Uint8Array(points.ids.length).fill(1);
    for (const [at, sign] of points.ratings) of[at] = sign > 0 ? 2 : 0;
    return counted(of, [words.minus, words.none, words.plus], RATED[theme].map(rgb));
  }
  const { keys, names } = kindsOf(points, way, words);
  return ofKinds(keys, names, theme, words.others);
}

/** @param {Points} points @param {string} way @param {{people: string, untitled: string}} words */
function kindsOf(points, way, words) {
  if (way === "branch") return { keys: points.branch, names: points.branches.map((branch) => branch.words || words.untitled) };
  if (way === "author") return { keys: points.authors, names: points.participants.map((participant) => participant.name) };
  /** @type {string[]} */
  const names = [];
  const numbers = points.participants.map((participant) => {
    const name = participant.kind === "model" ? participant.model.replace(/^[^:]*:/, "") || participant.name : words.people;
    if (!names.includes(name)) names.push(name);
    return names.indexOf(name);
  });
  return { keys: points.authors.map((author) => (author < 0 ? -1 : numbers[author])), names };
}

/** @param {number[]} keys @param {string[]} names @param {"light" | "dark"} theme @param {string} others */
function ofKinds(keys, names, theme, others) {
  const counts = new Array(names.length).fill(0);
  for (const key of keys) if (key >= 0) counts[key] += 1;
  const order = [...counts.keys()].sort((one, other) => counts[other] - counts[one] || one - other).slice(0, MOST);
  const place = new Map(order.map((key, at) => [key, at]));
  const of = Uint8Array.from(keys, (key) => place.get(key) ?? order.length);
  const colours = order.map((_, at) => rgb(KINDS[theme][at]));
  return counted(of, [...order.map((key) => names[key]), others], [...colours, rgb(REST[theme])]);
}

/** @param {Points} points @param {"light" | "dark"} theme @param {(seconds: number) => string} day */
function byTime({ times }, theme, day) {
  // By rank: a tree that slept for a month has as many colours before as after.
  const order = Array.from(times.keys()).sort((one, other) => times[one] - times[other] || one - other);
  const of = new Uint8Array(times.length);
  order.forEach((at, rank) => {
    of[at] = Math.floor((rank * STEPS) / Math.max(1, order.length));
  });
  const colours = rampOf(TIME[theme]);
  const firsts = Array.from({ length: STEPS }, (_, at) => order[Math.floor((at * order.length) / STEPS)]);
  return { ...counted(of, firsts.map((at) => (at === undefined ? "" : day(times[at]))), colours), ramp: STEPS };
}

/** From the least to the most surprising text, by rank as time is; those of which nothing is known
 * share a colour of their own.
 * @param {Points} points @param {"light" | "dark"} theme @param {{unknown: string, bits: (bits: number) => string}} words */
function bySurprise({ ids, surprise }, theme, words) {
  const order = [...surprise].sort((one, other) => one[1] - other[1] || one[0] - other[0]);
  const of = new Uint8Array(ids.length).fill(STEPS);
  order.forEach(([at], rank) => {
    of[at] = Math.floor((rank * STEPS) / order.length);
  });
  const [least, most] = [order[0], order.at(-1)].map((end) => (end ? words.bits(end[1]) : ""));
  const names = Array.from({ length: STEPS }, (_, at) => (at ? most : least));
  return { ...counted(of, [...names, words.unknown], [...rampOf(SURPRISE[theme]), rgb(REST[theme])]), ramp: STEPS };
}

/** STEPS colours from the first stop to the last. @param {string[]} hexes */
function rampOf(hexes) {
  const stops = hexes.map(rgb);
  return Array.from({ length: STEPS }, (_, at) => {
    const along = (at / (STEPS - 1)) * (stops.length - 1);
    const from = Math.min(stops.length - 2, Math.floor(along));
    return stops[from].map((value, part) => Math.round(value + (stops[from + 1][part] - value) * (along - from)));
  });
}

/** @param {Uint8Array} of @param {string[]} words @param {number[][]} colours */
function counted(of, words, colours) {
  const counts = new Array(colours.length).fill(0);
  for (const colour of of) counts[colour] += 1;
  return { of, entries: colours.map((colour, at) => ({ words: words[at], count: counts[at], colour })) };
}
