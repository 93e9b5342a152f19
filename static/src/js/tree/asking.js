// @ts-check
// What the composer's fields ask of models: who, how many of each, how long, how daring. The
// choice of a person is kept for the tree, wherever they go in it, and another tree begins with the
// models and numbers chosen last; what was asked on a path is offered there, and never chosen by itself.

import { call } from "../live/calls.js";
import { language, t, tn } from "../t.js";

const LAST = "heddle.asking";

/** @typedef {import("./asking.js").ContinueFields} Fields */
/** @typedef {{n: number, tokens: number | null, temperature: number | null, settings: string}} Asked what one participant was asked for */

/** The participant of a box. @param {Element} box */
const idOf = (box) => box.closest("[data-agent]")?.getAttribute("data-agent") ?? "";

export class Asking {
  /** @param {HTMLFormElement} form @param {string} tree */
  constructor(form, tree) {
    this.form = form;
    this.name = `heddle.asking.${tree}`;
    this.shown = form.querySelector("[data-agents-shown]");
    /** @type {Record<string, Asked>} what the path was asked */
    this.offered = {};
    /** @type {Pick<Required<Fields>, "using" | "counts">} the models picked last, also while an agent is */
    this.models = { using: [], counts: {} };
    /** the agent picked last, also while models are */
    this.agent = "";
    /** what the next request leaves out */
    this.leavesOut = () => "";
    this.load();
  }

  /** @param {string} name */
  field(name) {
    return /** @type {HTMLInputElement | null} */ (this.form.elements.namedItem(name));
  }

  boxes() {
    return /** @type {HTMLInputElement[]} */ ([...this.form.querySelectorAll('[name="using"]')]);
  }

  actors() {
    return /** @type {HTMLInputElement[]} */ ([...this.form.querySelectorAll('[name="actor"]')]);
  }

  /** The agent that is picked to act. */
  actor() {
    return this.actors().find((input) => input.checked);
  }

  /** Somebody was picked: either models go on with the text, or one agent acts. @param {HTMLInputElement} field */
  pick(field) {
    if (field.name === "actor") for (const box of this.boxes()) box.checked = false;
    if (field.name === "using") for (const input of this.actors()) input.checked = false;
  }

  /** Whom the next press asks, and how. @returns {{id: string, how: "turn" | "continue"}[]} */
  picked() {
    const actor = this.actor();
    if (actor) return [{ id: actor.value, how: "turn" }];
    const boxes = this.boxes().filter((box) => box.checked);
    return boxes.map((box) => ({ id: idOf(box), how: "continue" }));
  }

  /** Who is asked by one press though others are picked: an agent beside models, and models beside an agent.
   * @returns {{names: string[], ids: string[], how: "turn" | "continue"} | null} */
  other() {
    if (!this.actor()) {
      const actors = this.actors();
      const actor = actors.find((input) => input.dataset.name === this.agent) ?? actors.find((input) => !input.hasAttribute("data-toy")) ?? actors[0];
      return actor ? { names: [actor.dataset.name ?? ""], ids: [actor.value], how: "turn" } : null;
    }
    const boxes = this.modelsBeside();
    if (!boxes.length) return null;
    return { names: boxes.map((box) => box.value), ids: boxes.map(idOf), how: "continue" };
  }

  /** The models picked last, else the first. */
  modelsBeside() {
    const boxes = this.boxes();
    const picked = boxes.filter((box) => this.models.using.includes(box.value));
    return picked.length ? picked : boxes.slice(0, 1);
  }

  /** Picks whom `other` names. */
  pickOther() {
    const other = this.other();
    if (other?.how === "continue") this.choose(other.names, this.models.counts);
    const actor = this.actors().find((input) => other?.how === "turn" && other.ids.includes(input.value));
    if (actor) {
      actor.checked = true;
      this.pick(actor);
    }
    this.keep();
  }

  /** Picks a participant: to act, who can, else to continue. @param {string} id */
  pickId(id) {
    const actor = this.actors().find((input) => input.value === id);
    const box = this.boxes().find((input) => idOf(input) === id);
    if (actor) {
      actor.checked = true;
      this.pick(actor);
    } else if (box) this.choose([box.value], {});
    else return;
    this.keep();
  }

