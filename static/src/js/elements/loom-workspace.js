// @ts-check
// The rest of a workspace beside its windows: what it takes, tasks, augments, notifications, the
// last actions, and arrangements of windows that the reader keeps. It follows its stream live.

import { asBody, call, callOf, putCall } from "../live/calls.js";
import { json, Newest, Refused } from "../live/api.js";
import { make, openForm } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { withRefs } from "../tree/refs.js";
import { TurnViews } from "../tree/turns.js";
import { language, t, tn } from "../t.js";
import { names } from "./loom-context.js";

/** @typedef {{ref: string, state: string, text: string, notes: string[]}} Task */
/** @typedef {{name: string, loaded: boolean, chosen: boolean, pinned: boolean, requires: string[], missing: string[], required_by: string[]}} Augment */
/** @typedef {{steps: number, budget: string, tokens: number, sections: Record<string, number>}} Status */
/** @typedef {{seq: number, status: Status, tasks: Task[], scratchpad: string, augments: Augment[], notifications: {text: string}[]}} Body */
/** @typedef {{seq: number, line: string, canonical: string, outcome: string, loop_status: string, message: string, open: boolean}} Step */
/** @typedef {{id: string, name: string, body: {lines: string[]}}} Arrangement */

const SOON_MS = 250;
const LAST = 10; // steps
const ORDER = ["WINDOWS", "AUGMENTS", "OUTLINE", "TODOS", "SCRATCHPAD"];

export class LoomWorkspace extends HTMLElement {
  views = new TurnViews(() => this.heard(), { changed: (event) => isShown(event) && this.heard() });
  draws = new Newest();

  connectedCallback() {
    this.page = pageOf();
    this.own = this.dataset.workspace ?? "";
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("workspace", (event) => this.choose(/** @type {CustomEvent} */ (event).detail), { signal });
    document.addEventListener("pane", () => this.soon(), { signal });
    this.page.addEventListener("said", () => this.soon(), { signal });
    this.page.addEventListener("event", (event) => /^(turn|node|document)\./.test(/** @type {CustomEvent} */ (event).detail.kind) && this.soon(), { signal });
    this.addEventListener("click", (event) => this.clicked(event), { signal });
    this.addEventListener("submit", (event) => this.sent(event), { signal });
    this.choose(this.own);
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
    this.views.watch([]);
  }

  /** Shows the workspace of somebody. @param {string} workspace */
  choose(workspace) {
    this.workspace = workspace;
    const isOwn = workspace === this.own;
    for (const one of this.querySelectorAll("[data-mine]")) /** @type {HTMLElement} */ (one).hidden = !isOwn;
    // Their sizes matter where a model is sent them.
    for (const one of this.querySelectorAll("[data-theirs]")) /** @type {HTMLElement} */ (one).hidden = isOwn;
    for (const one of this.querySelectorAll("[data-acts]")) /** @type {HTMLElement} */ (one).hidden = !this.mayAct;
    this.views.watch([]);
    this.soon(0);
  }

  /** Whether the reader may change what is shown: their own, or as a writer an agent's. */
  get mayAct() {
    return this.workspace === this.own || Boolean(this.page?.settings.can.write);
  }

  /** Something was opened, hidden, done or moved there. */
  heard() {
    this.soon();
    /** @type {import("./loom-windows.js").LoomWindows | null} */ (document.querySelector("loom-windows"))?.soon();
  }

