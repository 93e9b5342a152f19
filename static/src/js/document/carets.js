// @ts-check
// The carets and selections of others in a document, and one's own for them. Colours are classes
// of the page: its style sheet is the only one that is let in.

import { Annotation, RangeSet } from "@codemirror/state";
import { Decoration, ViewPlugin, WidgetType } from "@codemirror/view";
import * as Y from "yjs";

/** @typedef {import("./room.js").DocumentRoom} DocumentRoom */
/** @typedef {import("@codemirror/view").EditorView} EditorView */
/** @typedef {Record<string, [number, string]>} Cast */

const moved = /** @type {import("@codemirror/state").AnnotationType<boolean>} */ (Annotation.define());

class Caret extends WidgetType {
  /** @param {string} name @param {number} colour */
  constructor(name, colour) {
    super();
    this.name = name;
    this.colour = colour;
  }

  /** @param {Caret} other */
  eq(other) {
    return other.name === this.name && other.colour === this.colour;
  }

  toDOM() {
    const caret = Object.assign(document.createElement("span"), { className: "other-caret" });
    caret.dataset.who = String(this.colour);
    caret.append(Object.assign(document.createElement("span"), { className: "other-caret-name", textContent: this.name }));
    caret.setAttribute("aria-hidden", "true");
    return caret;
  }

  ignoreEvent() {
    return true;
  }
}

/** Who a client is: the name from their login, and the colour that the page knows them by.
 * @param {any} user @param {Cast} cast */
export function whoIs(user, cast) {
  const known = cast[user?.id];
  return { name: String(known?.[1] ?? user?.name ?? "?"), colour: Number(known?.[0] ?? 0) };
}

/** @param {DocumentRoom} room @param {EditorView} view @param {Cast} cast */
function drawn(room, view, cast) {
  const marks = [];
  for (const [client, state] of room.awareness.getStates()) {
    if (client === room.doc.clientID || !state.cursor?.head) continue;
    const [anchor, head] = [state.cursor.anchor, state.cursor.head].map((place) => {
      try {
        return Y.createAbsolutePositionFromRelativePosition(Y.createRelativePositionFromJSON(place), room.doc);
      } catch {
        return null;
      }
    });
    if (!anchor || !head || anchor.type !== room.text || head.type !== room.text) continue;
    const most = view.state.doc.length;
    const [from, to] = [Math.min(anchor.index, head.index, most), Math.min(Math.max(anchor.index, head.index), most)];
    const { name, colour } = whoIs(state.user, cast);
    if (to > from) marks.push(Decoration.mark({ class: "other-range", attributes: { "data-who": String(colour) } }).range(from, to));
    const at = Math.min(head.index, most);
    marks.push(Decoration.widget({ side: head.index > anchor.index ? -1 : 1, widget: new Caret(name, colour) }).range(at));
  }
  return RangeSet.of(marks, true);
}

/** @param {DocumentRoom} room @param {Cast} cast */
export function carets(room, cast) {
  return ViewPlugin.fromClass(
    class {
      /** @param {EditorView} view */
      constructor(view) {
        this.marks = drawn(room, view, cast);
        /** @param {Record<string, number[]>} changed */
        this.heard = (changed) => {
          if (Object.values(changed).flat().some((id) => id !== room.doc.clientID)) view.dispatch({ annotations: [moved.of(true)] });
        };
        room.awareness.on("change", this.heard);
      }

      destroy() {
        room.awareness.off("change", this.heard);
      }

      /** @param {import("@codemirror/view").ViewUpdate} update */
      update({ view, state, docChanged, selectionSet, focusChanged, transactions }) {
        if (selectionSet || docChanged || focusChanged) this.say(view, state.selection.main);
        if (docChanged || transactions.some((transaction) => transaction.annotation(moved))) this.marks = drawn(room, view, cast);
      }

      /** Says where one's own caret is. @param {EditorView} view @param {import("@codemirror/state").SelectionRange} selection */
      say(view, { anchor, head }) {
        if (!view.hasFocus) return;
        const cursor = { anchor: Y.createRelativePositionFromTypeIndex(room.text, anchor), head: Y.createRelativePositionFromTypeIndex(room.text, head) };
        const now = room.awareness.getLocalState()?.cursor;
        if (now && Y.compareRelativePositions(now.anchor, cursor.anchor) && Y.compareRelativePositions(now.head, cursor.head)) return;
        room.awareness.setLocalStateField("cursor", cursor);
      }
    },
    { decorations: (plugin) => plugin.marks },
  );
}