  /** @returns {Required<Fields> & {actor: string}} actor: the name of the agent that acts */
  read() {
    const of = (/** @type {string} */ name) => this.field(name)?.value.trim() ?? "";
    const using = this.boxes().filter((box) => box.checked).map((box) => box.value);
    const counts = Object.fromEntries(using.map((name) => [name, of(`n:${name}`)]).filter(([, count]) => count));
    return { n: of("n"), tokens: of("tokens"), temperature: of("temperature"), settings: of("settings"), without: this.leavesOut(), using, counts, actor: this.actor()?.dataset.name ?? "" };
  }

  keep() {
    const { without: _, ...asking } = this.read(); // which is for this time
    const { using, counts, n, actor } = asking;
    if (using.length) this.models = { using, counts };
    if (actor) this.agent = actor;
    const { models, agent } = this;
    localStorage.setItem(this.name, JSON.stringify({ ...asking, models, agent }));
    localStorage.setItem(LAST, JSON.stringify({ using, counts, n, actor, models, agent }));
    this.show(asking);
  }

  load() {
    try {
      const choice = JSON.parse(localStorage.getItem(this.name) ?? localStorage.getItem(LAST) ?? "{}");
      for (const name of ["n", "tokens", "temperature"]) {
        const field = this.field(name);
        if (field && choice[name] !== undefined) field.value = choice[name];
      }
      this.models = choice.models ?? { using: choice.using ?? [], counts: choice.counts ?? {} };
      this.agent = choice.agent ?? choice.actor ?? "";
      this.choose(choice.using ?? [], choice.counts ?? {});
      const actor = this.actors().find((input) => choice.actor && input.dataset.name === choice.actor);
      if (actor) {
        actor.checked = true;
        this.pick(actor);
      }
    } catch {
      // Settings of an older page: the defaults do.
    }
    this.show(this.read());
  }

  /** Offers what was asked on a path, where that is something else than what is chosen: it is
   * taken by pressing. @param {Record<string, Asked>} asked by name */
  offer(asked) {
    const button = /** @type {HTMLElement | null} */ (this.form.querySelector("[data-offer]"));
    if (!button) return;
    this.offered = asked;
    const known = Object.keys(asked).filter((name) => this.boxes().some((box) => box.value === name));
    const { using, counts, n } = this.read();
    const isSame = known.length === using.length && known.every((name) => using.includes(name) && String(asked[name].n) === (counts[name] || n || "1"));
    button.hidden = !known.length || isSame;
    button.textContent = button.hidden ? "" : t("Last used here: {names}", { names: known.map((name) => `${name} ×${asked[name].n}`).join(", ") });
    button.title = t("Select these again");
  }

  /** Chooses what is offered. */
  take() {
    const names = Object.keys(this.offered);
    const numbers = names.map((name) => this.offered[name].n);
    const same = new Set(numbers).size === 1;
    const n = this.field("n");
    if (same && n) n.value = String(numbers[0]);
    for (const name of /** @type {const} */ (["tokens", "temperature"])) {
      const values = new Set(names.map((model) => this.offered[model][name]));
      const [value] = values;
      const field = this.field(name);
      if (field && values.size === 1 && value !== null) field.value = String(value);
    }
    this.choose(names, same ? {} : Object.fromEntries(names.map((name, at) => [name, numbers[at]])));
    this.keep();
  }

  /** @param {string[]} using @param {Record<string, string | number>} counts */
  choose(using, counts) {
    const boxes = this.boxes();
    if (!boxes.some((box) => using.includes(box.value))) return;
    for (const input of this.actors()) input.checked = false;
    for (const box of boxes) {
      box.checked = using.includes(box.value);
      const field = this.field(`n:${box.value}`);
      if (field) field.value = String(counts[box.value] ?? "");
    }
  }

  /** @param {Pick<Required<Fields>, "using" | "counts"> & {actor: string}} asking */
  show({ using, counts, actor }) {
    for (const part of this.form.querySelectorAll("[data-of]")) /** @type {HTMLElement} */ (part).hidden = (part.getAttribute("data-of") === "agents") !== Boolean(actor);
    const go = this.form.querySelector('[data-do="continue"]');
    if (go) go.textContent = actor ? t("Ask") : t("Continue");
    const words = actor ? [actor] : using.map((name) => (counts[name] ? `${name} ×${counts[name]}` : name));
    if (this.shown) this.shown.textContent = words.join(", ") || t("the last model");
    this.showLength(using);
    this.offer(this.offered);
  }

