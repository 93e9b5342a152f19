// @ts-check
// Which annotations are for the reader, and which name an agent.

const LETTER = /[\p{L}\p{N}_]/u;

/** Whether a node is a question that begins with an @ and the reader's name.
 * @param {{kind: string, form: string, text?: string}} node @param {string} name */
export function isAsked({ kind, form, text = "" }, name) {
  const begin = `@${name}`.toLowerCase();
  return kind === "annotation" && form === "question" && Boolean(name) && text.toLowerCase().startsWith(begin) && !/^[\p{L}\p{N}]/u.test(text.slice(begin.length));
}

/** Which of the names follow an @ in a text, as whole words and in any case; of names that begin
 * alike the longer one. @param {string} text @param {string[]} names */
export function namesIn(text, names) {
  let rest = text.toLowerCase();
  const named = [];
  for (const name of [...names].sort((first, other) => other.length - first.length)) {
    const wanted = `@${name.toLowerCase()}`;
    let isThere = false;
    for (let at = rest.indexOf(wanted); name && at >= 0; at = rest.indexOf(wanted, at + 1)) {
      const [before, behind] = [rest[at - 1] ?? "", rest[at + wanted.length] ?? ""];
      if (LETTER.test(before) || before === "@" || LETTER.test(behind)) continue;
      isThere = true;
      rest = rest.slice(0, at) + " ".repeat(wanted.length) + rest.slice(at + wanted.length);
    }
    if (isThere) named.push(name);
  }
  return named;
}
