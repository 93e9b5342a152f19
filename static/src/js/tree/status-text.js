// @ts-check
// What a command did, in plain words; the exact reply stays one click away.

import { t } from "../t.js";

const SHOWN = 60; // characters of a text that an action names

/** @typedef {import("../live/outbox.js").Did} Did */

/** What a command did in plain words; "" where its reply is plain. @param {string} verb @param {Did} [did] */
export function statusText(verb, did = {}) {
  if (verb === "undo" || verb === "redo") return takenBack(verb === "undo" ? t("Undone") : t("Redone"), did.undone ?? []);
  const version = () => (did.saved_as === "branch" ? t("Saved as a new branch") : did.saved_as ? t("Saved as a new version") : "");
  /** @type {Record<string, () => string>} */
  const words = {
    annotate: () => t("Note added"),
    cite: () => citedText(did),
    claim: () => citedText(did),
    bookmark: () => t("Bookmark added"),
    edit: version,
    exclude: () => t("Excluded from models"),
    include: () => t("Included for models"),
    link: () => t("Link added"),
    rate: () => (did.rating === "none" ? t("Rating removed") : did.rating === "plus" ? t("Rated +") : did.rating ? t("Rated −") : ""),
    main: () => (did.marked === undefined ? "" : did.marked ? t("This is the main line now") : t("The main line is the path written on last")),
    open: () => (did.kept ? t("Pinned beside the text") : t("Opened in a window")),
    prune: () => t("Pruned"),
    replace: version,
    resolve: () => t("Resolved"),
    restore: () => t("Restored"),
    split: () => t("Split in two"),
    tag: () => t("Tag added"),
    todo: () => taskText(did.task ?? ""),
    unbookmark: () => t("Bookmark removed"),
    suggest: () => t("Suggestion added"),
    // Of a text, accepting it is reading it below the new wording.
    accept: () => (did.accepted === "as read" ? t("Marked as read") : t("Accepted")),
    reject: () => t("Suggestion rejected"),
    unlink: () => t("Link removed"),
    untag: () => t("Tag removed"),
  };
  return words[verb]?.() ?? "";
}

/** What giving evidence did: `Evidence added: moderate`, or that a claim was opened. @param {Did} did */
export function citedText({ claim, evidence = "", quote = "" }) {
  if (claim) return t("Claim opened");
  /** @type {Record<string, string>} */
  const words = { strong: t("strong"), moderate: t("moderate"), weak: t("weak") };
  /** @type {Record<string, string>} */
  const lost = { elsewhere: t("these words are in another text"), joined: t("these words are put together from several places"), "not there": t("these words are not there") };
  return lost[quote] ? t("Evidence added: weak, {why}", { why: lost[quote] }) : t("Evidence added: {strength}", { strength: words[evidence] ?? evidence });
}

/** What was done with a task that is written in a text; "" for any other. @param {string} state */
function taskText(state) {
  /** @type {Record<string, string>} */
  const words = { checked: t("Task done"), unchecked: t("Task open again"), archived: t("Task archived"), noted: t("Note added") };
  return words[state] ?? "";
}

/** What was undone or redone: `Undone: new text`, or how many changes. @param {string} done @param {import("../live/outbox.js").Undone[]} undone */
function takenBack(done, undone) {
  const [first] = undone;
  if (!first) return done;
  const turn = undone.find((part) => part.by);
  if (turn) return t("{done}: the turn of {name}", { done, name: turn.by ?? "" });
  if (first.act) return t("{done}: {what}", { done, what: first.act });
  if (undone.length > 1) return t("{done}: {n} changes", { done, n: undone.length });
  const what = first.action ? t("what models are sent of this tree") : undoneWords(first)[first.verb ?? ""];
  return what ? t("{done}: {what}", { done, what }) : done;
}

/** What undo takes back, by verb; `undone` is what was. A verb without words here cannot be undone
 * (tests/house/test_words_of_undo.py). @param {import("../live/outbox.js").Undone} [undone] @returns {Record<string, string>} */
function undoneWords(undone = {}) {
  return {
    accept: t("accepting"),
    allow: rightsOf(undone),
    annotate: t("note"),
    ask: t("question"),
    bookmark: t("bookmark"),
    chapter: t("chapter"),
    cite: t("evidence"),
    claim: t("claim"),
    continue: t("continuations"),
    edit: t("edit"),
    exclude: t("leaving out"),
    explore: t("exploration"),
    include: t("taking in"),
    link: t("link"),
    rate: t("rating"),
    main: t("main line"),
    manuscript: t("manuscript"),
    merge: t("merge"),
    promote: t("adding a sandbox to its tree"),
    prune: t("pruning"),
    reject: t("rejecting"),
    replace: t("replacement"),
    resolve: t("resolving"),
    respond: t("new text"),
    restore: t("restoring"),
    sandbox: t("sandbox"),
    split: t("split"),
    suggest: t("suggestion"),
    tag: t("tag"),
    think: t("thought"),
    todo: t("task"),
    unbookmark: t("removing a bookmark"),
    unlink: t("removing a link"),
    untag: t("removing a tag"),
    write: t("writing in a document"),
  };
}

