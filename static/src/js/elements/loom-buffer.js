// @ts-check
// The text of a buffer tree: first as the server drew it, then as one editor over the whole
// path, which follows the tab's position and what happens to its nodes.

import { Newest, Refused } from "../live/api.js";
import { nameOf } from "../live/draft-storage.js";
import { EditBar } from "../buffer/bar.js";
import { Leaves } from "../buffer/leaves.js";
import { Saving } from "../buffer/saving.js";
import { takePlace } from "../buffer/mount.js";
import { Shadows } from "../buffer/remote-drafts.js";
import { Writing } from "../buffer/writing.js";
import { Wheel } from "../buffer/candidate-preview.js";
import { leastChange } from "../editor/runs.js";
import { composer } from "../tree/actions.js";
import { askWhich, placeAt } from "../tree/page-drafts.js";
import { editorModule } from "../tree/editor-loader.js";
import { pageOf } from "../tree/page.js";
import { heldUp } from "../tree/pruned-place.js";
import { t } from "../t.js";

/** @typedef {import("../editor/open.js").BufferEditor} BufferEditor */

const SOON_MS = 40; // what was typed is looked at once a moment, not at every key
const FEW_MS = 60;
const TRIES = 12;
const PATIENCE = 50; // looks at whether the text is drawn
const AGAIN_MS = 3000;

