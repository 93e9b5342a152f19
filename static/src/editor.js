// @ts-check
// The editor's entry: asked for by pages that need it, once their text can be read.

export { BufferEditor } from "./js/editor/open.js";
export { FieldEditor } from "./js/editor/field.js";