/** Whether undo takes back what a verb does. @param {string} verb */
export function isUndoable(verb) {
  return Object.hasOwn(undoneWords(), verb);
}

/** Whose rights in the tree an undo changed back: `rights of Wanda`; "" where it changed others. @param {import("../live/outbox.js").Undone} [undone] */
export function rightsOf({ role, who } = {}) {
  if (role) return role === "reader" ? t("rights of all readers") : t("rights of all writers");
  return who ? t("rights of {name}", { name: who }) : "";
}

/** What a line of a workspace did, as a person says it, with the beginning of its text; "" where the line itself has to do.
 * @param {string} line */
export function didText(line) {
  const [, verb = ""] = /^(?:(?:→|->) )?([a-z]+)/u.exec(line) ?? [];
  /** @type {Record<string, string>} */
  const words = {
    accept: t("Accepted a suggestion"),
    address: t("Answered evidence against a claim"),
    allow: t("Changed who may do what"),
    annotate: t("Added a note"),
    ask: t("Asked a question"),
    augment: t("Changed the augments"),
    back: t("Went back"),
    bookmark: t("Added a bookmark"),
    budget: t("Looked at the budget"),
    chapter: t("Changed a chapter"),
    check: t("Checked a text"),
    cite: t("Gave evidence for or against a claim"),
    claim: t("Opened a claim"),
    close: t("Closed a window"),
    collapse: t("Folded a text"),
    commit: t("Committed to a claim"),
    compare: t("Compared texts"),
    conclude: t("Concluded a claim"),
    continue: t("Asked for continuations"),
    digest: t("Read the digest"),
    discard: t("Ended a sandbox"),
    drop: t("Closed windows"),
    edit: t("Edited a text"),
    exclude: t("Excluded a text from models"),
    expand: t("Unfolded a text"),
    explore: t("Explored from a text"),
    find: t("Searched in a text"),
    graph: t("Looked at links"),
    help: t("Looked at the help"),
    hide: t("Hid a window"),
    include: t("Included a text for models again"),
    link: t("Added a link"),
    linktype: t("Changed the types of links"),
    list: t("Looked at a list"),
    main: t("Changed the main line"),
    manuscript: t("Changed the manuscript"),
    memory: t("Changed the memory"),
    open: t("Opened a window"),
    pipe: t("Checked a row of commands"),
    promote: t("Added a sandbox to its tree"),
    prune: t("Pruned a text"),
    rate: t("Rated a text"),
    recall: t("Brought back what was put away"),
    redo: t("Redid a change"),
    refresh: t("Brought a window up to date"),
    reject: t("Rejected a suggestion"),
    replace: t("Replaced words of a text"),
    resize: t("Resized a window"),
    resolve: t("Resolved a note"),
    respond: t("Wrote a text"),
    restore: t("Restored a text"),
    run: t("Ran an augment"),
    sandbox: t("Began a sandbox"),
    scratchpad: t("Wrote on the scratchpad"),
    search: t("Searched"),
    show: t("Showed a window again"),
    since: t("Looked at what changed"),
    split: t("Split a text in two"),
    stash: t("Put a window away"),
    suggest: t("Suggested a change"),
    switch: t("Chose a version to read"),
    tag: t("Added a tag"),
    think: t("Thought"),
    todo: t("Changed the tasks"),
    trail: t("Looked at a trail"),
    tree: t("Looked at the outline"),
    unbookmark: t("Removed a bookmark"),
    undo: t("Undid a change"),
    unlink: t("Removed a link"),
    untag: t("Removed a tag"),
    use: t("Used an outside tool"),
    veto: t("Objected to a commitment"),
    view: t("Read a text"),
    withdraw: t("Took back a claim"),
    write: t("Wrote in a document"),
  };
  const what = words[verb];
  if (!what) return "";
  const [, quoted = ""] = /"((?:[^"\\]|\\.)*)"/u.exec(line) ?? [];
  const text = quoted.replaceAll(/\\(["\\])/gu, "$1").replaceAll(/\\n|\s+/gu, " ").trim();
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN - 1).trimEnd()}…` : text;
  return shown ? t("{what}: “{text}”", { what, text: shown }) : what;
}
