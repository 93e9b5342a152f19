// @ts-check
// Where a text goes that stands for something that was dropped or pasted: an image.

/** @typedef {import("@codemirror/view").EditorView} EditorView */

export class Dropped {
  /** @type {Event | null} the last one: of several files of it, the others come behind the first */
  last = null;

  /** Puts a text on lines of its own, where it was dropped, else where the caret is.
   * @param {EditorView} view @param {string} text @param {Event} event */
  put(view, text, event) {
    if (view.state.readOnly) return;
    const isFirst = event instanceof DragEvent && event !== this.last;
    const over = isFirst ? view.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
    this.last = event;
    const { from, to } = over === null ? view.state.selection.main : { from: over, to: over };
    const gap = from && view.state.sliceDoc(from - 1, from) !== "\n" ? "\n" : "";
    const insert = `${gap}${text}\n`;
    view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, userEvent: "input.drop" });
  }
}
