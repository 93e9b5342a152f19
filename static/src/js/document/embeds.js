// @ts-check
// What a document embeds, drawn below the line that names it. The server draws it, for who looks.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, WidgetType } from "@codemirror/view";
import { part } from "../live/api.js";

const EMBED = /!\[\[([^[\]\n]{1,300})\]\]/g;
const MOST = 100;
const refresh = /** @type {import("@codemirror/state").StateEffectType<number>} */ (StateEffect.define());

class Embed extends WidgetType {
  /** @param {string} address @param {string} ref @param {number} round */
  constructor(address, ref, round) {
    super();
    this.address = address;
    this.ref = ref;
    this.round = round;
  }

  /** @param {Embed} other */
  eq(other) {
    return other.ref === this.ref && other.round === this.round;
  }

  /** @param {EditorView} view */
  toDOM(view) {
    const place = Object.assign(document.createElement("div"), { className: "embed-place" });
    part(`${this.address}?ref=${encodeURIComponent(this.ref)}`)
      .then((html) => {
        place.innerHTML = html;
        view.requestMeasure();
      })
      .catch(() => {});
    return place;
  }

  ignoreEvent() {
    return true;
  }
}

/** @param {import("@codemirror/state").EditorState} state @param {string} address @param {number} round */
function drawn(state, address, round) {
  const widgets = [];
  for (const match of state.doc.toString().matchAll(EMBED)) {
    if (widgets.length >= MOST) break;
    const at = state.doc.lineAt(match.index).to;
    widgets.push(Decoration.widget({ block: true, side: 1, widget: new Embed(address, match[1].trim(), round) }).range(at));
  }
  return Decoration.set(widgets, true);
}

/** The extension, and a function that draws all embeds again. @param {string} address */
export function embeds(address) {
  let round = 0;
  const field = StateField.define({
    create: (state) => drawn(state, address, round),
    update: (now, { docChanged, startState, state, effects, changes }) => {
      if (effects.some((effect) => effect.is(refresh))) return drawn(state, address, round);
      if (!docChanged) return now;
      const touched = `${startState.doc}`.includes("![[") || `${state.doc}`.includes("![[");
      return touched ? drawn(state, address, round) : now.map(changes);
    },
    provide: (state) => EditorView.decorations.from(state),
  });
  return {
    extension: field,
    /** @param {EditorView} view */
    again(view) {
      round += 1;
      view.dispatch({ effects: refresh.of(round) });
    },
  };
}
