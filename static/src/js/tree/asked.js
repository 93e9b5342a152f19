// @ts-check
// Tells the reader what others ask them and where they are named, with a way to the field for the
// answer; and offers to ask an agent whom the reader has named.

import { json, Refused, told } from "../live/api.js";
import { toast } from "../elements/loom-toast.js";
import { t } from "../t.js";
import { isAsked, namesIn } from "./questions.js";

/** @typedef {import("./page.js").TreePage} TreePage */

const SOON_MS = 500; // until a note that was not shown is there

/** Shows a question to the reader as a toast that leads to its field.
 * @param {TreePage} page @param {any} node @param {string} actor */
function tellQuestion(page, node, actor) {
  const { me, cast } = page.settings;
  const name = cast.find((person) => person.id === me)?.name ?? "";
  if (actor === me || !isAsked(node, name)) return;
  const who = cast.find((person) => person.id === actor)?.name ?? node.author.name;
  const answer = async () => {
    const field = () => /** @type {HTMLElement | null} */ (document.querySelector(`loom-answer[data-note="${node.id}"]`));
    if (!field()?.checkVisibility()) await page.go(node.parent);
    setTimeout(() => field()?.focus(), SOON_MS);
  };
  toast().show(t("{who} asks: {text}", { who, text: node.text.slice(name.length + 2, 200) }), { act: t("Answer"), onAct: () => void answer(), stay: 20_000 });
}

/** Shows where the reader is named as a toast that leads there.
 * @param {TreePage} page @param {any} node @param {string} actor */
function tellMention(page, node, actor) {
  const { me, cast } = page.settings;
  const name = cast.find((person) => person.id === me)?.name ?? "";
  if (actor === me || node.kind !== "annotation" || !namesIn(node.text ?? "", [name]).length) return;
  document.body.dispatchEvent(new Event("mentioned"));
  if (isAsked(node, name)) return;
  const who = cast.find((person) => person.id === actor)?.name ?? node.author.name;
  const show = async () => {
    await page.go(node.parent);
    setTimeout(() => document.getElementById(`note-${node.id}`)?.scrollIntoView({ block: "center" }), SOON_MS);
  };
  toast().show(t("{who} names you: {text}", { who, text: node.text.slice(0, 200) }), { act: t("Show"), onAct: () => void show(), stay: 20_000 });
}

/** Shows a claim that waits for the reader to commit it as a toast that leads to its card.
 * @param {TreePage} page @param {{id: string, statement: string, by: string, person: string, waits_for_a_person: boolean}} claim @param {Set<string>} told */
export function tellClaim(page, claim, told) {
  if (!claim.waits_for_a_person) return void told.delete(claim.id);
  if (claim.person !== page.settings.me || told.has(claim.id)) return;
  told.add(claim.id);
  document.body.dispatchEvent(new Event("mentioned"));
  const who = page.settings.cast.find((person) => person.id === claim.by)?.name ?? t("Somebody");
  toast().show(t("{who} asks you to commit: {text}", { who, text: claim.statement.slice(0, 200) }), { act: t("Decide"), onAct: () => location.assign(`${page.web}/claims/${claim.id}`), stay: 20_000 });
}

/** Offers to ask an agent that the reader has just named in a note, with what that costs.
 * @param {TreePage} page @param {import("../live/calls.js").Call} said */
async function offerAgent(page, { args }) {
  const agents = page.settings.cast.filter((person) => person.is_agent && !person.is_archived);
  const [name] = namesIn(args.content ?? "", agents.map((person) => person.name));
  const agent = agents.find((person) => person.name === name);
  const node = page.store?.textOf(args.ref) ?? args.ref;
  if (!agent || !page.can.continue) return;
  const context = await page.contexts.of(agent.id, node, "turn").catch(() => null);
  const cost = context && (context.price.usd === null ? t("about {n} input tokens", { n: context.tokens.toLocaleString() }) : `$${(context.price.usd + (context.price.answer_usd ?? 0)).toPrecision(2)}`);
  const words = cost ? t("{name} is named, and answers when it is asked: {cost} a round", { name: agent.name, cost }) : t("{name} is named, and answers when it is asked", { name: agent.name });
  toast().show(words, { act: t("Ask {name}", { name: agent.name }), onAct: () => void askAside(page, agent.id, node, args.content), stay: 20_000 });
}

/** Starts a turn beside the text. @param {TreePage} page @param {string} participant @param {string} node @param {string} input */
async function askAside(page, participant, node, input) {
  try {
    await json(`${page.api}/turns`, { method: "POST", body: { participant, node, input, as: "aside" } });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    toast().show(told(error), { bad: true });
  }
}

/** Follows the questions to the reader until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function followQuestions(page, signal) {
  const heard = (/** @type {Event} */ event) => {
    const { kind, actor, payload } = /** @type {CustomEvent} */ (event).detail;
    if (kind !== "node.added") return;
    tellQuestion(page, payload.node, actor);
    tellMention(page, payload.node, actor);
  };
  page.addEventListener("event", heard, { signal });
  /** @type {Set<string>} */
  const told = new Set();
  const off = page.events.on("claim.changed", ({ payload }) => tellClaim(page, payload.claim, told));
  signal.addEventListener("abort", off);
  const noted = (/** @type {Event} */ event) => {
    const { said } = /** @type {CustomEvent} */ (event).detail;
    if (typeof said !== "string" && said.command === "annotate" && said.args.content?.includes("@")) void offerAgent(page, said);
  };
  page.addEventListener("said", noted, { signal });
}
