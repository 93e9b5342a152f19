// @ts-check
// A document: its editor, which several write in at once, and how it reads.

import { standardKeymap } from "@codemirror/commands";
import { Compartment, EditorSelection, EditorState } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { yCollab, yUndoManagerKeymap } from "y-codemirror.next";
import { UndoManager } from "yjs";
import { authors, Writers } from "../document/authors.js";
import { carets, whoIs } from "../document/carets.js";
import { CheckBadge } from "../document/check-badge.js";
import { embedPicker } from "../document/embed-picker.js";
import { embeds } from "../document/embeds.js";
import { DocumentRoom } from "../document/room.js";
import { commentHere, commenting } from "../document/commenting.js";
import { DocumentEvidence } from "../document/evidence.js";
import { readBox, readWords } from "../document/reading.js";
import { DocumentTasks } from "../document/tasks.js";
import { reread, runner, suggesting } from "../document/suggesting.js";
import { Dropped } from "../editor/dropped.js";
import { storable } from "../editor/pasting.js";
import { wordsBar } from "../editor/words-bar.js";
import { directions, styling } from "../editor/styling.js";
import { Newest, part } from "../live/api.js";
import { call } from "../live/calls.js";
import { followReader } from "../live/kept-trees.js";
import { takeImages } from "../tree/images.js";
import { signInLink } from "../tree/signed-out.js";
import { t, tn } from "../t.js";

const LOOK = EditorView.theme({
  "&": { background: "none", color: "inherit" },
  "&.cm-focused": { outline: "none" },
  "& .cm-scroller": { font: "inherit", lineHeight: "inherit", overflow: "visible" },
  "& .cm-content": { padding: "0.2rem 0 8rem", caretColor: "var(--ink)" },
  "& .cm-line": { padding: "0" },
});
const COLOURS = "heddle:document-colours"; // in this browser: "off" where nobody wants to see who wrote what
const UNBROKEN = 50_000; // characters of one line, above which nothing is styled

// The keys of y-codemirror change a text also where nobody may write any more.
const UNDO = yUndoManagerKeymap.map(({ run, ...binding }) => ({ ...binding, run: (/** @type {EditorView} */ view) => view.state.readOnly || Boolean(run?.(view)) }));

export class LoomDocument extends HTMLElement {
  reads = new Newest();
  drawn = ""; // the markup that was read last
  chosen = ""; // how it is shown, as somebody has chosen, maybe before it has come
  isSignedOut = false; // whether the person has signed out in another tab
  writing = new Compartment();

