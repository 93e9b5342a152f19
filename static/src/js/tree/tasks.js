// @ts-check
// The tasks in the texts of a tree; what others check is shown at once.

import { call } from "../live/calls.js";
import { TaskBoxes } from "./task-boxes.js";

export class Tasks {
  /** @param {import("./page.js").TreePage} page @param {AbortSignal} signal */
  constructor(page, signal) {
    this.boxes = new TaskBoxes({
      mayWrite: document.querySelector("loom-tree")?.getAttribute("data-can")?.includes("write") ?? false,
      signal,
      query: `?tree=${page.web.slice("/trees/".length)}`,
      run: (ref, token, act) => page.say(call("task_of_node", { act, ref, token }), { follow: false }),
    });
    const seen = new MutationObserver(() => this.draw());
    const path = document.querySelector("loom-path");
    if (path) seen.observe(path, { childList: true, subtree: true });
    const off = page.events.on("token.changed", ({ payload }) => this.boxes.changed(payload));
    signal.addEventListener("abort", () => {
      seen.disconnect();
      off();
    });
    this.draw();
  }

  draw() {
    for (const text of document.querySelectorAll("article[data-id] > .text")) {
      this.boxes.draw(/** @type {HTMLElement} */ (text), text.closest("[data-id]")?.getAttribute("data-id") ?? "");
    }
  }
}
