// @ts-check
// What is sent to be run: a line that somebody typed, or a command by its name with its arguments.
// Code never builds a line by joining strings (docs/commands.md shows the names and arguments).

/** @typedef {{command: string, args: Record<string, any>}} Call a command by name */
/** @typedef {string | Call} Said a typed line, or a command by name */

/** A command by name; arguments without a value are left out.
 * @param {string} command @param {Record<string, any>} [args] @returns {Call} */
export function call(command, args = {}) {
  const given = Object.entries(args).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return { command, args: Object.fromEntries(given) };
}

/** What a request carries of it. @param {Said} said */
export function asBody(said) {
  return typeof said === "string" ? { line: said } : { command: said.command, args: said.args };
}

/** Makes a button run a command when it is pressed. @param {HTMLElement} button @param {Call} what */
export function putCall(button, what) {
  button.dataset.call = JSON.stringify(what);
}

/** The command that an element runs when it is pressed; null where it runs none.
 * @param {Element} element @returns {Call | null} */
export function callOf(element) {
  const kept = element.getAttribute("data-call");
  return kept ? JSON.parse(kept) : null;
}

/** The verb of a canonical line. @param {string} canonical */
export function verbOf(canonical) {
  return canonical.replace(/^→\s*/, "").split(/\s/)[0];
}