  /** How long an answer may be where the field says nothing: as those chosen are set up.
   * @param {string[]} using */
  showLength(using) {
    const field = this.field("tokens");
    if (!field) return;
    const chosen = this.boxes().filter((box) => using.includes(box.value));
    const lengths = chosen.flatMap((box) => Number(box.closest("[data-length]")?.getAttribute("data-length")) || []);
    const [least, most] = [Math.min(...lengths), Math.max(...lengths)];
    field.placeholder = lengths.length ? (least === most ? String(least) : `${least}–${most}`) : t("auto");
  }
}

// What the weave remembers of asking: whom this path was asked of, and whether taking one stops
// the rest.

const REST = "heddle.rest";

/** Whether taking a candidate stops the reader's others. */
export function stopsRest() {
  return localStorage.getItem(REST) === "stop";
}

/** Keeps the choice in this browser. @param {Event} event */
export function keepRest(event) {
  const box = /** @type {HTMLInputElement} */ (event.target);
  if (box.matches("[data-rest]")) localStorage.setItem(REST, box.checked ? "stop" : "keep");
}

/** @param {Element} weave */
export function showRest(weave) {
  const box = /** @type {HTMLInputElement | null} */ (weave.querySelector("[data-rest]"));
  if (box) box.checked = stopsRest();
}

/** Where a weave hangs, and what the reader asked of whom last on its path, or there (`isHere`).
 * @param {Element} weave @returns {{point: string, asked: Record<string, Asked>, isHere: boolean}} */
export function madeOf(weave) {
  const section = /** @type {HTMLElement | null} */ (weave.querySelector("[data-weave]"));
  return { point: section?.dataset.point ?? "", asked: JSON.parse(section?.dataset.asked || "{}"), isHere: section?.hasAttribute("data-asked-here") === true };
}

/** The commands that ask the same again, with every setting. @param {Element} weave */
export function callsOf(weave) {
  return callsAgain(madeOf(weave).asked);
}

/** @param {Record<string, Asked>} asked by name */
export function callsAgain(asked) {
  /** @type {Map<string, import("../live/calls.js").Call>} */
  const calls = new Map();
  const alike = (/** @type {Asked} */ first, /** @type {Asked} */ other) => first.tokens === other.tokens && first.temperature === other.temperature && first.settings === other.settings;
  for (const wanted of Object.values(asked)) {
    const names = Object.keys(asked).filter((name) => alike(asked[name], wanted));
    const counts = Object.fromEntries(names.map((name) => [name, String(Math.min(asked[name].n, 10))]));
    const [tokens, temperature] = [wanted.tokens, wanted.temperature].map((value) => (value === null ? "" : String(value)));
    for (const continuation of continueCalls({ tokens, temperature, settings: wanted.settings, using: names, counts })) calls.set(JSON.stringify(continuation), continuation);
  }
  return calls.size ? [...calls.values()] : continueCalls({ n: "3" });
}

/** The keys that take a card: its own, and those of the same texts folded into it.
 * @param {Element} card */
export function keysOf(card) {
  return (card.getAttribute("data-keys") ?? card.getAttribute("data-key") ?? "").split(" ");
}

// What asking comes to, before it is asked: from what the server says a path has, and prices.

/**
 * @typedef {{input: number, output: number, cached?: number}} Prices USD per million tokens
 * @typedef {{name: string, tokens: number, whole?: number, limit?: number, how: string, length: number, prices: Prices | null, caches_from: number | null}} ToRead
 * @typedef {{money: {left_usd: number | null}, participants: (ToRead & {participant: string})[]}} Estimate
 * @typedef {{tokens: number, how: string, usd: number | null, left: number | null, over: boolean, cut: ToRead | null, isTurn?: boolean}} Cost
 */

/**
 * What a question comes to at most, and reads: tokens of the longest reader.
 * @param {Estimate} estimate @param {import("./asking.js").ContinueFields} asking @param {string} text not yet sent
 * @returns {Cost}
 */
