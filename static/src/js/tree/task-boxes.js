// @ts-check
// Tasks that are written in a text, `- [ ] text`, as boxes that everybody can check.

import { json, Refused } from "../live/api.js";
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

/** Takes the mark away with which the words of an item begin; it may lie in several spans.
 * @param {HTMLElement} words */
function withoutMark(words) {
  const texts = document.createTreeWalker(words, NodeFilter.SHOW_TEXT);
  let left = "[ ] ".length;
  for (let text = /** @type {Text | null} */ (texts.nextNode()); text && left; text = /** @type {Text | null} */ (texts.nextNode())) {
    const own = left === 4 ? text.data.trimStart() : text.data;
    text.data = own.slice(left);
    left -= Math.min(left, own.length);
  }
}

/** @param {HTMLInputElement} box @param {{state: string, notes?: string[]}} token */
function show(box, { state, notes = [] }) {
  box.checked = state !== "unchecked";
  box.disabled = state === "archived";
  box.closest("li")?.setAttribute("data-task-state", state);
  box.title = notes.join("\n");
}

export class TaskBoxes {
  /** @param {{mayWrite: boolean, signal: AbortSignal, query?: string, run: (id: string, key: string, input: string) => Promise<unknown>}} how
   * query: what the tokens of an item are asked for with; run: checks a task of an item, or unchecks it */
  constructor({ mayWrite, signal, query = "", run }) {
    this.mayWrite = mayWrite;
    this.signal = signal;
    this.query = query;
    this.run = run;
    document.addEventListener("change", (event) => this.pressed(/** @type {Element} */ (event.target)), { signal });
  }

  /** Makes boxes of the tasks of a drawn text that have none yet. @param {HTMLElement} text @param {string} id of its item */
  draw(text, id) {
    const items = [...text.querySelectorAll("li[data-task]")].filter((item) => !item.querySelector(":scope > .task-box, :scope > p > .task-box") && item.closest(".text, .portal-in") === text);
    if (items.length) this.make(id, /** @type {HTMLElement[]} */ (items));
  }

  /** @param {string} id @param {HTMLElement[]} items */
  make(id, items) {
    const boxes = items.flatMap((item) => {
      const first = /** @type {HTMLElement} */ (item.firstElementChild?.tagName === "P" ? item.firstElementChild : item);
      const task = taskOf(first.textContent?.trimStart() ?? "");
      if (!task) return [];
      withoutMark(first);
      const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", className: "task-box", checked: task.checked, disabled: true }));
      box.dataset.place = item.dataset.task;
      box.setAttribute("aria-label", t("Done: {words}", { words: task.words.split("\n", 1)[0]?.trim() ?? "" }));
      first.prepend(box, " ");
      item.classList.add("task-item");
      return [box];
    });
    // Where they cannot be asked for, the boxes say what is written and stay closed.
    this.fill(id, boxes).catch((error) => {
      if (!(error instanceof Refused)) throw error;
    });
  }

  /** @param {string} id @param {HTMLInputElement[]} boxes */
  async fill(id, boxes) {
    const { results } = await json(`/api/items/${id}/tokens${this.query}`, { signal: this.signal });
    const tasks = results.filter((/** @type {Token} */ result) => result.kind === "task");
    for (const box of boxes) {
      const token = tasks[Number(box.dataset.place) - 1];
      if (!token) continue;
      box.dataset.token = token.key;
      box.dataset.of = id;
      show(box, token);
      box.disabled ||= !this.mayWrite;
    }
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
      await this.run(of, token, input);
    } catch {
      // Somebody else may have been first, which the page may know already, or may have missed.
      target.checked = target.closest("li")?.getAttribute("data-task-state") !== "unchecked";
      const boxes = [...document.querySelectorAll(`.task-box[data-of="${CSS.escape(of)}"]`)];
      await this.fill(of, /** @type {HTMLInputElement[]} */ (boxes)).catch(() => undefined);
    }
  }
}
