// @ts-check
// What a form writes with: a plain field, or for a long text (and for one that a plain field
// would change) the editor.

/** @typedef {{element: HTMLElement, read: () => string, write: (text: string) => void, caret: () => number, focus: () => void, onInput: (heard: () => void) => void}} Pen */

const LONG = 5000; // characters

/** A plain field as a pen. @param {HTMLTextAreaElement} field @returns {Pen} */
export function plainPen(field) {
  return {
    element: field,
    read: () => field.value,
    write: (text) => void (field.value = text),
    caret: () => field.selectionStart ?? 0,
    focus: () => field.focus(),
    onInput: (heard) => field.addEventListener("input", heard),
  };
}

/** The editor's module, which a page names but does not load before it is needed. */
export function editorModule() {
  return import(document.querySelector("loom-tree")?.getAttribute("data-editor") ?? "");
}

/** What the editor's own style sheet needs to be let in. */
export function styleNonce() {
  return document.querySelector("loom-tree")?.getAttribute("data-nonce") ?? "";
}

/** A pen for a text that a plain field is no good for; undefined where it is.
 * @param {string} text @param {string} label @param {boolean} [readOnly] @returns {Promise<Pen | undefined>} */
export async function longPen(text, label, readOnly = false) {
  // A textarea turns every CR into a line's end.
  if (text.length < LONG && !text.includes("\r")) return undefined;
  const { FieldEditor } = await editorModule();
  const element = Object.assign(document.createElement("div"), { className: "long-field" });
  let heard = () => {};
  const editor = new FieldEditor({ parent: element, nonce: styleNonce(), label, text, readOnly, changed: () => heard() });
  return {
    element,
    read: () => editor.value,
    write: (now) => void (editor.value = now),
    caret: () => editor.caret,
    focus: () => editor.focus(),
    onInput: (next) => void (heard = next),
  };
}