export function costOf(estimate, { n = "", tokens = "", using = [], counts = {} }, text) {
  const more = tokensOf(text);
  const asked = estimate.participants.filter((model) => using.includes(model.name));
  let usd = /** @type {number | null} */ (null);
  for (const model of asked) {
    if (!model.prices) continue;
    const many = Number(counts[model.name] || n || 1);
    const read = model.tokens + more;
    const length = Number(tokens) || model.length;
    const primed = many > 1 && model.caches_from !== null && read >= model.caches_from && model.prices.cached !== undefined;
    const others = primed ? /** @type {number} */ (model.prices.cached) : model.prices.input;
    usd = (usd ?? 0) + (read * (model.prices.input + (many - 1) * others) + many * length * model.prices.output) / 1e6;
  }
  const longest = asked.reduce((most, model) => (model.tokens > most.tokens ? model : most), { tokens: 0, how: "counted" });
  const left = estimate.money.left_usd;
  const cut = asked.find(({ whole = 0, limit = Infinity }) => whole + more > limit) ?? null;
  return { tokens: longest.tokens + more, how: more ? "estimated" : longest.how, usd, left, over: usd !== null && left !== null && usd > left, cut: cut && { ...cut, whole: (cut.whole ?? 0) + more } };
}

/** About how many tokens a text has that no provider has counted. @param {string} text */
export function tokensOf(text) {
  return Math.ceil(new TextEncoder().encode(text).length / 4);
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

/** The most that is paid; a turn makes as many requests as it needs. @param {number} usd @param {boolean} isTurn */
function mostOf(usd, isTurn) {
  const money = dollars(usd);
  return isTurn ? t("at most {money} for each request", { money }) : t("at most {money}", { money });
}

/** In few words, beside a name. @param {Cost} cost */
export function inFewWords({ tokens, how, usd, isTurn = false }) {
  const words = how === "counted" ? tn("{n} token", "{n} tokens", tokens) : tn("about {n} token", "about {n} tokens", tokens);
  return usd === null ? words : `${words}, ${mostOf(usd, isTurn)}`;
}

/** @param {Cost} cost */
export function inWords({ tokens, how, usd, left, over, cut, isTurn = false }) {
  const parts = [how === "counted" ? tn("{n} input token", "{n} input tokens", tokens) : tn("about {n} input token", "about {n} input tokens", tokens)];
  if (usd !== null) parts.push(mostOf(usd, isTurn));
  if (usd !== null && left !== null) parts.push(t("{money} left today", { money: dollars(left) }));
  if (over) parts.push(t("answers stop at this limit"));
  if (cut) parts.push(t("cut: {name} reads {limit} of about {all} tokens", { name: cut.name, limit: (cut.limit ?? 0).toLocaleString(language()), all: (cut.whole ?? 0).toLocaleString(language()) }));
  return parts.join(" · ");
}

// What asking comes to as commands.

/**
 * @typedef {{n?: string, tokens?: string, temperature?: string, settings?: string, without?: string, using?: string[], counts?: Record<string, string>}} ContinueFields
 * `counts`: how many those give who do not give n.
 * @param {string} from a ref, or "" for here @param {ContinueFields} asking
 */
export function continueCall(from, { n = "", tokens = "", temperature = "", settings = "", without = "", using = [] }) {
  const agents = using.map((name) => `agent:${quoted(name)}`);
  return call("continue", { ref: from, n, tokens, temperature, settings, without, using: agents.length ? agents : null });
}

/** The commands of one go: models with the same number are in one. @param {ContinueFields} asking */
export function continueCalls({ using = [], counts = {}, n = "", ...rest }) {
  /** @type {Map<string, string[]>} */
  const byCount = new Map();
  for (const name of using) {
    const count = counts[name] || n;
    byCount.set(count, [...(byCount.get(count) ?? []), name]);
  }
  if (!byCount.size) return [continueCall("", { ...rest, n })];
  return [...byCount].map(([count, names]) => continueCall("", { ...rest, n: count, using: names }));
}

/** A quoted name in a reference, such as `doc:"Notes"`. @param {string} text */
export function quoted(text) {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
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