export class LoomBuffer extends HTMLElement {
  /** @type {string | undefined} what stood behind the text when a candidate was taken that is not drawn yet */
  tailThen;
  /** @type {number | undefined} steps of typing that could be undone when a candidate was taken that was coming */
  awaited;
  syncs = new Newest();
  /** @type {{way: "undo" | "redo", isMove: boolean, until: number} | undefined} an act that was undone or redone, whose text is not drawn yet; `until`: its last event */
  turned;
  /** the position whose text did not come */
  lacking = "";
  /** @type {Set<string>} slots of edits that were kept as drafts here */
  edited = new Set();

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    if (!this.page.can.write) return;
    this.leaves = new Leaves(this.page, () => this.soon());
    this.place = placeAt(this.page, "buffer");
    // What the editor needs is on its way while the text is drawn; the editor itself does not come
    // before the text can be read.
    this.ahead = { position: this.page.position, isBare: !this.page.store, all: Promise.all([editorModule(), this.leaves.path(this.page.position)]) };
    this.ahead.all.catch(() => {}); // told by who waits for it
    requestAnimationFrame(() => setTimeout(() => this.open(), 0));
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.typing);
    clearTimeout(this.waiting);
    this.editor?.destroy();
  }

  async open() {
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const position = page.position;
    try {
      const isAhead = this.ahead?.position === position;
      const [module, leaves] = await (isAhead ? this.ahead?.all : Promise.all([editorModule(), this.leaves?.path(position)])) ?? [];
      if (!this.isConnected || !module) return;
      this.mount(module.BufferEditor, leaves ?? [], position);
      if (page.position !== position) this.moved();
      // The tree's shape came while the editor did: what it tells of these texts is not drawn yet.
      else if (isAhead && this.ahead?.isBare && page.store) this.soon(0);
    } catch (error) {
      // Without the editor there is still the text, and the composer below it.
      if (!(error instanceof Refused)) throw error;
      page.emit("refused", error);
    }
  }

  /** The editor takes the text's place.
   * @param {typeof import("../editor/open.js").BufferEditor} Editor @param {import("../editor/document-state.js").Leaf[]} leaves @param {string} position */
  mount(Editor, leaves, position) {
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const { signal } = /** @type {AbortController} */ (this.stop);
    const editor = (this.editor = takePlace(this, page, Editor, leaves));
    this.bar = new EditBar(this, editor);
    this.writing = new Writing(this, editor, signal);
    this.saving = new Saving(this, page, editor);
    this.shown = position;
    this.wheel = new Wheel(this, page, editor, signal);
    this.shadows = new Shadows(this, page, signal);
    Object.assign(page.acts, { mark: () => editor.mark(), before: () => this.rested(), turns: this.turns.bind(this), drawn: () => this.isDrawn() });
    this.restore();
    editor.cutPast();
    page.emit("book");
    page.addEventListener("taken", (event) => this.taken(/** @type {CustomEvent} */ (event).detail), { signal });
    page.addEventListener("awaited", () => (this.awaited = editor.step()), { signal });
    page.addEventListener("moved", (event) => this.moved(/** @type {CustomEvent} */ (event).detail), { signal });
    page.addEventListener("carrying", (event) => this.carried(/** @type {CustomEvent} */ (event).detail), { signal });
    for (const name of ["changed", "store", "redraw"]) page.addEventListener(name, () => this.soon(), { signal });
    page.addEventListener("event", () => this.turned && this.soon(), { signal });
    page.addEventListener("state", (event) => this.stated(/** @type {CustomEvent} */ (event).detail.state), { signal });
    page.drafts.addEventListener("draft", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    page.drafts.addEventListener("saved", () => this.kept(), { signal });
    askWhich(page.drafts, this, (place) => this.isHere(place), signal);
    const off = page.events.on("node.added", ({ payload, actor = "" }) => this.saving?.newer(payload.node, actor));
    signal.addEventListener("abort", off);
  }

  /** Says whether the server has what is written behind the text. */
  kept() {
    const { editor, page, place } = this;
    if (editor && page && place) this.bar?.keep(editor.tail, page.drafts.isKept(place), page.drafts.isRefused(place));
  }

  /** Shows edits that were typed before and not saved in their nodes again. */
  restore() {
    const slots = (this.editor?.book.nodes ?? []).map((node) => node.slot);
    const typed = this.page?.drafts.slots("edit");
    for (let place = slots.length - 1; place >= 0; place -= 1) {
      const slot = slots[place];
      if (!typed?.has(slot)) continue;
      this.edited.add(slot);
      this.editor?.put(place, this.page?.drafts.of({ slot, kind: "edit" }) ?? "");
      this.saving?.warn(place);
    }
  }

  /** @param {import("../live/draft-storage.js").Place} place */
  isHere({ slot, kind }) {
    if (kind === "buffer") return slot === this.place?.slot;
    return kind === "edit" && Boolean(this.editor?.book.nodes.some((node) => node.slot === slot));
  }

  /** Another tab or device has typed here. @param {import("../live/draft-storage.js").Place} place */
  heard(place) {
    const { editor, page } = this;
    if (!editor || !page || !this.isHere(place) || this.saving?.isBusy) return;
    const text = page.drafts.of(place);
    if (place.kind === "buffer") return editor.put(editor.ids.length, text);
    const at = editor.book.nodes.findIndex((node) => node.slot === place.slot);
    const isCut = page.drafts.isCut(place);
    if (text || isCut) this.saving?.elsewhere.set(place.slot, text);
    editor.put(at, text || isCut ? text : (this.leaves?.known.get(editor.ids[at])?.text ?? ""));
  }

  /** @param {boolean} [isTurned] by undo or redo */
  typed(isTurned) {
    if (!isTurned) this.page?.acts.forget();
    this.turned = undefined;
    composer()?.answer(""); // what was said of the text as it was
    this.wheel?.show();
    this.writing?.soon();
    if (!this.typing) this.typing = setTimeout(() => this.keep(), SOON_MS);
  }

  /** Keeps what was typed: the working buffer, and edits in nodes, each as a draft. */
  keep() {
    clearTimeout(this.typing);
    this.typing = 0;
    const { editor, page, leaves, place } = this;
    if (!editor || !page || !leaves || !place) return;
    page.drafts.write(place, editor.tail);
    page.whereabouts.share(editor.tail);
    for (const { slot, id, text } of editor.touched().filter((leaf) => leaf.id)) {
      const draft = /** @type {import("../live/draft-storage.js").Place} */ ({ slot, kind: "edit" });
      const leaf = leaves.known.get(id);
      // What is on its way, or stored, is kept by that; a draft of it would be a second edit.
      const isSent = this.saving?.isSent(slot, text);
      if (isSent && !page.drafts.isInHand(draft) && !this.saving?.isStored(slot, text)) continue;
      // When a version was stored that this page has just made is not known here.
      const over = leaf?.at ?? (leaf && leaf.id === leaf.slot ? "" : undefined);
      if (leaf && leaf.text === text) editor.settle(slot, leaf);
      if (isSent || leaf?.text === text) page.drafts.write(draft, "");
      else if (text) page.drafts.write(draft, text, over);
      else page.drafts.cut(draft, over);
      this.edited.add(slot);
    }
    // An edit that was undone is none any more.
    const undone = [...this.edited].filter((slot) => !editor.book.dirty.has(slot));
    for (const slot of undone) {
      this.edited.delete(slot);
      if (editor.book.nodes.some((node) => node.slot === slot)) page.drafts.write({ slot, kind: "edit" }, "");
    }
    this.tell();
  }

  /** Says below the text which edits wait. */
  tell() {
    const { saving } = this;
    if (!saving) return;
    const waiting = saving.pending();
    if (this.bar?.isRefused && !waiting.some((draft) => saving.isHeld(draft))) this.bar.isRefused = false;
    this.bar?.tell(waiting, { way: saving.way, save: () => void this.save(), back: () => waiting.forEach(({ slot }) => saving.putBack(slot)) });
  }

  /** Puts a text at the end of the working buffer. @param {string} text */
  write(text) {
    this.editor?.put(this.editor.ids.length, this.editor.tail + text);
    this.editor?.focus();
  }

  /** Saves the edits that are typed here, as they are now. */
  save() {
    this.keep();
    return this.saving?.edits();
  }

  /** The caret is elsewhere: an edit that it has left is saved. */
  placed() {
    this.writing?.soon();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      if (this.typing) this.keep();
      const left = this.saving?.left(this.editor?.spot().slot ?? "") ?? [];
      if (left.length) void this.saving?.leave(left);
    }, FEW_MS);
  }

  /** Sends what is written here, and asks for continuations where the caret is.
   * @param {string} action "respond" or "continue" */
  async go(action) {
    const held = this.page ? heldUp(this.page) : "";
    if (held) return void composer()?.answer(held, true);
    this.keep();
    // What was typed since a candidate was taken comes behind its text.
    if (this.tailThen !== undefined && !(await this.isDrawn())) {
      return void composer()?.answer(t("The accepted text is still loading. Send this again once it is shown."), true);
    }
    return action === "continue" ? this.saving?.continueHere() : this.saving?.all();
  }

  /** A place for a form below the passage of a node; it goes when the form is closed. @param {string} id */
  formAt(id) {
    const { editor } = this;
    const node = editor?.book.nodes.find((leaf) => leaf.id === id);
    if (!editor || !node) return undefined;
    const host = Object.assign(document.createElement("div"), { className: "passage-form" });
    host.dataset.id = id;
    editor.sayAt(host, node.slot);
    const watch = new MutationObserver(() => {
      if (host.querySelector("form")) return;
      watch.disconnect();
      editor.sayAt(null);
    });
    watch.observe(host, { childList: true });
    return host;
  }

  /** Undoes what was typed, where that was the last thing done; false where it was not. */
  untype() {
    const { editor, page } = this;
    return Boolean(editor && page?.acts.isTypedLast(editor.markNow()) && editor.untype());
  }

  /** Repeats what was typed, where that was undone last. */
  retype() {
    const { editor, page } = this;
    return Boolean(editor && page?.acts.isTypingNext(editor.markNow()) && editor.retype());
  }

  /** An act is undone or redone: the caret goes where that changes the text, as soon as it is drawn.
   * @param {"undo" | "redo"} way @param {import("../tree/undo.js").Act} act @param {number} [until] its last event */
  turns(way, { from, to, swap }, until = 0) {
    this.turned = { way, isMove: from !== to, until };
    this.soon(); // it may be drawn already, or change no text
    if (!swap || !this.editor || !this.place || !this.page) return;
    if (this.typing) this.keep();
    const [now, then] = way === "undo" ? [swap[1], swap[0]] : swap;
    const place = placeAt(this.page, "buffer", from);
    const typed = this.page.drafts.of(place);
    // What was typed behind since stays behind.
    if (!typed.startsWith(now)) return;
    const tail = then + typed.slice(now.length);
    if (nameOf(place) === nameOf(this.place)) this.editor.putTail(tail);
    this.page.drafts.write(place, tail);
  }

  /** The caret stays at what undo or redo has changed, and that is shown: not the end of the text, where a text that
   * was split goes on again. @param {string} before the whole text @param {number} head where the caret was */
  showTurned(before, head) {
    const { editor, turned } = this;
    if (!editor || !turned) return;
    const { from, to, insert } = leastChange(before, editor.text);
    if (to === from && !insert) return;
    this.turned = undefined;
    const isAdded = to === before.length && from === to;
    // A text that is added again is written on at its end; what only comes back behind the caret is not.
    const isBack = turned.way === "undo" && turned.isMove && isAdded;
    editor.showPlace(isBack ? Math.min(head, from) : from + insert.length);
  }

  /** Waits until what is being saved is saved: it comes first in the order of acts. */
  async rested() {
    if (this.typing) this.keep();
    await this.saving?.last;
  }

  /** Waits until the text of the position is in the editor, but not for ever; whether it is. */
  async isDrawn() {
    for (let tries = 0; tries < PATIENCE && this.shown !== this.page?.position && this.isConnected; tries += 1) {
      await new Promise((done) => setTimeout(done, SOON_MS));
    }
    return this.shown === this.page?.position;
  }

  /** Undo, right after a candidate was taken that is still coming: it is not accepted then. What
   * was typed since comes first. @param {number} depth steps of typing that can be undone */
  untake(depth) {
    return depth <= (this.awaited ?? 0) && Boolean(this.wheel?.weave?.untake());
  }

  /** A candidate is taken: words of it that were taken before are part of it, and the caret goes
   * to its end, unless it was still coming when it was taken.
   * @param {{card: string, isLate?: boolean}} move */
  taken({ card: id, isLate }) {
    const { editor, page, place } = this;
    if (!editor || !page || !place) return;
    if (this.typing) this.keep();
    const { tail } = editor;
    const card = this.wheel?.cardOf(id);
    const isPart = Boolean(tail && card && this.wheel?.textOf(card).startsWith(tail));
    if (isPart) {
      editor.cutPast();
      editor.putTail("");
      page.drafts.write(place, "");
    }
    if (isPart) page.acts.amend({ tail });
    if (isLate) return;
    this.tailThen = isPart ? "" : tail;
    editor.toEnd();
    editor.focus();
  }

  /** What was typed since a candidate was taken, before its text was drawn: it comes behind that.
   * @param {string} before what stood behind the text when it was taken */
  typedSince(before) {
    const { tail } = /** @type {BufferEditor} */ (this.editor);
    if (!this.place || tail === before || !tail.startsWith(before)) return "";
    this.page?.drafts.write(this.place, before);
    return tail.slice(before.length);
  }

  /** The page is about to be led elsewhere by itself: what is typed stays behind the text, and the caret in it.
   * @param {{from: import("../live/draft-storage.js").Place, to: import("../live/draft-storage.js").Place}} places */
  carried({ from, to }) {
    const { editor, page, place } = this;
    if (!editor || !page || !place || nameOf(from) !== nameOf(place)) return;
    if (this.typing) this.keep();
    if (!editor.tail) return;
    this.place = to;
    const there = page.drafts.of(to);
    if (there) editor.put(editor.ids.length, editor.tail + there);
  }

  /** @param {{isHeld?: boolean}} [how] isHeld: by undo or redo */
  moved({ isHeld = false } = {}) {
    if (!isHeld) this.turned = undefined;
    if (this.page?.isPast) return;
    const left = this.saving?.left("") ?? [];
    if (left.length) void this.saving?.leave(left, false);
    this.soon(0);
  }

  /** A text that could not be read is, once there is a connection. @param {string} state */
  stated(state) {
    if (state === "live" && this.shown !== this.page?.position) this.soon(0);
  }

  /** Changes the text while the lines that are read stay where they are. @param {() => void} change */
  still(change) {
    const view = /** @type {import("./loom-path.js").LoomPath | null} */ (this.closest("loom-path"))?.view;
    if (view && this.editor) view.keep(change);
    else change();
  }

  /** Shows the path again soon; many events make one change. @param {number} [wait] */
  soon(wait = SOON_MS) {
    clearTimeout(this.syncing);
    this.syncing = setTimeout(() => this.sync(), wait);
  }

  async sync() {
    const { editor, page, leaves } = this;
    // While the past is looked at, the text waits as it is.
    if (!editor || !page || !leaves || page.isPast || this.saving?.isBusy) return;
    // A letter that an input method is still making would be lost.
    if (editor.view.composing) return this.soon();
    if (this.typing) this.keep();
    const position = page.position;
    // A node of this page's own making: the event that tells its place is on its way.
    const isNew = page.store !== null && page.store.slotOf(position) === null;
    if (isNew && (this.tries = (this.tries ?? 0) + 1) < TRIES) return this.soon();
    this.tries = 0;
    const number = this.syncs.ask();
    // Once all that an act did is in the tree's shape, a later change of the text is not its.
    const turned = this.turned && this.turned.until <= page.events.seq ? this.turned : undefined;
    try {
      const now = await leaves.path(position);
      this.lacking = "";
      if (position !== page.position || this.saving?.isBusy || this.syncs.isPast(number)) return;
      // What was typed while the texts were on their way belongs to where it was typed.
      if (editor.view.composing) return this.soon();
      if (this.typing) this.keep();
      const place = placeAt(page, "buffer");
      const isElsewhere = !this.place || nameOf(place) !== nameOf(this.place);
      const from = this.place ? nameOf(this.place) : "";
      const typed = isElsewhere && this.tailThen !== undefined ? this.typedSince(this.tailThen) : "";
      this.tailThen = undefined;
      this.place = place;
      if (typed) page.drafts.write(place, page.drafts.of(place) + typed);
      const { head } = editor;
      const { stored, typed: since } = this.saving?.drawn(now) ?? { stored: new Set(), typed: [] };
      const turn = () =>
        editor.turn(from, nameOf(place), () => {
          editor.update(now, page.drafts.of(place), stored);
          this.restore();
        });
      const draw = () => {
        this.shown = position;
        for (const slot of stored) page.drafts.write({ slot, kind: "edit" }, "");
        if (isElsewhere) turn();
        else editor.update(now, null, stored);
        if (since.length) editor.typeOn(since, head);
        this.wheel?.show();
      };
      const before = this.turned ? editor.text : "";
      this.still(draw);
      if (this.turned) this.showTurned(before, head);
      if (turned && this.turned === turned) this.turned = undefined;
      if (isElsewhere) page.whereabouts.share(editor.tail);
      this.tell();
      this.writing?.soon();
      page.emit("text");
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.missed(position, error);
    }
  }

  /** The text of the position did not come: the older one stays, which is said once, and it is asked
   * for again. @param {string} position @param {Refused} error */
  missed(position, error) {
    if (!this.page || position !== this.page.position || !this.isConnected) return;
    // Without a connection the status line says so.
    const isNews = error.status !== 0 && this.shown !== position && this.lacking !== position;
    this.lacking = position;
    if (isNews) this.page.emit("refused", error);
    if (error.mayPass) this.soon(AGAIN_MS);
  }
}
