// @ts-check
// The candidates that were taken in this tab: undo leads back to before the last one, with the
// words that stood behind the text then, and redo takes it again.

import { toast } from "../elements/loom-toast.js";
import { placeAt } from "../tree/page-drafts.js";
import { t } from "../t.js";

/** @typedef {import("../tree/page.js").TreePage} TreePage */
/** @typedef {{from: string, to: string, tail: string}} Taken */

export class Takes {
  /** @type {Taken[]} */
  done = [];
  /** @type {Taken[]} */
  undone = [];

  /** @param {TreePage} page */
  constructor(page) {
    this.page = page;
  }

  /** @param {Taken} taken */
  add(taken) {
    this.done.push(taken);
    this.undone = [];
  }

  /** Something was typed: what was undone cannot be done again. */
  forget() {
    this.undone = [];
  }

  /** Leads back to before the last taking, if the reader is where it led. */
  undo() {
    const last = this.done.at(-1);
    if (!last || !this.isAt(last.to)) return toast().show(t("There is nothing to undo in this text."));
    this.done.pop();
    this.undone.push(last);
    const place = placeAt(this.page, "buffer", last.from);
    if (last.tail && !this.page.drafts.of(place)) this.page.drafts.write(place, last.tail);
    this.page.go(last.from);
  }

  /** Takes again what was undone last, if the reader is where that led. */
  redo() {
    const last = this.undone.at(-1);
    if (!last || !this.isAt(last.from)) return toast().show(t("There is nothing to redo in this text."));
    this.undone.pop();
    this.done.push(last);
    const place = placeAt(this.page, "buffer", last.from);
    if (last.tail && this.page.drafts.of(place) === last.tail) this.page.drafts.write(place, "");
    this.page.go(last.to);
  }

  /** Whether the tab is at a node, in whichever version. @param {string} id */
  isAt(id) {
    const { store, position } = this.page;
    if (id === position) return true;
    const slot = store?.slotOf(id);
    return slot !== undefined && slot !== null && slot === store?.slotOf(position);
  }
}
