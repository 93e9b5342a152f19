// @ts-check
// A link from a node to a text of any tree, a document or a tree, which the form asks for by words or an id.

import { calledOf } from "./called.js";
import { call } from "../live/calls.js";
import { json, Refused } from "../live/api.js";
import { t } from "../t.js";
import { act } from "./actions.js";
import { make, openForm } from "./forms.js";
import { LinkPicker } from "./link-picker.js";

/** @typedef {{name: string, group: string, archived: boolean}} LinkType */

/** What the groups of types are called. @returns {Record<string, string>} */
const groupNames = () => ({
  structural: t("structural"),
  testing: t("testing"),
  specification: t("specification"),
  evidence: t("evidence"),
  temporal: t("temporal"),
  semantic: t("semantic"),
});

/** The types that the reader may give a link, by group. @param {LinkType[]} types */
export function menuOf(types) {
  /** @type {Map<string, HTMLElement>} */
  const groups = new Map();
  const names = groupNames();
  for (const { name, group, archived } of types) {
    if (archived) continue;
    if (!groups.has(group)) groups.set(group, make("optgroup", { label: names[group] ?? group }));
    groups.get(group)?.append(make("option", { value: name, textContent: name.replaceAll("_", " "), selected: name === "related" }));
  }
  return make("label", {}, t("Type"), " ", make("select", { name: "type" }, ...groups.values()));
}

/** The words of this node that are selected, on which the link will stand. @param {Element} host */
function wordsOf(host) {
  const selection = getSelection();
  const words = selection?.toString().trim() ?? "";
  const text = host.querySelector(":scope > .text");
  return words && words.length <= 2000 && !words.includes("\n") && text && selection?.anchorNode && text.contains(selection.anchorNode) ? words : "";
}

const NEAR = 4;

/** The texts around the node, as far as the page shows them: those above it first, the nearest first.
 * @param {string} id @returns {import("./link-picker.js").Target[]} */
function nearby(id) {
  const nodes = [...document.querySelectorAll("article.node[data-id]")];
  const own = nodes.findIndex((node) => node.getAttribute("data-id") === id);
  const around = [...nodes.slice(0, Math.max(own, 0)).reverse(), ...nodes.slice(own + 1)];
  const targets = around.map((node) => ({ ref: node.getAttribute("data-id") ?? "", kind: "here", words: wordsIn(node), soft: "" }));
  return targets.filter(({ words }) => words).slice(0, NEAR);
}

/** The first words of a node of the page. @param {Element} node */
function wordsIn(node) {
  return (node.querySelector(":scope > .text")?.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 120);
}

/** @param {HTMLFormElement} form @param {string} name */
const fieldOf = (form, name) => /** @type {HTMLInputElement | null} */ (form.elements.namedItem(name))?.value.trim() ?? "";

act("link", (what) => linkFrom(what));

/** Asks what a node is linked to, and links it. @param {{page: import("./page.js").TreePage, id: string, host: Element}} what
 * @param {string} [other] the id that was dragged there */
async function linkFrom({ page, id, host }, other = "") {
  const words = wordsOf(host);
  const shape = { label: t("What {text} is linked to", { text: calledOf(page, id) }), single: true, text: other, submit: t("Link"), hint: words ? t("On the words “{words}”", { words: words.slice(0, 60) }) : "" };
  const form = openForm(host, shape, async () => {
    const confidence = fieldOf(form, "confidence");
    const given = { source: id, target: await picker.ref(), type: fieldOf(form, "type"), note: fieldOf(form, "note"), on: words };
    return page.say(call("link", { ...given, confidence: confidence && Number(confidence) }), { quiet: true });
  });
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("text"));
  const picker = new LinkPicker(field, `${page.web}/targets`, () => nearby(id));
  const dragged = other && document.querySelector(`article.node[data-id="${CSS.escape(other)}"]`);
  if (dragged) picker.choose({ ref: other, kind: "here", words: wordsIn(dragged), soft: "" });
  else picker.typed();
  const { results } = await json(`/api/link-types?grove=${page.settings.grove}`);
  const note = make("label", {}, t("Note"), " ", make("input", { name: "note", maxLength: 2000 }));
  const sure = make("label", {}, t("Confidence"), " ", make("input", { name: "confidence", type: "number", min: "0", max: "1", step: "0.05", className: "short" }));
  form.querySelector(".inline-row")?.before(make("div", { className: "inline-row" }, menuOf(results), note, sure));
  form.scrollIntoView({ block: "nearest" });
}

// An item that is dragged onto another asks how the two are linked: by its id, or by words of its text,
// on which the link then stands.

const DRAGGED = "application/x-heddle-node";
const TAKES = "article.node[data-id]";

/** The text that an element is part of. @param {EventTarget | null} target */
function nodeOf(target) {
  const element = target instanceof Element ? target : target instanceof Node ? target.parentElement : null;
  return element?.closest(TAKES) ?? null;
}

/** @param {import("./page.js").TreePage} page @param {AbortSignal} signal */
export function listenForLinkDrags(page, signal) {
  const over = (/** @type {Element | null} */ now) => {
    for (const element of document.querySelectorAll(".taking-link")) if (element !== now) element.classList.remove("taking-link");
    now?.classList.add("taking-link");
  };
  document.addEventListener("dragstart", (event) => {
    const host = nodeOf(event.target);
    const isId = event.target instanceof Element && event.target.matches("a.id");
    if (!host || page.isPast || !(isId || wordsOf(host))) return;
    event.dataTransfer?.setData(DRAGGED, host.getAttribute("data-id") ?? "");
  }, { signal });
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes(DRAGGED)) return;
    const host = nodeOf(event.target);
    over(host);
    if (!host) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "link";
  }, { signal });
  document.addEventListener("dragend", () => over(null), { signal });
  document.addEventListener("drop", (event) => {
    const id = event.dataTransfer?.getData(DRAGGED) ?? "";
    const to = nodeOf(event.target)?.getAttribute("data-id");
    over(null);
    const host = document.querySelector(`article.node[data-id="${CSS.escape(id)}"]`);
    if (!id || !to || to === id || !host) return;
    event.preventDefault();
    void linkFrom({ page, id, host }, to).catch((error) => {
      if (!(error instanceof Refused)) throw error;
    });
  }, { signal });
}