  soon(ms = SOON_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), ms);
  }

  /** @param {string} name */
  list(name) {
    return /** @type {HTMLElement} */ (this.querySelector(`[data-list="${name}"]`));
  }

  async draw() {
    if (!this.checkVisibility()) return;
    const { workspace } = this;
    const number = this.draws.ask();
    try {
      const body = /** @type {Body} */ (await json(`/api/workspaces/${workspace}`));
      const last = body.status.steps;
      const steps = last ? (await json(`/api/steps?workspace=${workspace}&after=${Math.max(last - LAST, 0)}&limit=${LAST}`)).results : [];
      const kept = workspace === this.own ? (await json(`${this.saved}?kind=windows&limit=1000`)).results : [];
      if (workspace !== this.workspace || this.draws.isPast(number)) return;
      this.keepFocus(() => this.show(body, steps, kept));
      this.follow(body.seq);
    } catch (error) {
      this.refuse(error);
    }
  }

  /** Listens to the stream of what is shown, from the event that is drawn on. @param {number} seq */
  follow(seq) {
    this.setAttribute("data-view", this.workspace ?? "");
    this.setAttribute("data-view-seq", String(seq));
    this.views.watch([this]);
  }

  /** What had the focus has it afterwards. @param {() => void} change */
  keepFocus(change) {
    const focused = /** @type {HTMLElement | null} */ (this.contains(document.activeElement) ? document.activeElement : null);
    const key = focused?.dataset.key;
    change();
    if (key) /** @type {HTMLElement | null} */ (this.querySelector(`[data-key="${CSS.escape(key)}"]`))?.focus({ preventScroll: true });
  }

  /** @param {Body} body @param {Step[]} steps @param {Arrangement[]} kept */
  show(body, steps, kept) {
    const { status } = body;
    this.list("budget").textContent = status.budget;
    this.fill("sizes", ORDER.map((name) => size(name, status.sections[name] ?? 0, status.tokens)), "");
    this.fill("tasks", body.tasks.map((one) => this.task(one)), t("No tasks."));
    this.pad(body.scratchpad);
    this.fill("augments", body.augments.map((one) => this.augment(one)), t("There are no augments. A document of this kind can be loaded into the prompt of a model."));
    this.fill("notifications", body.notifications.map(({ text }) => make("li", { dir: "auto" }, ...withRefs(text, this.page?.store))), t("Nothing new."));
    this.fill("steps", [...steps].reverse().map(step), t("Nothing has been done yet."));
    this.fill("arrangements", kept.map((one) => this.arrangement(one)), t("Save what is open under a name, to open it again here or in another tree."));
  }

  /** Shows the scratchpad; what is being typed there stays. @param {string} text */
  pad(text) {
    const box = /** @type {HTMLTextAreaElement} */ (this.querySelector("#scratchpad-text"));
    const isTyped = box.value !== box.defaultValue && box.value !== text;
    if (!isTyped || this.padOf !== this.workspace) box.value = text;
    box.defaultValue = text;
    box.readOnly = !this.mayAct;
    this.padOf = this.workspace;
  }

  /** @param {string} name @param {HTMLElement[]} rows @param {string} none */
  fill(name, rows, none) {
    this.list(name).replaceChildren(...(rows.length || !none ? rows : [make("li", { className: "soft", textContent: none })]));
  }

  /** @param {string} words @param {import("../live/calls.js").Call} what @param {Record<string, any>} [values] */
  button(words, what, values = {}) {
    const made = make("button", { type: "button", className: "quiet", textContent: words, ...values });
    putCall(made, what);
    made.dataset.key = JSON.stringify(what);
    return made;
  }

  /** @param {Task} task */
  task({ ref, state, text, notes }) {
    const isOver = state === "archived";
    const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", checked: state !== "unchecked", disabled: isOver || !this.mayAct }));
    putCall(box, call("todo_change", { to: "toggle", tasks: [ref] }));
    box.dataset.key = `task ${ref}`;
    const words = make("span", { dir: "auto", textContent: text });
    const row = make("li", { className: state }, make("label", {}, box, words), ...notes.map((one) => make("span", { className: "soft note-of", dir: "auto", textContent: one })));
    if (this.mayAct && !isOver) row.append(this.button(t("Remove"), call("todo_change", { to: "remove", tasks: [ref] }), { ariaLabel: t("Remove the task “{text}”", { text }) }));
    return row;
  }

  /** @param {Augment} one */
  augment(one) {
    const marks = [one.pinned ? t("pinned") : one.loaded ? t("loaded") : "", one.requires.length ? t("requires {names}", { names: one.requires.join(", ") }) : "", one.required_by.length ? t("needed by {names}", { names: one.required_by.join(", ") }) : "", one.missing.length ? t("missing: {names}", { names: one.missing.join(", ") }) : ""];
    const row = make("li", {}, make("b", { textContent: one.name }), " ", make("span", { className: "soft", textContent: marks.filter(Boolean).join(" · ") }));
    if (!this.mayAct) return row;
    const name = one.name;
    const changed = (/** @type {string} */ to) => call("augment_change", { to, patterns: [name] });
    const load = one.chosen ? this.button(t("Unload"), changed("unload"), { ariaLabel: t("Unload {name}", { name }) }) : this.button(t("Load"), changed("load"), { ariaLabel: t("Load {name}", { name }) });
    const pin = one.pinned ? this.button(t("Unpin"), changed("unpin"), { ariaLabel: t("Unpin {name}", { name }) }) : this.button(t("Pin"), changed("pin"), { ariaLabel: t("Pin {name}", { name }) });
    for (const [key, button] of [["load", load], ["pin", pin]]) /** @type {HTMLElement} */ (button).dataset.key = `${key} ${name}`;
    const isNeeded = one.loaded && !one.chosen; // what others require is loaded already
    row.append(make("span", { className: "window-do" }, ...(isNeeded ? [pin] : [load, pin])));
    return row;
  }

  /** @param {Arrangement} one */
  arrangement(one) {
    const many = one.body.lines.length;
    const row = make("li", {}, make("b", { dir: "auto", textContent: one.name }), " ", make("span", { className: "soft", textContent: tn("{n} window", "{n} windows", many) }));
    const actions = ["open", "rename", "remove"];
    const words = [t("Open"), t("Rename"), t("Delete")];
    const labels = [t("Open the arrangement {name}", { name: one.name }), t("Rename the arrangement {name}", { name: one.name }), t("Delete the arrangement {name}", { name: one.name })];
    const buttons = actions.map((action, at) => {
      const made = make("button", { type: "button", className: "quiet", textContent: words[at], ariaLabel: labels[at] });
      made.dataset.key = `${action} ${one.id}`;
      made.addEventListener("click", () => this.arrange(action, one, row));
      return made;
    });
    row.append(make("span", { className: "window-do" }, ...buttons));
    return row;
  }

  get saved() {
    return `/api/groves/${this.page?.settings.grove}/saved`;
  }

  /** @param {Event} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target).closest("[data-call]");
    const what = target && callOf(target);
    if (what) this.run([what]);
  }

  /** @param {Event} event */
  async sent(event) {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const kind = form.dataset.form;
    if (!kind) return;
    event.preventDefault();
    const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("text"));
    if (kind === "scratchpad") {
      await this.run([field.value.trim() ? call("scratchpad", { content: field.value }) : call("scratchpad_clear")]);
      return;
    }
    const isDone = kind === "task" ? await this.run([call("todo_add", { texts: [field.value] })]) : await this.keep(field.value);
    if (isDone) field.value = "";
  }

  /** Runs commands in the workspace that is shown, each whatever became of the others; whether all went well.
   * @param {import("../live/calls.js").Said[]} several lines that are kept, or commands by name */
  async run(several) {
    /** @type {unknown} */
    let refused = null;
    for (const one of several) {
      const body = { ...asBody(one), key: crypto.randomUUID(), ...(this.workspace === this.own ? { at: this.page?.position } : {}) };
      try {
        await json(`/api/workspaces/${this.workspace}/commands`, { method: "POST", body });
      } catch (error) {
        refused ??= error;
      }
    }
    this.refuse(refused);
    this.heard();
    return refused === null;
  }

  /** Keeps what is open under a name. @param {string} name */
  async keep(name) {
    try {
      const { results } = await json(`/api/workspaces/${this.own}/windows`);
      const lines = results.filter((/** @type {any} */ one) => one.visible && one.opens).map((/** @type {any} */ one) => one.opens);
      await json(this.saved, { method: "POST", body: { kind: "windows", name, body: { lines: [...new Set(lines)] } } });
      this.refuse(null);
      this.soon(0);
      return true;
    } catch (error) {
      return this.refuse(error);
    }
  }

  /** @param {string} action @param {Arrangement} one @param {HTMLElement} row */
  async arrange(action, one, row) {
    if (action === "open") return this.run(one.body.lines);
    if (action === "rename") {
      const shape = { label: t("Name of the arrangement"), text: one.name, single: true, small: true, submit: t("Rename") };
      return openForm(row, shape, async ({ text }) => {
        await json(this.saved, { method: "PATCH", body: { id: one.id, name: text } });
        this.soon(0);
      });
    }
    try {
      await json(this.saved, { method: "DELETE", body: { id: one.id } });
      this.soon(0);
    } catch (error) {
      this.refuse(error);
    }
  }

  /** Shows why something was refused, and hides it again. @param {unknown} error */
  refuse(error) {
    if (error && !(error instanceof Refused)) throw error;
    const box = /** @type {HTMLElement} */ (this.querySelector("[data-refused]"));
    box.hidden = !error;
    box.textContent = error instanceof Refused ? `${error.message} ${error.hint}`.trim() : "";
    return false;
  }
}

