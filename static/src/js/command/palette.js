// @ts-check
// What the command bar finds besides the nodes of its tree: other trees, pages, participants,
// themes, the page's own actions, and commands by what they do.

import { json } from "../live/api.js";
import { t } from "../t.js";
import { capsOf } from "../tree/shortcuts.js";
import { ACTIONS } from "../tree/keys.js";
import { commandsFor, fitOf, fitting } from "./match.js";

/** @typedef {import("./choices.js").Choice} Choice */
/** @typedef {import("./choices.js").Command} Command */
/** @typedef {{words: string, soft: string, href: string, uid?: string}} Place */

const FEW = 5;

/** What the page can do now: by its keys, and by its menu.
 * @param {import("../tree/page.js").TreePage} page */
function actions(page) {
  const keys = page.settings.keys.flatMap((group) => group.keys);
  const byKey = keys
    .filter((key) => key.where !== "typing" && !/^(command|stop|take-)/.test(key.id) && ACTIONS[key.id])
    .map((key) => ({ texts: [key.words, key.id], choice: doing(key.words, capsOf(key.combo).join(" "), () => ACTIONS[key.id](page)) }));
  const items = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".bar .menu-items :is(a, button):not([data-keys-open])")]);
  const byMenu = items.map((item) => {
    const words = item.textContent?.trim().replace(/\s+/g, " ") ?? "";
    return { texts: [words], choice: doing(words, "", () => item.click()) };
  });
  return [...byKey, ...byMenu.filter((entry) => entry.texts[0]), ...themes()];
}

/** @param {string} words @param {string} soft @param {() => unknown} run @returns {Choice} */
function doing(words, soft, run) {
  return { group: t("Actions"), parts: [{ kind: "label", text: words }, { kind: "soft", text: soft }], run };
}

function themes() {
  const names = { light: t("Theme: light"), dark: t("Theme: dark"), system: t("Theme: system") };
  return Object.entries(names).map(([theme, words]) => ({ texts: [words, "appearance colours"], choice: doing(words, "", () => wear(theme)) }));
}

/** @param {string} theme */
async function wear(theme) {
  await json("/api/settings", { method: "PATCH", body: { theme } });
  document.documentElement.dataset.theme = theme;
}

/** @param {string} group @returns {(place: Place) => {texts: string[], choice: Choice}} */
const leading = (group) => (place) => ({
  texts: [place.words, place.soft],
  choice: { group, parts: [{ kind: "label", text: place.words }, { kind: "soft", text: place.soft }], href: place.href },
});

/** @type {Promise<{trees: Place[], places: Place[]}> | null} */
let known = null;

function always() {
  known ??= json("/palette");
  known.catch(() => (known = null));
  return known;
}

/** What is offered before anything is typed: trees opened lately, nodes visited lately, actions.
 * @param {import("../tree/page.js").TreePage} page @param {string[]} visited ids, the latest first @returns {Promise<Choice[]>} */
export async function atFirst(page, visited) {
  const { trees } = await always();
  const others = trees.filter((tree) => tree.uid !== page.settings.tree).slice(0, FEW).map(leading(t("Recent trees")));
  const root = page.store?.ids[0]; // has no text to know it by
  const nodes = visited.filter((id) => id !== root).map((id) => ({
    choice: /** @type {Choice} */ ({ group: t("Recent nodes"), go: id, parts: [{ kind: "id", text: id }, { kind: "excerpt", text: page.excerpts.of(id) }] }),
  }));
  return [...nodes, ...others, ...actions(page)].map((entry) => entry.choice);
}

/** What fits a query, in two parts: what begins with it, which comes before the nodes that
 * match, and the rest. @param {import("../tree/page.js").TreePage} page @param {string} query
 * @param {Command[]} commands @param {AbortSignal} signal @returns {Promise<{best: Choice[], rest: Choice[]}>} */
export async function besides(page, query, commands, signal) {
  const [{ places }, { trees }] = await Promise.all([always(), json(`/palette?q=${encodeURIComponent(query)}`, { signal })]);
  const entries = [
    ...trees.filter((/** @type {Place} */ tree) => tree.uid !== page.settings.tree).map(leading(t("Trees"))).map((/** @type {any} */ tree) => ({ ...tree, fit: fitOf(query, tree.texts) || 1 })),
    ...fitting(actions(page), query).slice(0, FEW),
    ...fitting(places.map(leading(t("Pages"))), query).slice(0, FEW),
    ...commandsFor(commands, query).slice(0, FEW),
  ];
  const isBest = (/** @type {{fit: number}} */ entry) => entry.fit === 3 && query.length > 2;
  return { best: entries.filter(isBest).map((entry) => entry.choice), rest: entries.filter((entry) => !isBest(entry)).map((entry) => entry.choice) };
}