  connectedCallback() {
    this.room = new DocumentRoom(this.dataset.document ?? "", { me: this.dataset.me });
    /** @type {import("../document/carets.js").Cast} */
    this.cast = JSON.parse(this.dataset.cast ?? "{}");
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.room.addEventListener("state", (event) => this.tell(/** @type {CustomEvent} */ (event).detail), { signal });
    this.room.addEventListener("stored", () => this.tell({ state: this.room?.state ?? "live", code: 0 }), { signal });
    this.room.addEventListener("synced", () => this.show(), { signal, once: true });
    this.room.awareness.on("change", () => this.drawHere());
    for (const button of this.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.turn((this.chosen = button.getAttribute("data-view") ?? "read")), { signal });
    }
    this.querySelector("[data-authors]")?.addEventListener("click", () => this.toggleColours(), { signal });
    const badge = /** @type {HTMLElement | null} */ (this.querySelector("[data-checks]"));
    const citesIn = this.querySelector("[data-cites-in]")?.getAttribute("data-cites-in");
    if (citesIn) this.evidence = new DocumentEvidence(this.room.id, citesIn, () => this.view, signal);
    if (badge) {
      const say = (/** @type {string} */ words) => this.say(words);
      const read = /** @type {HTMLElement} */ (this.querySelector("[data-read]"));
      const tasks = new DocumentTasks(this.room.id, { read, mayWrite: this.mayWrite, say, signal });
      new CheckBadge(badge, { id: this.room.id, tree: this.dataset.tree ?? "" }, say, signal, (event) => tasks.heard(event));
    }
    followReader({ none: () => this.signOut(), same: () => this.signIn(), other: () => location.reload() }, signal);
    this.room.start();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.room?.stop();
    this.view?.destroy();
  }

  get mayWrite() {
    return "mayWrite" in this.dataset;
  }

  /** Whether what is typed now could be stored as this person's. */
  get mayType() {
    return this.mayWrite && !this.isSignedOut && this.room?.state !== "gone";
  }

  /** What the editor allows now. */
  allowed() {
    return [
      EditorState.readOnly.of(!this.mayType),
      // Who may only comment selects words, by keys as well.
      EditorView.editable.of(this.mayType || (!this.mayWrite && Boolean(this.dataset.annotatesIn))),
    ];
  }

  /** The person has signed out in another tab: nobody types here any more as if they were still there. */
  signOut() {
    this.isSignedOut = true;
    this.tell({ state: "gone", code: 4401 });
  }

  /** The person is signed in again: the page goes on. */
  signIn() {
    const { room } = this;
    if (!room || !(this.isSignedOut || room.code === 4401)) return;
    this.isSignedOut = false;
    room.resume();
    this.tell({ state: room.state, code: 0 });
  }

  /** The document has come: the editor opens. */
  show() {
    const { room } = this;
    const place = /** @type {HTMLElement} */ (this.querySelector("[data-editor]"));
    if (!room || this.view) return;
    this.writers = new Writers(room, this.cast ?? {});
    this.embeds = embeds(`/documents/${room.id}/embed`);
    const isUnbroken = room.text.toString().split("\n").some((line) => line.length > UNBROKEN);
    const state = EditorState.create({
      doc: room.text.toString(),
      extensions: [
        EditorState.lineSeparator.of("\n"),
        this.writing.of(this.allowed()),
        EditorView.cspNonce.of(this.dataset.nonce ?? ""),
        EditorView.lineWrapping,
        directions,
        EditorView.clipboardInputFilter.of(storable),
        EditorView.contentAttributes.of({ "aria-label": this.dataset.label ?? "", spellcheck: "true", autocapitalize: "sentences" }),
        placeholder(this.mayWrite ? t("Write here. ![[ puts a text of a tree into the document.") : t("Nothing is written here yet.")),
        LOOK,
        isUnbroken ? [] : styling,
        this.embeds.extension,
        this.mayWrite && this.dataset.tree ? embedPicker(this.dataset.tree) : [],
        yCollab(room.text, null, { undoManager: new UndoManager(room.text) }),
        carets(room, this.cast ?? {}),
        authors(room, this.writers, () => this.isColoured, (shares) => this.tellAuthors(shares)),
        this.talk(room.id),
        this.evidence ? this.evidence.extension : [],
        keymap.of([...UNDO, ...standardKeymap]),
        EditorView.updateListener.of(({ docChanged }) => docChanged && this.count()),
      ],
    });
    const view = new EditorView({ state, parent: place });
    this.view = view;
    const { tree } = this.dataset;
    const dropped = new Dropped();
    if (this.mayWrite && tree && this.stop) takeImages(place, `/api/trees/${tree}`, (text, event) => dropped.put(view, text, event), (words) => this.say(words), this.stop.signal);
    room.awareness.setLocalStateField("cursor", null);
    this.turn(this.chosen || (this.mayWrite ? "write" : "read"));
    this.dataset.ready = "";
    // Who opens an empty one wants to write; who is somewhere else on the page is left there.
    const isElsewhere = document.activeElement && !document.activeElement.contains(this);
    if (this.mayWrite && !this.chosen && !room.text.length && !isElsewhere) this.view.focus();
  }

  /** Suggestions and comments at their words, where the page lists them. @param {string} id of the document */
  talk(id) {
    const { tree = "", annotatesIn: comments = "", talk: address = "" } = this.dataset;
    const signal = this.stop?.signal;
    if (!address || !signal) return [];
    const say = (/** @type {string} */ words) => this.say(words);
    const run = runner(address, say);
    const read = /** @type {HTMLElement} */ (this.querySelector("[data-read]"));
    if (comments) wordsBar().add({ of: read, group: t("Notes and links"), order: 1, words: t("Comment"), offers: () => readBox(read), act: () => this.commentOn(read) }, signal);
    this.room?.addEventListener("noted", () => this.view && void reread(this.view, address));
    return [
      suggesting(this, { id, tree, address, mayWrite: this.mayWrite, say, signal }),
      commenting(this, id, comments, (view, where, command, given, stored) => run(view, where, call(command, given), stored), signal),
    ];
  }

  /** A comment on words that are selected where the document is read is written at these words of its text.
   * @param {HTMLElement} read */
  commentOn(read) {
    const { view } = this;
    const place = view && readWords(read, view.state.doc.toString());
    if (!place) return;
    this.turn("write");
    view.dispatch({ selection: EditorSelection.single(place.from, place.to), effects: EditorView.scrollIntoView(place.from, { y: "center" }) });
    commentHere(view);
  }

  get isColoured() {
    return localStorage.getItem(COLOURS) !== "off";
  }

  /** Shows who wrote what, or one text. */
  toggleColours() {
    localStorage.setItem(COLOURS, this.isColoured ? "off" : "on");
    this.writers?.dispatchEvent(new Event("known"));
  }

  /** Names those who wrote, most first, in their colours; nobody where one has written all. @param {[string, number][]} shares */
  tellAuthors(shares) {
    const place = /** @type {HTMLElement | null} */ (this.querySelector("[data-shares]"));
    const button = /** @type {HTMLElement | null} */ (this.querySelector("[data-authors]"));
    if (!place || !button) return;
    const isShared = shares.length > 1;
    const all = shares.reduce((sum, [, length]) => sum + length, 0);
    button.hidden = !isShared;
    button.setAttribute("aria-pressed", String(this.isColoured));
    place.hidden = !isShared || !this.isColoured;
    place.replaceChildren(
      ...shares.map(([id, length]) => {
        const { name, colour } = whoIs({ id }, this.cast ?? {});
        const item = Object.assign(document.createElement("li"), { textContent: `${name} ${Math.max(1, Math.round((100 * length) / all))} %` });
        item.dataset.who = String(colour);
        return item;
      }),
    );
  }

  /** Shows one of the two ways. @param {string} way */
  turn(way) {
    const [editor, read] = ["[data-editor]", "[data-read]"].map((selector) => /** @type {HTMLElement} */ (this.querySelector(selector)));
    wordsBar().hide(); // it is of words that are no longer seen
    editor.hidden = way !== "write";
    read.hidden = way === "write";
    for (const button of this.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", String(button.getAttribute("data-view") === way));
    if (way === "write") {
      this.view?.requestMeasure();
      if (this.view) this.embeds?.again(this.view);
    } else if (this.view) void this.read(read);
  }

  /** Draws the text as it reads, as its newest revision has it. @param {HTMLElement} place */
  async read(place) {
    const number = this.reads.ask();
    try {
      const markup = await part(`/documents/${this.room?.id}/drawn`);
      if (this.reads.isPast(number) || markup === this.drawn) return; // opened portals stay
      place.innerHTML = markup;
      this.drawn = markup;
    } catch {
      // what was drawn before stays
    }
  }

  count() {
    clearTimeout(this.counting);
    this.counting = setTimeout(() => {
      const words = (this.room?.text.toString().match(/\S+/g) ?? []).length;
      const place = this.querySelector("[data-words]");
      if (place) place.textContent = tn("{n} word", "{n} words", words);
      const age = this.querySelector("[data-age]");
      if (age) age.textContent = t("now");
    }, 400);
  }

  /** @param {{state: string, code: number}} said */
  tell({ state, code }) {
    if (this.view && this.view.state.readOnly === this.mayType) this.view.dispatch({ effects: this.writing.reconfigure(this.allowed()) });
    const place = /** @type {HTMLElement | null} */ (this.querySelector("[data-state]"));
    if (!place) return;
    if (this.isSignedOut || (state === "gone" && code === 4401)) {
      this.dataset.live = "gone";
      place.replaceChildren(t("You are signed out. What you typed is kept."), " ", signInLink());
      return;
    }
    this.dataset.live = state;
    const late = this.room?.late ? t("Not stored yet: the server cannot save at the moment. Keep this page open.") : "";
    const offline = this.room?.full ? t("Offline: what you write is sent later. This browser has no room to keep it, so keep this page open.") : t("Offline: what you write is kept and sent later.");
    const words = { live: late, connecting: "", offline, gone: this.refusal(code) };
    place.textContent = words[/** @type {keyof typeof words} */ (state)] ?? "";
  }

  /** @param {string} words that a command was refused with */
  say(words) {
    const place = this.querySelector("[data-state]");
    if (place) place.textContent = words;
  }

  /** Why the server takes nothing any more. @param {number} code */
  refusal(code) {
    if (code === 1009 || code === 4413) return t("Too large: a document has at most 4 MiB, and your last changes are not stored. Copy your text, reload the page and write less, or begin another document.");
    if (code === 4400 || code === 4409) return t("The server refused your changes. Copy your text and reload the page.");
    return t("You can no longer write here. Reload the page.");
  }

  /** Who else is in the document. */
  drawHere() {
    const place = this.querySelector("[data-here]");
    if (!place || !this.room) return;
    /** @type {Map<string, {name: string, colour: number}>} */
    const here = new Map();
    for (const [client, { user }] of this.room.awareness.getStates()) {
      if (client !== this.room.doc.clientID && user && user.id !== this.dataset.me) here.set(user.id, whoIs(user, this.cast ?? {}));
    }
    place.replaceChildren(
      ...[...here.values()].map(({ name, colour }) => {
        const element = Object.assign(document.createElement("span"), { textContent: name });
        element.dataset.who = String(colour);
        return element;
      }),
    );
  }
}
