// @ts-check
// Words that are selected in a document become evidence of a claim of the tree that it is linked to.

import { keymap } from "@codemirror/view";
import { CiteMenu, quotable } from "../claims/cite-menu.js";
import { toast } from "../elements/loom-toast.js";
import { json, Refused, told } from "../live/api.js";
import { asBody, call } from "../live/calls.js";
import { citedText } from "../tree/status-text.js";
import { t } from "../t.js";

/** @typedef {import("@codemirror/view").EditorView} EditorView */

export class DocumentEvidence {
  /** @param {string} id of the document @param {string} tree whose claims are offered @param {() => EditorView | undefined} view @param {AbortSignal} signal */
  constructor(id, tree, view, signal) {
    this.id = id;
    this.tree = tree;
    this.view = view;
    this.menu = new CiteMenu({ tree, chosen: () => this.chosen(), run: (what) => this.run(what) }, signal);
    document.addEventListener("keydown", (event) => {
      const isKey = event.key.toLowerCase() === "e" && event.shiftKey && (event.ctrlKey || event.metaKey) && !event.altKey;
      if (isKey && !event.defaultPrevented && this.menu.start()) event.preventDefault();
    }, { signal });
    this.extension = keymap.of([{ key: "Mod-Shift-e", run: () => this.menu.start() }]);
  }

  /** The selected words: of the editor as they are written, else as they are read.
   * @returns {import("../claims/cite-menu.js").Chosen | null} */
  chosen() {
    const ref = `doc:${this.id}`;
    const selection = document.getSelection();
    const range = selection?.rangeCount ? selection.getRangeAt(0) : null;
    const view = this.view();
    if (view?.dom.checkVisibility() && range && view.dom.contains(range.commonAncestorContainer)) {
      const { from, to } = view.state.selection.main;
      const words = quotable(view.state.sliceDoc(from, to));
      return words ? { ref, words, box: range.getBoundingClientRect() } : null;
    }
    const isRead = range && document.querySelector("[data-read]")?.contains(range.commonAncestorContainer);
    const words = isRead ? quotable(selection?.toString() ?? "") : "";
    return words && range ? { ref, words, box: range.getBoundingClientRect() } : null;
  }

  /** @param {import("../live/calls.js").Call} what */
  async run(what) {
    const commands = `/api/trees/${this.tree}/commands`;
    const answer = await json(commands, { method: "POST", body: asBody(what) });
    const back = async () => {
      try {
        await json(commands, { method: "POST", body: asBody(call("undo_ref", { ref: `step:${answer.step}` })) });
        toast().show(t("Undone: evidence"));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        toast().show(told(error), { bad: true });
      }
    };
    toast().show(citedText(answer.did ?? {}), { exact: answer.reply, act: t("Undo"), onAct: () => void back() });
  }
}
