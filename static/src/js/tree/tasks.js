// @ts-check
// Tasks that are written in texts, `- [ ] text`, as boxes that everybody can check; what others check
// is shown at once.

import { json } from "../live/api.js";
import { call } from "../live/calls.js";
import { make } from "./forms.js";
import { t } from "../t.js";

/** @typedef {{key: string, kind: string, state: string, notes: string[]}} Token */

const TASK = /^\[([ xX])\] /;

/** The words of a list item without its mark, and whether it was checked; null for other items.
 * @param {string} text @returns {{words: string, checked: boolean} | null} */
export function taskOf(text) {
  const match = TASK.exec(text);
  return match ? { words: text.slice(match[0].length), checked: match[1] !== " " } : null;
}

/** @param {HTMLInputElement} box @param {{state: string, notes?: string[]}} token */
function show(box, { state, notes = [] }) {
  box.checked = state !== "unchecked";
  box.disabled = state === "archived";
  box.closest("li")?.setAttribute("data-task-state", state);
  box.title = notes.join("\n");
}

export class Tasks {
  /** @param {import("./page.js").TreePage} page @param {AbortSignal} signal */
  constructor(page, signal) {
    this.page = page;
    this.signal = signal;
    this.mayWrite = document.querySelector("loom-tree")?.getAttribute("data-can")?.includes("write") ?? false;
    const seen = new MutationObserver(() => this.draw());
    const path = document.querySelector("loom-path");
    if (path) seen.observe(path, { childList: true, subtree: true });
    const off = page.events.on("token.changed", ({ payload }) => this.changed(payload));
    signal.addEventListener("abort", () => {
      seen.disconnect();
      off();
    });
    document.addEventListener("change", (event) => this.pressed(/** @type {Element} */ (event.target)), { signal });
    this.draw();
  }

  /** Makes boxes of the tasks that have none yet. */
  draw() {
    for (const text of document.querySelectorAll("article[data-id] > .text")) {
      const items = [...text.querySelectorAll("li")].filter((item) => !item.querySelector(":scope > .task-box, :scope > p > .task-box") && taskOf(item.textContent?.trimStart() ?? ""));
      if (items.length) this.make(/** @type {HTMLElement} */ (text), items);
    }
  }

  /** @param {HTMLElement} text @param {HTMLElement[]} items */
  make(text, items) {
    const id = text.closest("[data-id]")?.getAttribute("data-id") ?? "";
    const boxes = items.map((item) => {
      const first = item.firstElementChild?.tagName === "P" ? item.firstElementChild : item;
      const words = /** @type {Text} */ ([...first.childNodes].find((child) => child.nodeType === 3 && child.textContent?.trim()));
      const task = taskOf(words.data.trimStart());
      words.data = task?.words ?? words.data;
      const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", className: "task-box", checked: task?.checked ?? false, disabled: true }));
      box.setAttribute("aria-label", t("Done: {words}", { words: words.data.trim() }));
      words.before(box, " ");
      item.classList.add("task-item");
      return box;
    });
    this.fill(id, [...text.querySelectorAll(".task-box")].length === boxes.length ? boxes : /** @type {HTMLInputElement[]} */ ([...text.querySelectorAll(".task-box")]));
  }

  /** @param {string} id @param {HTMLInputElement[]} boxes */
  async fill(id, boxes) {
    const { results } = await json(`/api/items/${id}/tokens?tree=${this.page.web.slice("/trees/".length)}`, { signal: this.signal });
    const tasks = results.filter((/** @type {Token} */ result) => result.kind === "task");
    boxes.forEach((box, place) => {
      const token = tasks[place];
      if (!token) return;
      box.dataset.token = token.key;
      box.dataset.of = id;
      show(box, token);
      box.disabled ||= !this.mayWrite;
    });
  }

  /** @param {{item: string, key: string, state: string, notes: string[]}} changed */
  changed({ item, key, state, notes }) {
    const box = document.querySelector(`.task-box[data-of="${CSS.escape(item)}"][data-token="${CSS.escape(key)}"]`);
    if (box instanceof HTMLInputElement) show(box, { state, notes });
  }

  /** @param {Element} target */
  async pressed(target) {
    if (!(target instanceof HTMLInputElement) || !target.matches(".task-box")) return;
    const { of = "", token = "" } = target.dataset;
    const input = target.checked ? "check" : "uncheck";
    try {
      await this.page.say(call("task_of_node", { act: input, ref: of, token }), { follow: false });
    } catch {
      target.checked = !target.checked;
    }
  }
}
