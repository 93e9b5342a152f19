// @ts-check
// What a workspace holds beside its windows, as rows: what it takes, tasks, augments, the last
// actions, and arrangements of windows that the reader keeps.

import { call, putCall } from "../live/calls.js";
import { sectionNames } from "./context-view.js";
import { make } from "./forms.js";
import { language, t, tn } from "../t.js";
import { didText } from "./status-text.js";

/** @typedef {{ref: string, state: string, text: string, notes: string[]}} Task */
/** @typedef {{name: string, loaded: boolean, chosen: boolean, pinned: boolean, requires: string[], missing: string[], required_by: string[]}} Augment */
/** @typedef {{steps: number, budget: string, tokens: number, sections: Record<string, number>}} Status */
/** @typedef {{seq: number, status: Status, tasks: Task[], scratchpad: string, augments: Augment[], notifications: {text: string}[]}} Body */
/** @typedef {{seq: number, line: string, canonical: string, outcome: string, loop_status: string, message: string, open: boolean}} Step */
/** @typedef {{id: string, name: string, body: {lines: string[]}}} Arrangement */

const ORDER = ["WINDOWS", "AUGMENTS", "OUTLINE", "TODOS", "SCRATCHPAD"];

/** How much of what a workspace sends is in each section. @param {Status} status */
export const sizeRows = (status) => ORDER.map((name) => sizeRow(name, status.sections[name] ?? 0, status.tokens));

/** @param {string} name @param {number} tokens @param {number} all */
function sizeRow(name, tokens, all) {
  const row = make("li", {}, make("span", { textContent: sectionNames()[name] ?? name }), make("span", { className: "size", textContent: tn("{n} token", "{n} tokens", tokens, { n: tokens.toLocaleString(language()) }) }));
  row.style.setProperty("--share", `${all ? Math.round((100 * tokens) / all) : 0}%`);
  return row;
}

/** One action as a person says it, with its exact line where one points; and why it was not done. @param {Step} step */
export function stepRow(step) {
  const isOk = step.outcome === "ok";
  const line = (step.canonical || step.line).split("\n")[0];
  const plain = step.open ? didText(step.canonical || step.line) : t("(not visible to you)");
  const row = make("li", { className: isOk ? "" : "bad" }, make("span", { className: plain ? "line said" : "line", dir: "auto", textContent: plain || line, title: step.open ? `${step.seq} ${line}` : "" }));
  if (!isOk) row.append(make("span", { className: "refused", title: step.outcome, textContent: step.message ? t("not done: {why}", { why: step.message.split("\n")[0] }) : t("not done") }));
  if (step.loop_status !== "ok") row.append(make("span", { className: "chip loop", textContent: t("repeats") }));
  return row;
}

/** @param {string} words @param {import("../live/calls.js").Call} what @param {Record<string, any>} [values] */
function button(words, what, values = {}) {
  const element = make("button", { type: "button", className: "quiet", textContent: words, ...values });
  putCall(element, what);
  element.dataset.key = JSON.stringify(what);
  return element;
}

/** A task with its box and its notes. @param {Task} task @param {boolean} mayAct whether the reader may change it */
export function taskRow({ ref, state, text, notes }, mayAct) {
  const isOver = state === "archived";
  const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", checked: state !== "unchecked", disabled: isOver || !mayAct }));
  putCall(box, call("todo_change", { to: "toggle", tasks: [ref] }));
  box.dataset.key = `task ${ref}`;
  const words = make("span", { dir: "auto", textContent: text });
  const row = make("li", { className: state }, make("label", {}, box, words), ...notes.map((note) => make("span", { className: "soft note-of", dir: "auto", textContent: note })));
  if (mayAct && !isOver) row.append(button(t("Remove"), call("todo_change", { to: "remove", tasks: [ref] }), { ariaLabel: t("Remove the task “{text}”", { text }) }));
  return row;
}

/** An augment, what it needs, and what may be done with it. @param {Augment} augment @param {boolean} mayAct whether the reader may change it */
export function augmentRow(augment, mayAct) {
  const marks = [augment.pinned ? t("pinned") : augment.loaded ? t("loaded") : "", augment.requires.length ? t("requires {names}", { names: augment.requires.join(", ") }) : "", augment.required_by.length ? t("needed by {names}", { names: augment.required_by.join(", ") }) : "", augment.missing.length ? t("missing: {names}", { names: augment.missing.join(", ") }) : ""];
  const row = make("li", {}, make("b", { textContent: augment.name }), " ", make("span", { className: "soft", textContent: marks.filter(Boolean).join(" · ") }));
  if (!mayAct) return row;
  const name = augment.name;
  const changed = (/** @type {string} */ to) => call("augment_change", { to, patterns: [name] });
  const load = augment.chosen ? button(t("Unload"), changed("unload"), { ariaLabel: t("Unload {name}", { name }) }) : button(t("Load"), changed("load"), { ariaLabel: t("Load {name}", { name }) });
  const pin = augment.pinned ? button(t("Unpin"), changed("unpin"), { ariaLabel: t("Unpin {name}", { name }) }) : button(t("Pin"), changed("pin"), { ariaLabel: t("Pin {name}", { name }) });
  for (const [key, element] of [["load", load], ["pin", pin]]) /** @type {HTMLElement} */ (element).dataset.key = `${key} ${name}`;
  const isNeeded = augment.loaded && !augment.chosen; // what others require is loaded already
  row.append(make("span", { className: "window-do" }, ...(isNeeded ? [pin] : [load, pin])));
  return row;
}

/** Windows that are kept under a name. @param {Arrangement} arrangement
 * @param {(action: string, row: HTMLElement) => void} onAct is called with what was pressed: open, rename or remove */
export function arrangementRow(arrangement, onAct) {
  const many = arrangement.body.lines.length;
  const row = make("li", {}, make("b", { dir: "auto", textContent: arrangement.name }), " ", make("span", { className: "soft", textContent: tn("{n} window", "{n} windows", many) }));
  const actions = ["open", "rename", "remove"];
  const words = [t("Open"), t("Rename"), t("Delete")];
  const labels = [t("Open the arrangement {name}", { name: arrangement.name }), t("Rename the arrangement {name}", { name: arrangement.name }), t("Delete the arrangement {name}", { name: arrangement.name })];
  const buttons = actions.map((action, at) => {
    const element = make("button", { type: "button", className: "quiet", textContent: words[at], ariaLabel: labels[at] });
    element.dataset.key = `${action} ${arrangement.id}`;
    element.addEventListener("click", () => onAct(action, row));
    return element;
  });
  row.append(make("span", { className: "window-do" }, ...buttons));
  return row;
}
