// @ts-check
// What a command did, in plain words; the exact reply stays one click away.

import { t } from "../t.js";

/** The reply to a command in plain words; "" where the reply itself is plain. @param {string} verb @param {string} reply */
export function statusText(verb, reply) {
  if (verb === "edit" || verb === "replace") {
    return reply.startsWith("created branch") ? t("Saved as a new branch") : t("Saved as a new version");
  }
  // Of a text, accepting it is reading it below the new wording.
  if (verb === "accept" && reply.includes("marked as read")) return t("Marked as read");
  /** @type {Record<string, string>} */
  const words = {
    annotate: t("Note added"),
    bookmark: t("Bookmark added"),
    exclude: t("Excluded from models"),
    include: t("Included for models"),
    link: t("Link added"),
    open: reply.includes("· keep") ? t("Pinned beside the text") : t("Opened in a window"),
    prune: t("Pruned"),
    resolve: t("Resolved"),
    restore: t("Restored"),
    split: t("Split into two nodes"),
    tag: t("Tag added"),
    unbookmark: t("Bookmark removed"),
    suggest: t("Suggestion added"),
    accept: t("Accepted"),
    reject: t("Suggestion rejected"),
    unlink: t("Link removed"),
    untag: t("Tag removed"),
    undo: t("Undone"),
    redo: t("Redone"),
  };
  return words[verb] ?? "";
}