/** Whether an event changes what is shown here: a draft and a move do not.
 * @param {{kind: string, payload: any}} event */
function isShown({ kind, payload }) {
  return kind !== "draft.saved" && !(kind === "view.changed" && "position" in payload);
}

/** @param {string} name @param {number} tokens @param {number} all */
function size(name, tokens, all) {
  const row = make("li", {}, make("span", { textContent: names()[name] ?? name }), make("span", { className: "size", textContent: tn("{n} token", "{n} tokens", tokens, { n: tokens.toLocaleString(language()) }) }));
  row.style.setProperty("--share", `${all ? Math.round((100 * tokens) / all) : 0}%`);
  return row;
}

/** @param {Step} one */
function step(one) {
  const isOk = one.outcome === "ok";
  const words = one.open ? (one.canonical || one.line).split("\n")[0] : t("(not visible to you)");
  const row = make("li", { className: isOk ? "" : "bad" }, make("code", { className: "id", textContent: String(one.seq) }), make("span", { className: "line", dir: "auto", textContent: words }));
  if (!isOk) row.append(make("span", { className: "refused", title: one.message, textContent: `✗ ${one.outcome}` }));
  if (one.loop_status !== "ok") row.append(make("span", { className: "chip loop", textContent: t("repeats") }));
  return row;
}
