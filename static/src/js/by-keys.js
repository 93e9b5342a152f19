// @ts-check
// Plain pages by keys alone: a form loads its page again and the focus is where it was, with what was typed if it was
// refused; Escape leads one step back, Ctrl Enter sends a text.

import { toast } from "./elements/loom-toast.js";
import { giveBack, isSeen, leave, rest } from "./focus.js";
import { isTyping } from "./tree/typing.js";
import { clearTaken, formOf, keepUnsent, noteTaken, returnUnsent, showWords, TYPED, typeAgain, wordsOf } from "./unsent-words.js";

const NAME = "heddle.sent";
const REFUSED = "main .messages .error, main [role='alert']";
const MESSAGES = `${REFUSED}, main .told[role='status'], main .messages`;

/** The first of these that is seen: a page may hold a hidden place for what is refused. @param {string} selector */
const seen = (selector) => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]).find(isSeen);

/** Remembers a form that is sent as the page itself would send it. @param {Event} event a submit */
function remember(event) {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (event.defaultPrevented || form.method !== "post" || form.hasAttribute("hx-post")) return;
  const control = form.contains(document.activeElement) ? document.activeElement : /** @type {SubmitEvent} */ (event).submitter;
  const sent = {
    ...wordsOf(form),
    control: [...form.elements].indexOf(/** @type {Element} */ (control)),
    name: control?.getAttribute("name") ?? "",
    around: form.closest("[id]:not(main, body)")?.id ?? "",
  };
  try {
    sessionStorage.setItem(NAME, JSON.stringify(sent));
  } catch {
    sessionStorage.removeItem(NAME); // a browser without room: the form is sent all the same
  }
}

/** Gives the focus back to what had it when a form of this page was sent, else to what was around it; a message that
 * is then out of sight is shown as a toast. */
export function returnToForm() {
  const kept = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  const unsent = returnUnsent();
  const hasFocus = document.activeElement && document.activeElement !== document.body;
  if (!hasFocus) /** @type {HTMLElement | null | undefined} */ (unsent?.querySelector(TYPED))?.focus();
  if (!kept) return;
  const sent = JSON.parse(kept);
  keepUnsent(sent);
  const form = sent.pages.includes(location.pathname) ? formOf(sent) : undefined;
  const refused = seen(`${REFUSED}:not(.warning), main [data-refusal]`);
  if (!refused && isAnswerTo(sent)) noteTaken(sent);
  else if (form) typeAgain(form, sent);
  else if (!refused) return;
  else showWords(sent, refused.closest(".messages") ?? refused);
  if (hasFocus || !sent.pages.includes(location.pathname)) return;
  const control = /** @type {HTMLElement | undefined} */ (form?.elements[sent.control]);
  const message = seen(MESSAGES);
  const isSame = control && control.getAttribute("name") === (sent.name || null) && isSeen(control) && !control.matches(":disabled");
  const folded = form?.closest("details:not([open])")?.querySelector("summary");
  // What is shown once is there to be copied.
  const fresh = /** @type {HTMLElement | null} */ (document.querySelector("main .fresh [data-copy]"));
  if (fresh) fresh.focus();
  else if (isSame) control.focus();
  else if (folded) folded.focus();
  else rest((sent.around && document.getElementById(sent.around)) || message || undefined);
  if (message && message !== document.activeElement && isOutOfSight(message)) showInSight(message);
}

/** How this page was reached: by a link or form, a step back, or loaded again. */
function wayHere() {
  const [visit] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  return visit?.type ?? "navigate";
}

/** Whether this page is what the server answered to a form: not one that was come back to where no answer came.
 * @param {{pages: string[]}} sent */
function isAnswerTo(sent) {
  const from = document.referrer ? new URL(document.referrer).pathname : sent.pages[0];
  return wayHere() === "navigate" && sent.pages.includes(from);
}

/** Who goes elsewhere before a form was answered has stopped it. @param {Event} event */
function forgetStopped({ target }) {
  if (/** @type {Element} */ (target).closest("a[href]")) sessionStorage.removeItem(NAME);
}

/** Shows a message as a toast. What went well is then said there alone; what was refused stays at its place, too.
 * @param {Element} message */
function showInSight(message) {
  const bad = seen(REFUSED) !== undefined;
  toast()?.show(message.textContent?.trim().replace(/\s+/g, " ") ?? "", { bad });
  if (!bad) message.remove();
}

/** @param {Element} element */
function isOutOfSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom < 0 || top > innerHeight;
}

/** Whether something was typed on this page, or a part of it, that leaving it would lose. @param {ParentNode} [place] */
function hasTyped(place = document) {
  const fields = /** @type {NodeListOf<HTMLInputElement>} */ (place.querySelectorAll(`${TYPED}, [type=password]`));
  return [...fields].some((field) => field.closest("main form[method=post]") && field.value !== field.defaultValue);
}

/** One step back: out of a field, out of what is unfolded, then along the link that leads back. @param {KeyboardEvent} event */
function stepBack(event) {
  const here = document.activeElement;
  // A browser empties a search first.
  if (here?.matches("[type=search]:not(:placeholder-shown)") && /** @type {HTMLInputElement} */ (here).value) return;
  const unfolded = here?.closest("main details[open]");
  if (isTyping(here) && !unfolded) leave(/** @type {Element} */ (here));
  else if (unfolded) {
    // What was typed stays in sight until the next Escape.
    if (!isTyping(here) || !hasTyped(unfolded)) unfolded.removeAttribute("open");
    giveBack(unfolded.querySelector("summary"));
  } else {
    const back = /** @type {HTMLAnchorElement | null} */ (document.querySelector("main a[data-back]"));
    if (!back) return;
    if (hasTyped()) back.focus();
    else back.click();
  }
  event.preventDefault();
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
  const field = /** @type {HTMLTextAreaElement} */ (event.target);
  if (event.key === "Escape") stepBack(event);
  else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && field.matches("form[method=post] textarea")) {
    event.preventDefault();
    field.form?.requestSubmit(/** @type {HTMLElement | null} */ (field.form.querySelector("button:not([type=button])")));
  }
}

/** Begins on a plain page. Elsewhere nothing is returned to, and what was typed is not kept. */
export function workByKeys() {
  if (!document.body.matches(".plain")) {
    sessionStorage.removeItem(NAME);
    return;
  }
  document.addEventListener("submit", remember);
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", forgetStopped);
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted || wayHere() === "back_forward") clearTaken();
  });
  returnToForm();
}
