// @ts-check
// Turns of agents: those at the position in the text, asides beside it. What they write comes
// live; a turn that changed is sent as it is drawn for everybody, by the tree or by the agent's view.

import { json, part, Refused, told } from "../live/api.js";
import { t } from "../t.js";
import { AnswerBelow } from "../tree/answer-below.js";
import { calledOf } from "../tree/called.js";
import { pageOf } from "../tree/page.js";
import { make } from "../tree/forms.js";
import { makeOwnPart, morph, morphOne, parsed } from "../tree/morph.js";
import { speak } from "../tree/feedback.js";
import { linkRefs, withRefs } from "../tree/refs.js";
import { tidy, tidyAsides } from "../tree/turn-lists.js";
import { TurnTexts, TurnViews } from "../tree/turns.js";
import { toast } from "./loom-toast.js";

const AGAIN_MS = 2000; // after a fetch that failed while somebody works
const REST_MS = 400; // after a move, where nothing says that it is drawn
const keyOf = (/** @type {Element} */ turn) => turn.getAttribute("data-turn") ?? "none";
// The text that is being written grows in its place.
const mayChange = (/** @type {Element} */ old, /** @type {Element} */ fresh) => !(old.matches(".live") && fresh.matches(".live"));

export class LoomTurns extends HTMLElement {
  texts = new TurnTexts();
  /** a turn that the reader has asked for, until it is drawn */
  asked = "";
  /** @type {Set<string>} turns asked to stop, until they have */
  stopping = new Set();
  views = new TurnViews((drawn) => this.received(drawn));

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.page.addEventListener("delta", (event) => this.texts.grow(/** @type {CustomEvent} */ (event).detail, this.all()), { signal });
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("drawn", (event) => this.received(/** @type {CustomEvent} */ (event).detail), { signal });
    // The text comes first: what is asked for beside it would only make it wait.
    this.page.addEventListener("moved", () => this.soon(REST_MS), { signal });
    document.addEventListener("drawn", () => this.soon(0), { signal });
    document.addEventListener("click", (event) => this.clicked(event), { signal });
    this.below = this.path ? new AnswerBelow(this.path, this.page) : undefined;
    if (!this.firstElementChild) this.append(...["turns", "elsewhere"].map(holder));
    this.soon(0);
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
    this.below?.leave();
    this.views.watch([]);
  }

  /** The lists that turns are drawn in: here, and beside the text. */
  lists() {
    return [this.querySelector("[data-turns]"), document.querySelector("[data-asides]")];
  }

  all() {
    const onPath = this.path ? [...this.path.querySelectorAll(".stretch .turn")] : [];
    return [...this.lists().flatMap((list) => (list ? [...list.querySelectorAll(".turn")] : [])), ...onPath];
  }

  /** The text that a turn wrote, where it is on the path: its card has its place there.
   * @param {Element} turn @returns {Element | null} */
  textOf(turn) {
    if (turn.classList.contains("working") || turn.hasAttribute("data-aside")) return null;
    const ids = ["data-wrote", "data-node"].map((name) => turn.getAttribute(name)).filter(Boolean);
    const [text] = ids.flatMap((id) => this.path?.querySelector(`.stretch > article[data-id="${CSS.escape(id ?? "")}"]`) ?? []);
    return text ?? null;
  }

  /** Puts the card of an ended turn at the text that it wrote; a card that is drawn moves there.
   * @param {Element} text @param {Element} fresh */
  putAt(text, fresh) {
    fresh.setAttribute("data-own", "");
    const old = this.all().find((item) => item.id === fresh.id);
    const there = text.querySelector(":scope > .turn");
    if (there !== old) there?.remove();
    if (old?.parentElement !== text) (text.querySelector(":scope > .text") ?? text.lastElementChild)?.before(old ?? fresh);
    if (old) morphOne(old, fresh, mayChange);
  }

  working() {
    return this.all().filter((item) => item.classList.contains("working"));
  }

  /** @param {{kind: string, payload: any}} event */
  heard({ kind, payload }) {
    if (kind === "turn.started") this.started(payload.turn);
    if (kind === "turn.ended") this.ended(payload.turn);
  }

  /** Puts in the turns that changed; fetches them where they were not drawn for everybody, or
   * where what is on its way may be older. @param {import("../tree/turns.js").Drawn} drawn */
  received({ turns = {}, again }) {
    const drawn = Object.values(turns);
    if (!again && !drawn.length) return;
    if (again || this.busy || drawn.includes("")) return this.soon();
    const put = () => drawn.forEach((markup) => this.put(markup));
    if (this.path?.view) this.path.view.still(put);
    else put();
    this.show();
  }

  /** @param {string} markup of one turn */
  put(markup) {
    const fresh = parsed(markup).firstElementChild;
    if (!fresh || !this.page) return;
    const old = this.all().find((item) => keyOf(item) === keyOf(fresh));
    const isAside = fresh.hasAttribute("data-aside");
    const list = this.lists()[isAside ? 1 : 0];
    this.makeOwn(fresh);
    this.take(fresh);
    const text = this.textOf(fresh);
    if (text) this.putAt(text, fresh);
    else if (old) morphOne(old, fresh, mayChange);
    else if (isAside) list?.prepend(fresh);
    else if (this.isHere(fresh)) list?.append(fresh);
    if (isAside) tidyAsides(list);
    else tidy(list);
    this.putElsewhere(fresh, !old && !isAside && !this.isHere(fresh));
  }

  /** Where a turn works that is not at the position. @param {Element} turn @param {boolean} isThere */
  putElsewhere(turn, isThere) {
    const list = this.querySelector("[data-elsewhere]");
    list?.querySelector(`[data-works="${CSS.escape(keyOf(turn))}"]`)?.remove();
    const place = turn.querySelector("template");
    if (isThere && place) list?.append(place.content.cloneNode(true), " ");
  }

  /** What of a turn is this reader's own: names, ages, and who may take it back. @param {Element} turn */
  makeOwn(turn) {
    const me = this.page?.settings.me ?? "";
    makeOwnPart(turn, me);
    for (const button of turn.querySelectorAll("[data-asked-by]")) {
      if (button.getAttribute("data-asked-by") !== me && !this.page?.can.erase) button.remove();
    }
  }

  /** Whether a turn works or answered where the reader is. @param {Element} turn */
  isHere(turn) {
    const [below, node] = ["data-answers-below", "data-node"].map((name) => turn.getAttribute(name) ?? "");
    return Boolean(this.path?.isHere(below) || (node && this.path?.isHere(node)));
  }

  /** @param {any} turn */
  started(turn) {
    if (turn.invoked_by === this.page?.settings.me) this.asked = turn.id;
    speak(t("{name} started a turn at {node}.", { name: this.nameOf(turn), node: calledOf(/** @type {import("../tree/page.js").TreePage} */ (this.page), turn.answers_below) }));
  }

  /** Whoever asked follows to the answer, and may take the whole turn back. @param {any} turn */
  ended(turn) {
    this.stopping.delete(turn.id);
    // Why it failed stands at the turn, in the reader's language.
    const words = turn.error ? t("The turn of {name} has failed.", { name: this.nameOf(turn) }) : t("The turn of {name} has ended.", { name: this.nameOf(turn) });
    if (turn.invoked_by !== this.page?.settings.me) return speak(words);
    const changed = turn.node || turn.steps.length;
    const undo = changed ? { act: t("Undo turn"), onAct: () => this.undo(turn.id) } : {};
    toast().show(words, { bad: Boolean(turn.error), ...undo });
    if (turn.as === "continuation" && this.page?.position === turn.answers_below) void this.lead(turn);
  }

  /** Leads whoever asked to the text that was written by command, else to the answer. @param {any} turn */
  async lead(turn) {
    const { page } = this;
    if (turn.steps.length) await this.fetch();
    const wrote = this.all().find((item) => keyOf(item) === turn.id)?.getAttribute("data-wrote");
    const isBelow = wrote && page?.store?.pathTo(wrote).includes(page.store.slotOf(turn.answers_below) ?? -1);
    const to = isBelow ? wrote : turn.node;
    if (!page || !to || page.position !== turn.answers_below) return;
    this.below?.offer(to);
    page.go(to, { isStill: true });
  }

  /** The answer of an ended turn that begins below the position, which nobody has read on from here.
   * @returns {{name: string, node: string} | null} */
  answerBelow() {
    const list = [...(this.lists()[0]?.querySelectorAll(":scope > .turn:not(.working, .undone)") ?? [])];
    const below = list.filter((item) => this.path?.isHere(item.getAttribute("data-answers-below") ?? ""));
    const turn = below.at(-1);
    const node = turn?.getAttribute("data-wrote") || turn?.getAttribute("data-node") || "";
    return turn && node && !this.path?.isHere(node) ? { name: turn.querySelector(".by")?.textContent ?? "", node } : null;
  }

  /** @param {any} turn */
  nameOf(turn) {
    return this.page?.cast.get(turn.participant)?.name ?? t("An agent");
  }

  /** Fetches soon; many events make few requests. @param {number} [ms] */
  soon(ms = 80) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fetch(), ms);
  }

  async fetch() {
    if (this.busy) return this.soon();
    this.busy = true;
    const position = this.page?.position ?? "";
    try {
      const fresh = parsed(await part(`${this.page?.web}/turns?node=${position}`));
      if (position === this.page?.position) this.draw(fresh);
      else this.soon(0);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.working().length) this.soon(AGAIN_MS);
    } finally {
      this.busy = false;
    }
  }

  /** @param {DocumentFragment} fresh */
  draw(fresh) {
    for (const [at, name] of ["turns", "asides"].entries()) {
      const list = this.lists()[at];
      const now = fresh.querySelector(`[data-${name}]`);
      if (!list || !now) continue;
      for (const turn of now.querySelectorAll(".turn")) this.take(turn);
      const [withText, here] = [/** @type {Element[]} */ ([]), /** @type {Element[]} */ ([])];
      for (const turn of now.children) {
        if (this.textOf(turn)) withText.push(turn);
        else if (at === 1 || turn.classList.contains("working") || this.isHere(turn)) here.push(turn);
      }
      const draw = () => {
        for (const turn of withText) this.putAt(/** @type {Element} */ (this.textOf(turn)), turn);
        morph(list, here, { mayChange });
      };
      if (at === 0 && this.path?.view) this.path.view.still(draw);
      else draw();
    }
    const elsewhere = fresh.querySelector("[data-elsewhere]");
    const drawn = this.querySelector("[data-elsewhere]");
    if (elsewhere && drawn && elsewhere.innerHTML !== drawn.innerHTML) drawn.replaceWith(elsewhere);
    this.show();
  }

  /** What follows from which turns are drawn. */
  show() {
    this.texts.show(this.all());
    this.showAsked();
    this.views.watch(this.working());
    const open = document.querySelector("[data-asides-working]");
    const asides = this.working().filter((item) => item.closest("[data-asides]")).length;
    if (open) open.textContent = asides ? ` (${asides})` : "";
  }

  get path() {
    return /** @type {import("./loom-path.js").LoomPath | null} */ (this.closest("loom-path"));
  }

  /** A turn that the reader has just asked for comes into view, once. */
  showAsked() {
    const turn = this.working().find((item) => keyOf(item) === this.asked);
    if (!turn) return;
    this.asked = "";
    if (this.contains(turn)) this.path?.view?.bring(turn.getBoundingClientRect());
  }

  /** What the server says of a turn, with what this page knows more: its text as far as it
   * came, and that it is being stopped. @param {Element} fresh */
  take(fresh) {
    this.texts.take(fresh);
    const old = this.all().find((item) => item.id === fresh.id);
    // What somebody has opened of it stays in sight when it is folded.
    if (old?.querySelector("details[open]") && !old.querySelector(".turn-did")) fresh.querySelector(".turn-did")?.setAttribute("open", "");
    for (const words of fresh.querySelectorAll(".row .turn-said, .turn-lines pre:not(.block)")) linkRefs(words, this.page?.store);
    for (const words of fresh.querySelectorAll("summary .turn-said")) this.linkBeside(words);
    const button = fresh.querySelector('[data-turn-act="stop"]');
    if (button && this.stopping.has(keyOf(fresh))) button.setAttribute("disabled", "");
  }

  /** What the head of a fold names is opened beside it: a head holds nothing that is pressed. @param {Element} words */
  linkBeside(words) {
    const refs = withRefs(words.textContent ?? "", this.page?.store).filter((ref) => ref instanceof HTMLElement);
    if (refs.length) words.closest("li")?.append(make("span", { className: "turn-refs" }, ...refs.flatMap((ref) => [ref, " "])));
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const button = /** @type {Element} */ (event.target).closest("[data-turn-act]");
    const turn = button?.closest(".turn");
    if (!button || !turn) return;
    const act = button.getAttribute("data-turn-act");
    if (act === "undo") this.undo(keyOf(turn));
    else if (act === "redo") this.redo(keyOf(turn));
    else if (act === "go-on") void this.goOn(turn, Number(button.getAttribute("data-steps")), Number(button.getAttribute("data-tokens")));
    else if (act === "tool") void this.decideTool(turn, button);
    else if (act === "extend") this.extend(keyOf(turn), Number(button.getAttribute("data-steps")), Number(button.getAttribute("data-tokens")));
    else this.halt([turn]);
  }

  /** Stops turns; what they wrote is kept. True where there was one. @param {Element[]} [turns] */
  halt(turns = [...this.querySelectorAll('.turn.working:has([data-turn-act="stop"])')]) {
    for (const turn of turns) {
      const id = keyOf(turn);
      if (this.stopping.has(id)) continue;
      this.stopping.add(id);
      turn.querySelector('[data-turn-act="stop"]')?.setAttribute("disabled", "");
      json(`/api/turns/${id}/stop`, { method: "POST", body: {} }).then(
        () => this.soon(0),
        (error) => {
          this.stopping.delete(id);
          this.soon(0);
          if (error instanceof Refused) toast().show(told(error), { bad: true });
        },
      );
    }
    return turns.length > 0;
  }

  /** Gives a turn the steps and tokens that it asked for. @param {string} id @param {number} steps @param {number} tokens */
  extend(id, steps, tokens) {
    json(`/api/turns/${id}/extend`, { method: "POST", body: { steps, tokens } }).then(
      () => this.soon(0),
      (error) => {
        if (!(error instanceof Refused)) throw error;
        toast().show(told(error), { bad: true });
        this.soon(0);
      },
    );
  }

  /** Allows a turn the outside tool that it asks for, or refuses it; if it has ended meanwhile, the
   * agent goes on in another one. @param {Element} turn @param {Element} button */
  async decideTool(turn, button) {
    const body = { tool: button.getAttribute("data-tool"), allow: button.hasAttribute("data-allow") };
    try {
      await json(`/api/turns/${keyOf(turn)}/tools`, { method: "POST", body });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      toast().show(told(error), { bad: true });
      return this.soon(0);
    }
    if (button.hasAttribute("data-go-on")) await this.goOn(turn, 0, 0);
    else this.soon(0);
  }

  /** Grants what a turn asked for that has ended meanwhile: the agent goes on in another one.
   * @param {Element} turn @param {number} steps @param {number} tokens */
  async goOn(turn, steps, tokens) {
    const { page } = this;
    const [participant, budget, node] = ["data-participant", "data-preset", "data-node"].map((name) => turn.getAttribute(name) ?? "");
    const body = { participant, budget, as: "continuation", input: "", node: turn.getAttribute("data-wrote") || node || turn.getAttribute("data-answers-below") };
    try {
      const extended = await json(`${page?.api}/turns`, { method: "POST", body });
      page?.go(extended.answers_below);
      if (steps || tokens) await json(`/api/turns/${extended.id}/extend`, { method: "POST", body: { steps, tokens } });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      toast().show(told(error), { bad: true });
    }
    this.soon(0);
  }

  /** Takes back all that a turn did. @param {string} id */
  undo(id) {
    this.page?.acts.undoTurn(id).then(() => this.soon(0), () => {});
  }

  /** Repeats a turn that was taken back. @param {string} id */
  redo(id) {
    const to = this.all().find((item) => keyOf(item) === id)?.getAttribute("data-node") ?? "";
    this.page?.acts.redoTurn(id, to).then(() => this.soon(0), () => {});
  }
}

/** @param {string} name */
function holder(name) {
  const list = document.createElement(name === "turns" ? "div" : "p");
  list.setAttribute(`data-${name}`, "");
  return list;
}
