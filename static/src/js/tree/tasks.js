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
      const items = [...text.querySelectorAll("li[data-task]")].filter((item) => !item.querySelector(":scope > .task-box, :scope > p > .task-box") && item.closest(".text, .portal-in") === text);
      if (items.length) this.make(/** @type {HTMLElement} */ (text), /** @type {HTMLElement[]} */ (items));
    }
  }

  /** @param {HTMLElement} text @param {HTMLElement[]} items */
  make(text, items) {
    const id = text.closest("[data-id]")?.getAttribute("data-id") ?? "";
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
    this.fill(id, boxes);
  }

  /** @param {string} id @param {HTMLInputElement[]} boxes */
  async fill(id, boxes) {
    const { results } = await json(`/api/items/${id}/tokens?tree=${this.page.web.slice("/trees/".length)}`, { signal: this.signal });
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
      await this.page.say(call("task_of_node", { act: input, ref: of, token }), { follow: false });
    } catch {
      // Somebody else may have been first, which the page may know already, or may have missed.
      target.checked = target.closest("li")?.getAttribute("data-task-state") !== "unchecked";
      const boxes = [...document.querySelectorAll(`.task-box[data-of="${CSS.escape(of)}"]`)];
      await this.fill(of, /** @type {HTMLInputElement[]} */ (boxes)).catch(() => undefined);
    }
  }
}
