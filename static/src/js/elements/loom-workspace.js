// @ts-check
// The rest of a workspace beside its windows, which it follows live: tree/workspace-view.js draws
// what it takes, its tasks, augments, last actions and arrangements of windows.

import { asBody, call, callOf } from "../live/calls.js";
import { json, Newest, Refused, told } from "../live/api.js";
import { Keys } from "../live/outbox.js";
import { make, openForm } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { withRefs } from "../tree/refs.js";
import { TurnViews } from "../tree/turns.js";
import { arrangementRow, augmentRow, sizeRows, stepRow, taskRow } from "../tree/workspace-view.js";
import { t } from "../t.js";

/** @typedef {import("../tree/workspace-view.js").Body} Body */
/** @typedef {import("../tree/workspace-view.js").Step} Step */
/** @typedef {import("../tree/workspace-view.js").Arrangement} Arrangement */

const SOON_MS = 250;
const LAST = 10; // steps

export class LoomWorkspace extends HTMLElement {
  views = new TurnViews(() => this.heard(), { changed: (event) => isShown(event) && this.heard() });
  draws = new Newest();
  keys = new Keys();

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
    for (const part of this.querySelectorAll("[data-mine]")) /** @type {HTMLElement} */ (part).hidden = !isOwn;
    // Their sizes matter where a model is sent them.
    for (const part of this.querySelectorAll("[data-theirs]")) /** @type {HTMLElement} */ (part).hidden = isOwn;
    for (const part of this.querySelectorAll("[data-acts]")) /** @type {HTMLElement} */ (part).hidden = !this.mayAct;
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
      const arrangements = workspace === this.own ? (await json(`${this.saved}?kind=windows&limit=1000`)).results : [];
      if (workspace !== this.workspace || this.draws.isPast(number)) return;
      this.keepFocus(() => this.show(body, steps, arrangements));
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

  /** @param {Body} body @param {Step[]} steps @param {Arrangement[]} arrangements */
  show(body, steps, arrangements) {
    const { status } = body;
    this.list("budget").textContent = status.budget;
    this.fill("sizes", sizeRows(status), "");
    this.fill("tasks", body.tasks.map((task) => taskRow(task, this.mayAct)), t("No tasks."));
    this.pad(body.scratchpad);
    this.fill("augments", body.augments.map((augment) => augmentRow(augment, this.mayAct)), t("There are no augments. A document of this kind can be loaded into the prompt of a model."));
    this.fill("notifications", body.notifications.map(({ text }) => make("li", { dir: "auto" }, ...withRefs(text, this.page?.store))), t("Nothing new."));
    this.fill("steps", [...steps].reverse().map(stepRow), t("Nothing has been done yet."));
    // A form that is open among them is being written in.
    if (!this.list("arrangements").querySelector("form")) this.fill("arrangements", arrangements.map((arrangement) => arrangementRow(arrangement, (action, row) => this.arrange(action, arrangement, row))), t("Save what is open under a name, to open it again here or in another tree."));
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
    const typed = field.value;
    const isDone = kind === "task" ? await this.run([call("todo_add", { texts: [typed] })]) : await this.keep(typed);
    // What was typed meanwhile stays.
    if (isDone && field.value === typed) field.value = "";
  }

  /** Runs commands in the workspace that is shown, each whatever became of the others; whether all went well.
   * @param {import("../live/calls.js").Said[]} several lines that are kept, or commands by name */
  async run(several) {
    /** @type {unknown} */
    let refused = null;
    for (const line of several) {
      const url = `/api/workspaces/${this.workspace}/commands`;
      const body = { ...asBody(line), ...(this.workspace === this.own ? { at: this.page?.position } : {}) };
      try {
        await this.keys.send(url, asBody(line), (key) => json(url, { method: "POST", body: { ...body, key } }));
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
      const lines = results.filter((/** @type {any} */ result) => result.visible && result.opens).map((/** @type {any} */ result) => result.opens);
      await json(this.saved, { method: "POST", body: { kind: "windows", name, body: { lines: [...new Set(lines)] } } });
      this.refuse(null);
      this.soon(0);
      return true;
    } catch (error) {
      return this.refuse(error);
    }
  }

  /** @param {string} action @param {Arrangement} arrangement @param {HTMLElement} row */
  async arrange(action, arrangement, row) {
    if (action === "open") return this.run(arrangement.body.lines);
    if (action === "rename") {
      const shape = { label: t("Name of the arrangement"), text: arrangement.name, single: true, small: true, submit: t("Rename") };
      return openForm(row, shape, async ({ text }) => {
        await json(this.saved, { method: "PATCH", body: { id: arrangement.id, name: text } });
        this.soon(0);
      });
    }
    try {
      await json(this.saved, { method: "DELETE", body: { id: arrangement.id } });
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
    box.textContent = error instanceof Refused ? told(error) : "";
    return false;
  }
}

/** Whether an event changes what is shown here: a draft and a move do not.
 * @param {{kind: string, payload: any}} event */
function isShown({ kind, payload }) {
  return kind !== "draft.saved" && !(kind === "view.changed" && "position" in payload);
}
