// @ts-check
// The tasks in a document where it is read, as boxes that everybody can check; what others check is
// shown at once.

import { json, Refused } from "../live/api.js";
import { TaskBoxes } from "../tree/task-boxes.js";

export class DocumentTasks {
  /** @param {string} document its id @param {{read: HTMLElement, mayWrite: boolean, say: (words: string) => void, signal: AbortSignal}} page
   * read: where it is drawn; say: tells why a box could not be checked */
  constructor(document, { read, mayWrite, say, signal }) {
    this.item = `doc:${document}`;
    const run = async (/** @type {string} */ item, /** @type {string} */ key, /** @type {string} */ input) => {
      try {
        await json(`/api/items/${item}/tokens/${key}`, { method: "POST", body: { input } });
      } catch (error) {
        if (error instanceof Refused) say(`${error.message} ${error.hint}`.trim());
        throw error;
      }
    };
    this.boxes = new TaskBoxes({ mayWrite, signal, run });
    const seen = new MutationObserver(() => this.boxes.draw(read, this.item));
    seen.observe(read, { childList: true, subtree: true });
    signal.addEventListener("abort", () => seen.disconnect());
    this.boxes.draw(read, this.item);
  }

  /** @param {{kind: string, payload: any}} event of the grove */
  heard({ kind, payload }) {
    if (kind === "token.changed") this.boxes.changed(payload);
  }
}
