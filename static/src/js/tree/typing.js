// @ts-check
// Whether what is pressed is text, or could be meant as text.

/** Whether keys go into a text now. @param {EventTarget | null} target */
export function isTyping(target) {
  // A field in a dialog that has just closed keeps the focus for a moment.
  if (!(target instanceof HTMLElement) || !target.checkVisibility()) return false;
  return target.isContentEditable || target.matches("input:not([type=checkbox]), textarea, select");
}

/** Whether a text field could want a letter that is pressed here: the focus is beside it in its
 * form, or the editor of this page is not there yet. @param {EventTarget | null} target */
export function wantsText(target) {
  if (document.querySelector("body.mode-buffer loom-composer") && !document.querySelector("loom-buffer[data-on]")) return true;
  return target instanceof Element && target.closest("form, loom-composer, .book-bar, .passage") !== null;
}
