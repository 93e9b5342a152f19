// @ts-check
// What the chosen model would be sent now, before anything is pressed: sections with their sizes
// and texts, the price, and what differs from the request before.

import { json, Newest, Refused } from "../live/api.js";
import { composer } from "../tree/actions.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { language, t, tn } from "../t.js";

/** @typedef {{name: string, tokens: number, text: string, detail: string, note: string}} Section */
/** @typedef {{tokens: number, how: string, usd: number | null, cached_usd: number | null, answer_usd: number | null}} Price */
/** @typedef {{call: string, at: string, share: number, lines: string[], cut: boolean}} Before */
/** @typedef {{participant: string, how: "turn" | "continue", open: boolean, messages: {role: string, content: string}[], prompt: string | null, sections: Section[], tokens: number, limit: number, note: string, price: Price, before: Before | null}} Context */

const SOON_MS = 250;
const REST_MS = 700; // after a move the text comes first
const TYPED_MS = 1500;
const EVENTS = /^(node|tree|generation\.ended|turn|settings|call|participant)/;

/** The names of sections, as people read them. @returns {Record<string, string>} */
export const names = () => ({
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

export class LoomContext extends HTMLElement {
  /** sections that are open, by name and detail */
  opened = new Set();
  draws = new Newest();

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = /** @type {HTMLFormElement} */ (this.querySelector("form.context-of"));
    this.form.addEventListener("change", () => this.soon(0), { signal });
    this.form.addEventListener("submit", (event) => event.preventDefault(), { signal });
    this.cut = /** @type {HTMLSelectElement | null} */ (this.querySelector("[data-truncation]"));
    if (this.cut) this.cut.value = this.page.settings.truncation ?? "";
    this.cut?.addEventListener("change", () => this.choose(), { signal });
    this.addEventListener("toggle", (event) => this.toggled(/** @type {HTMLDetailsElement} */ (event.target)), { signal, capture: true });
    this.page.addEventListener("moved", () => this.soon(REST_MS), { signal });
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("said", () => this.soon(), { signal });
    this.page.drafts.addEventListener("saved", () => this.page?.settings.mode === "buffer" && this.soon(TYPED_MS), { signal });
    composer()?.addEventListener("change", () => this.soon(), { signal });
    document.addEventListener("cast", () => this.fill(), { signal });
    document.addEventListener("pane", () => this.soon(), { signal });
    this.fill();
    this.soon(REST_MS);
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  /** A model that only reads the text is sent the path, and nothing of what is elsewhere.
   * @param {{kind: string, payload: any}} event */
  heard(event) {
    if (!EVENTS.test(event.kind)) return;
    const { page } = this;
    const isElsewhere = event.kind.startsWith("node.") && page?.store && !page.store.isOnPath(page.position, event);
    if (!isElsewhere || this.asksForTurn()) this.soon();
  }

  /** Whether it is shown what an agent is sent for a turn. */
  asksForTurn() {
    if (this.field("participant").value === "") return composer()?.asks?.picked()[0]?.how === "turn";
    return Boolean(this.whom()?.is_agent) && this.field("how").value === "turn";
  }

  /** @param {string} name */
  field(name) {
    return /** @type {HTMLSelectElement} */ (this.form?.elements.namedItem(name));
  }

  models() {
    return [...(this.page?.cast.values() ?? [])].filter((who) => who.kind === "model" && !who.is_archived);
  }

  /** Keeps how a long path is cut in what the reader asks for here. */
  async choose() {
    const settings = { truncation: this.cut?.value || null };
    try {
      await json(`/api/workspaces/${this.page?.settings.workspace}`, { method: "PATCH", body: { settings } });
      this.page?.contexts.forget();
      this.soon(0);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.querySelector("[data-shown]")?.replaceChildren(make("p", { className: "soft" }, `${error.message} ${error.hint}`.trim()));
    }
  }

  /** The list of models, as it is now. */
  fill() {
    const list = this.field("participant");
    const chosen = list.value;
    const options = this.models().map((who) => make("option", { value: who.id, textContent: who.name }));
    list.replaceChildren(list.options[0], ...options);
    list.value = this.models().some((who) => who.id === chosen) ? chosen : "";
    this.soon();
  }

  /** Whose context: the one chosen here, else the first one chosen in the composer. */
  whom() {
    const models = this.models();
    const chosen = this.field("participant").value;
    const [picked] = composer()?.asks?.picked() ?? [];
    return models.find((who) => who.id === chosen) ?? models.find((who) => who.id === picked?.id) ?? models[0];
  }

  soon(ms = SOON_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), ms);
  }

  async draw() {
    const { page } = this;
    const box = this.querySelector("[data-shown]");
    if (!page || !box || page.isPast || !this.checkVisibility()) return;
    const who = this.whom();
    if (!who) return void (box.textContent = t("No model is set up here yet: what one would be sent is shown here."));
    const how = this.field("how");
    const isPicked = this.field("participant").value === "";
    how.hidden = !who.is_agent || isPicked;
    const [picked] = composer()?.asks?.picked() ?? [];
    const asked = isPicked ? (picked?.how ?? "continue") : how.hidden ? "continue" : /** @type {"turn" | "continue"} */ (how.value);
    this.field("participant").options[0].textContent = t("{name}, who is asked next", { name: isPicked ? who.name : (this.models().find((one) => one.id === picked?.id)?.name ?? "") });
    const at = page.position;
    const number = this.draws.ask();
    try {
      const context = await page.contexts.of(who.id, at, asked);
      if (this.draws.isPast(number)) return;
      box.replaceChildren(...this.drawn(who.name, context));
      this.dataset.of = `${who.id} ${page.position}`;
      if (isPicked) document.dispatchEvent(new CustomEvent("contexts"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (!this.draws.isPast(number)) box.replaceChildren(make("p", { className: "soft" }, `${error.message} ${error.hint}`.trim()));
    }
  }

  /** @param {string} name @param {Context} context */
  drawn(name, context) {
    const size = { name, tokens: context.tokens.toLocaleString(language()), limit: context.limit.toLocaleString(language()) };
    const head = make("p", { className: "soft" }, t("What {name} is sent next: {tokens} of {limit} tokens.", size));
    const parts = [head];
    if (context.price.usd !== null) parts.push(make("p", { className: "soft", textContent: price(context.price) }));
    const most = Math.max(context.limit, context.tokens, 1);
    parts.push(make("ul", { className: "sections" }, ...context.sections.map((one) => this.section(one, most))));
    if (context.note) parts.push(make("p", { className: "soft", textContent: context.note }));
    if (!context.open) parts.push(make("p", { className: "soft", textContent: t("It contains text that you may not see, so only the sizes are shown.") }));
    else parts.push(this.fold("exact", t("The exact request"), exact(context)));
    if (context.before) parts.push(this.difference(context.before));
    return parts;
  }

  /** @param {Section} one @param {number} most */
  section(one, most) {
    const key = `${one.name} ${one.detail}`;
    const row = make("summary", {}, make("b", { textContent: names()[one.name] ?? one.name }), make("span", { className: "size", textContent: one.tokens.toLocaleString(language()) }));
    const said = [one.detail, one.note].filter(Boolean).join(" · ");
    if (said) row.append(make("span", { className: "soft said", textContent: said }));
    const box = make("details", { open: this.opened.has(key) }, row, make("pre", { dir: "auto", textContent: one.text }));
    box.dataset.key = key;
    box.style.setProperty("--share", `${Math.min(100, (100 * one.tokens) / most)}%`);
    return make("li", one.text ? {} : { className: "left-out" }, box);
  }

  /** @param {Before} before */
  difference(before) {
    const share = Math.round(before.share * 100).toLocaleString(language());
    const lines = before.lines.map((line) => make(line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span", { textContent: `${line}\n` }));
    const words = before.lines.length ? tn("{n} line differs", "{n} lines differ", before.lines.filter((line) => /^[+-]/.test(line)).length) : t("nothing differs");
    const body = make("pre", { className: "diff", dir: "auto" }, ...lines, before.cut ? "…" : "");
    return this.fold("difference", t("Since the last request: {share}% the same from the start, {words}", { share, words }), body);
  }

  /** @param {string} key @param {string} words @param {Element} body */
  fold(key, words, body) {
    const box = make("details", { className: "fold", open: this.opened.has(key) }, make("summary", { textContent: words }), body);
    box.dataset.key = key;
    return box;
  }

  /** @param {HTMLDetailsElement} box */
  toggled(box) {
    const { key } = box.dataset;
    if (key) this.opened[box.open ? "add" : "delete"](key);
  }
}

/** @param {Price} price */
function price({ usd, cached_usd: cached, answer_usd: answer }) {
  const sent = dollars(usd ?? 0);
  const whole = { sent, answer: dollars(answer ?? 0) };
  const words = t("About {sent} to send, and up to {answer} for the answer.", whole);
  return cached === null ? words : `${words} ${t("{cached} where its beginning is cached.", { cached: dollars(cached) })}`;
}

/** @param {Context} context */
function exact({ messages, prompt }) {
  const said = prompt === null ? messages : [{ role: t("prompt"), content: prompt }];
  return make("div", {}, ...said.flatMap(({ role, content }) => [make("h3", { textContent: role }), make("pre", { dir: "auto", textContent: content })]));
}
