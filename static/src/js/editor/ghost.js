// @ts-check
// The ghost: what a chosen candidate would add, shown behind the text and taken with a key.

import { Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, ViewPlugin, WidgetType } from "@codemirror/view";
import { nextWord } from "./runs.js";

/** @typedef {{text: string, colour: number}} Ghost */
/** @typedef {{take: () => void, pick: (step: number) => void, isComing: () => boolean, still: (change: () => void) => void}} Wheel */

/** @type {import("@codemirror/state").StateEffectType<Ghost | null>} */
export const haunt = StateEffect.define();

class GhostText extends WidgetType {
  /** @param {Ghost} ghost */
  constructor({ text, colour }) {
    super();
    this.text = text;
    this.colour = colour;
  }

  /** @param {GhostText} other */
  eq(other) {
    return other.text === this.text && other.colour === this.colour;
  }

  toDOM() {
    const span = document.createElement("span");
    span.className = "ghost";
    span.dataset.who = String(this.colour);
    span.textContent = this.text;
    // The list below says the same to those who hear it.
    span.setAttribute("aria-hidden", "true");
    return span;
  }

  ignoreEvent() {
    return false;
  }
}

/** @type {StateField<Ghost | null>} */
export const ghost = StateField.define({
  create: () => /** @type {Ghost | null} */ (null),
  update(value, change) {
    for (const effect of change.effects) if (effect.is(haunt)) return effect.value;
    return value;
  },
  provide: (field) =>
    EditorView.decorations.compute([field, "doc"], (state) => {
      const now = state.field(field);
      if (!now?.text) return Decoration.none;
      return Decoration.set(Decoration.widget({ widget: new GhostText(now), side: 1 }).range(state.doc.length));
    }),
});

/** The ghost, if the caret is at it: only there do its keys work. @param {EditorView} view */
export function reached(view) {
  const { main } = view.state.selection;
  const now = view.state.field(ghost);
  return now?.text && main.empty && main.head === view.state.doc.length ? now : null;
}

const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph"]);

/** Whether Tab is to take the ghost: not where Tab itself led into the text or has just taken one, so that who walks
 * through the page by Tab walks on. Any other key, or a press of the pointer, makes it take again. */
class TabTakes {
  /** @param {EditorView} view */
  constructor(view) {
    this.takes = true;
    this.isTabbing = false;
    this.ended = new AbortController();
    const options = { capture: true, signal: this.ended.signal };
    const { ownerDocument } = view.dom;
    ownerDocument.addEventListener(
      "keydown",
      ({ key }) => {
        this.isTabbing = key === "Tab";
        if (!this.isTabbing && !MODIFIERS.has(key)) this.takes = true;
      },
      options,
    );
    ownerDocument.addEventListener("keyup", () => void (this.isTabbing = false), options);
    ownerDocument.addEventListener("pointerdown", () => void (this.takes = true), options);
    view.contentDOM.addEventListener("focus", () => this.isTabbing && (this.takes = false), options);
  }

  destroy() {
    this.ended.abort();
  }
}

const tabTakes = ViewPlugin.fromClass(TabTakes);

/** Takes the ghost by Tab, or lets Tab leave the text. @param {Wheel["take"]} take */
const byTab = (take) => (/** @type {EditorView} */ view) => {
  const tab = view.plugin(tabTakes);
  if (!reached(view) || !tab?.takes) return false;
  tab.takes = false;
  take();
  return true;
};

/** The keys at a ghost. @param {Wheel} wheel */
export function ghostKeys({ take, pick, isComing, still }) {
  const at = (/** @type {(view: EditorView, ghost: Ghost) => void} */ run) => (/** @type {EditorView} */ view) => {
    const now = reached(view);
    if (now) run(view, now);
    return now !== null;
  };
  const hide = at((view) => still(() => view.dispatch({ effects: haunt.of(null) })));
  const takeWord = at((view, now) => {
    const word = nextWord(now.text);
    const end = view.state.doc.length;
    view.dispatch({ changes: { from: end, insert: word }, selection: { anchor: end + word.length }, userEvent: "input.complete", scrollIntoView: true });
  });
  const keys = Prec.high(
    keymap.of([
      { key: "Tab", run: byTab(take) },
      { key: "Ctrl-ArrowRight", mac: "Alt-ArrowRight", run: takeWord },
      { key: "Alt-ArrowDown", mac: "Ctrl-Alt-ArrowDown", run: at(() => pick(1)) },
      { key: "Alt-ArrowUp", mac: "Ctrl-Alt-ArrowUp", run: at(() => pick(-1)) },
      { key: "ArrowDown", run: at(() => pick(1)) },
      // While something is coming, this key stops it, as everywhere on the page.
      { key: "Escape", run: (view) => !isComing() && hide(view) },
    ]),
  );
  return [keys, tabTakes];
}
