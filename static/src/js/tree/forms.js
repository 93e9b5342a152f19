// @ts-check
// Small forms that open where they are needed and close with Escape.

import { giveBack } from "../focus.js";
import { t } from "../t.js";
import { plainPen } from "./editor-loader.js";
import { Refused, told } from "../live/api.js";

/**
 * @typedef {{label: string, text?: string, rows?: number, single?: boolean, readOnly?: boolean,
 *   choices?: {value: string, words: string}[], chosen?: string, choicesLabel?: string,
 *   submit: string, small?: boolean, hint?: string, required?: string, draft?: Kept, pen?: import("./editor-loader.js").Pen}} Shape
 * `required`: what the form says if its field is left empty; none: it may be.
 * @typedef {{read: () => string, write: (text: string) => void, follow?: (form: HTMLFormElement, changed: () => void, signal: AbortSignal) => void}} Kept
 * what was typed before and not sent; `follow`: calls `changed` when it is another one, and asks in the form which of two stays
 * @typedef {{text: string, choice: string, caret: number}} Filled
 */

/** @param {string} tag @param {Record<string, any>} [values] @param {(Node | string)[]} children */
export function make(tag, values = {}, ...children) {
  const element = Object.assign(document.createElement(tag), values);
  element.append(...children);
  return element;
}

/** What was refused as its form says it: with the label of a field in place of its name, and
 * `use 10 or less` in place of `use n:10 or less`. @param {string} words @param {HTMLFormElement | null} [form] */
export function asLabelled(words, form) {
  const name = /^([a-z_]+)(?=:| (?:must|is|has|cannot) )/.exec(words)?.[1] ?? "";
  const field = name && form?.elements.namedItem(name);
  const label = field instanceof HTMLInputElement ? field.labels?.[0] : undefined;
  const title = label?.querySelector("span:not(.hint)")?.textContent ?? label?.firstChild?.textContent ?? "";
  return title.trim() ? `“${title.trim()}”${words.slice(name.length).replaceAll(`${name}:`, "")}` : words;
}

/** @param {Shape} shape @param {string} name */
function choicesOf({ choices = [], chosen = "", choicesLabel = "" }, name) {
  if (!choices.length) return [];
  const options = choices.map(({ value, words }) => make("option", { value, textContent: words, selected: value === chosen }));
  return [make("label", {}, choicesLabel, make("select", { name }, ...options))];
}

/** What was typed before comes back into the field, with a way to start again.
 * @param {import("./editor-loader.js").Pen} pen @param {Shape} shape */
function keepDraft(pen, { draft, text = "" }) {
  if (!draft) return [];
  const kept = draft.read();
  pen.onInput(() => {
    const now = pen.read();
    draft.write(now === text ? "" : now);
  });
  if (!kept) return [];
  pen.write(kept);
  const again = make("button", { type: "button", className: "button small", textContent: t("Start over") });
  again.addEventListener("click", () => {
    pen.write(text);
    draft.write("");
    again.remove();
    pen.focus();
  });
  return [again];
}

/** Shows what another tab or device has written into the form's draft. What is on its way stays in the
 * field. @param {HTMLFormElement} form @param {import("./editor-loader.js").Pen} pen @param {Shape} shape @param {() => boolean} isSending @param {AbortController} ended */
function followDraft(form, pen, { draft, text = "" }, isSending, ended) {
  const changed = () => {
    if (!form.isConnected) return ended.abort();
    const now = draft?.read() || text;
    if (!isSending() && pen.read() !== now) pen.write(now);
  };
  draft?.follow?.(form, changed, ended.signal);
}

/**
 * Opens a form inside `host`; `onSubmit` may refuse, which is shown in the form.
 * @param {Element} host @param {Shape} shape @param {(filled: Filled) => Promise<unknown>} onSubmit
 * @param {{before?: Element | null, onClose?: () => void}} [place]
 */
export function openForm(host, shape, onSubmit, { before = null, onClose = () => {} } = {}) {
  host.querySelector("form.inline-form")?.dispatchEvent(new Event("close-form"));
  const opener = /** @type {HTMLElement | null} */ (document.activeElement);
  const tag = shape.single ? "input" : "textarea";
  const field = /** @type {HTMLTextAreaElement} */ (make(tag, { name: "text", value: shape.text ?? "", readOnly: shape.readOnly ?? false }));
  if (shape.required) field.setAttribute("aria-required", "true");
  if (shape.rows && !shape.single) field.rows = shape.rows;
  const pen = shape.pen ?? plainPen(field);
  const again = keepDraft(pen, shape);
  const refusal = make("p", { className: "refusal", role: "alert", hidden: true });
  const cancel = make("button", { type: "button", className: "button small", textContent: t("Cancel") });
  const submit = /** @type {HTMLButtonElement} */ (make("button", { className: "button small primary", textContent: shape.submit }));
  const hint = make("span", { className: "soft", textContent: shape.hint ?? "" });
  const row = make("div", { className: "inline-row" }, ...choicesOf(shape, "choice"), submit, cancel, ...again, hint);
  const form = /** @type {HTMLFormElement} */ (
    make("form", { className: shape.small ? "inline-form small" : "inline-form" }, make(shape.pen ? "div" : "label", {}, make("span", { className: "off", textContent: shape.label }), pen.element), refusal, row)
  );
  form.setAttribute("aria-label", shape.label);
  const ended = new AbortController();
  const close = () => {
    ended.abort();
    form.remove();
    onClose();
    giveBack(opener);
  };
  form.addEventListener("close-form", close);
  cancel.addEventListener("click", close);
  form.addEventListener("keydown", (event) => {
    // What runs is stopped first, wherever the caret is.
    if (event.key === "Escape" && document.querySelector(".card.coming, .turn.working")) return;
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return; // by keys a form is sent whatever its button says
    if (shape.required && !pen.read().trim()) {
      refusal.textContent = shape.required;
      refusal.hidden = false;
      pen.focus();
      return;
    }
    submit.disabled = true;
    const choice = /** @type {HTMLSelectElement | null} */ (form.elements.namedItem("choice"));
    try {
      await onSubmit({ text: pen.read(), choice: choice?.value ?? "", caret: pen.caret() });
      close();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refusal.textContent = told(error);
      refusal.hidden = false;
      // What was sent came back into the draft; the form has it already, with what was typed since.
      shape.draft?.write(pen.read() === (shape.text ?? "") ? "" : pen.read());
      pen.focus();
    } finally {
      submit.disabled = false;
    }
  });
  host.insertBefore(form, before);
  followDraft(form, pen, shape, () => submit.disabled, ended);
  pen.focus();
  form.scrollIntoView({ block: "nearest" });
  return form;
}
