// @ts-check
// Which annotations are questions to the reader.

/** Whether a node is a question that begins with an @ and the reader's name.
 * @param {{kind: string, form: string, text?: string}} node @param {string} name */
export function isAsked({ kind, form, text = "" }, name) {
  const begin = `@${name}`.toLowerCase();
  return kind === "annotation" && form === "question" && Boolean(name) && text.toLowerCase().startsWith(begin) && !/^[\p{L}\p{N}]/u.test(text.slice(begin.length));
}
