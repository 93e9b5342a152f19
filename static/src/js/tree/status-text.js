// @ts-check
// What a command did, in plain words; the exact reply stays one click away.

import { t } from "../t.js";

const SHOWN = 60; // characters of a text that an action names

/** The reply to a command in plain words; "" where the reply itself is plain. @param {string} verb @param {string} reply */
export function statusText(verb, reply) {
  if (verb === "edit" || verb === "replace") {
    return reply.startsWith("created branch") ? t("Saved as a new branch") : t("Saved as a new version");
  }
  // Of a text, accepting it is reading it below the new wording.
  if (verb === "accept" && reply.includes("marked as read")) return t("Marked as read");
  if (verb === "undo" || verb === "redo") return takenBack(verb === "undo" ? t("Undone") : t("Redone"), reply);
  /** @type {Record<string, string>} */
  const words = {
    annotate: t("Note added"),
    cite: citedText(reply),
    claim: citedText(reply),
    bookmark: t("Bookmark added"),
    exclude: t("Excluded from models"),
    include: t("Included for models"),
    link: t("Link added"),
    rate: reply.includes("took") ? t("Rating removed") : reply.endsWith("+") ? t("Rated +") : t("Rated −"),
    main: reply.includes("no longer") ? t("The main line is the path written on last") : t("This is the main line now"),
    open: reply.includes("· keep") ? t("Pinned beside the text") : t("Opened in a window"),
    prune: t("Pruned"),
    resolve: t("Resolved"),
    restore: t("Restored"),
    split: t("Split in two"),
    tag: t("Tag added"),
    todo: taskText(reply),
    unbookmark: t("Bookmark removed"),
    suggest: t("Suggestion added"),
    accept: t("Accepted"),
    reject: t("Suggestion rejected"),
    unlink: t("Link removed"),
    untag: t("Tag removed"),
  };
  return words[verb] ?? "";
}

/** What giving evidence did: `Evidence added: moderate`, or that a claim was opened. @param {string} reply */
export function citedText(reply) {
  if (/^(?:✓ )?claim \[/u.test(reply)) return t("Claim opened");
  const [, strength = ""] = /evidence: (strong|moderate|weak)/.exec(reply) ?? [];
  /** @type {Record<string, string>} */
  const words = { strong: t("strong"), moderate: t("moderate"), weak: t("weak") };
  const [, gate = ""] = /quote (elsewhere|joined|not there)/.exec(reply) ?? [];
  /** @type {Record<string, string>} */
  const lost = { elsewhere: t("these words are in another text"), joined: t("these words are put together from several places"), "not there": t("these words are not there") };
  return gate ? t("Evidence added: weak, {why}", { why: lost[gate] }) : t("Evidence added: {strength}", { strength: words[strength] ?? strength });
}

/** What was done with a task that is written in a text; "" for any other. @param {string} reply */
function taskText(reply) {
  const [, state = ""] = /^(?:✓ )?(checked|unchecked|archived|noted on) \d+ of /u.exec(reply) ?? [];
  /** @type {Record<string, string>} */
  const words = { checked: t("Task done"), unchecked: t("Task open again"), archived: t("Task archived"), "noted on": t("Note added") };
  return words[state] ?? "";
}

/** What was undone or redone: `Undone: new text`, or how many changes. @param {string} done @param {string} reply */
function takenBack(done, reply) {
  const [, name] = /^(?:✓ )?(?:undid|redid) \[[^\]]+\], the answer of (.+)$/mu.exec(reply) ?? [];
  if (name) return t("{done}: the turn of {name}", { done, name });
  const [, words] = /^(?:✓ )?(?:undid|redid) “(.+)”$/mu.exec(reply) ?? [];
  if (words) return t("{done}: {what}", { done, what: words });
  const verbs = [...reply.matchAll(/^(?:✓ )?(?:undid|redid) (?:(?:→|->) )?([a-z]+)/gmu)].map(([, verb]) => verb);
  if (/^(?:✓ )?(?:undid|redid) changed /u.test(reply)) return t("{done}: {what}", { done, what: t("what models are sent of this tree") });
  if (verbs.length > 1) return t("{done}: {n} changes", { done, n: verbs.length });
  const what = undoneWords(reply)[verbs[0] ?? ""];
  return what ? t("{done}: {what}", { done, what }) : done;
}

/** What undo takes back, by verb; `reply` is of an undo. A verb without words here cannot be undone
 * (tests/house/test_words_of_undo.py). @param {string} [reply] @returns {Record<string, string>} */
function undoneWords(reply = "") {
  return {
    accept: t("accepting"),
    allow: rightsOf(reply),
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

const ALLOWED = /^(?:✓ )?(?:undid|redid) (?:→|->) allow (?:(readers|writers)|"((?:[^"\\]|\\.)*)") /u;

/** Whose rights in the tree an undo changed back: `rights of Wanda`; "" where it changed none, or other things too.
 * @param {string} reply */
export function rightsOf(reply) {
  const [, all, name = ""] = ALLOWED.exec(reply) ?? [];
  if (all) return all === "readers" ? t("rights of all readers") : t("rights of all writers");
  return name && t("rights of {name}", { name: name.replaceAll(/\\(["\\])/gu, "$1") });
}

/** What a line of a workspace did, as a person says it, with the beginning of its text; "" where the line itself has to do.
 * @param {string} line @param {string} reply */
export function didText(line, reply) {
  const [, verb = ""] = /^(?:(?:→|->) )?([a-z]+)/u.exec(line) ?? [];
  /** @type {Record<string, string>} */
  const words = {
    address: t("Answered evidence against a claim"),
    allow: t("Changed who may do what"),
    ask: t("Asked a question"),
    augment: t("Changed the augments"),
    back: t("Went back"),
    budget: t("Looked at the budget"),
    chapter: t("Changed a chapter"),
    check: t("Checked a text"),
    close: t("Closed a window"),
    collapse: t("Folded a text"),
    commit: t("Committed to a claim"),
    compare: t("Compared texts"),
    conclude: t("Concluded a claim"),
    continue: t("Asked for continuations"),
    digest: t("Read the digest"),
    discard: t("Ended a sandbox"),
    drop: t("Closed windows"),
    expand: t("Unfolded a text"),
    explore: t("Explored from a text"),
    find: t("Searched in a text"),
    graph: t("Looked at links"),
    help: t("Looked at the help"),
    hide: t("Hid a window"),
    linktype: t("Changed the types of links"),
    list: t("Looked at a list"),
    manuscript: t("Changed the manuscript"),
    memory: t("Changed the memory"),
    open: t("Opened a window"),
    pipe: t("Checked a row of commands"),
    promote: t("Added a sandbox to its tree"),
    recall: t("Brought back what was put away"),
    redo: t("Redid a change"),
    refresh: t("Brought a window up to date"),
    resize: t("Resized a window"),
    respond: t("Wrote a text"),
    run: t("Ran an augment"),
    sandbox: t("Began a sandbox"),
    scratchpad: t("Wrote on the scratchpad"),
    search: t("Searched"),
    show: t("Showed a window again"),
    since: t("Looked at what changed"),
    stash: t("Put a window away"),
    switch: t("Chose a version to read"),
    think: t("Thought"),
    todo: t("Changed the tasks"),
    trail: t("Looked at a trail"),
    tree: t("Looked at the outline"),
    undo: t("Undid a change"),
    use: t("Used an outside tool"),
    veto: t("Objected to a commitment"),
    view: t("Read a text"),
    withdraw: t("Took back a claim"),
    write: t("Wrote in a document"),
  };
  const what = words[verb] ?? statusText(verb, reply);
  if (!what) return "";
  const [, quoted = ""] = /"((?:[^"\\]|\\.)*)"/u.exec(line) ?? [];
  const text = quoted.replaceAll(/\\(["\\])/gu, "$1").replaceAll(/\\n|\s+/gu, " ").trim();
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN - 1).trimEnd()}…` : text;
  return shown ? t("{what}: “{text}”", { what, text: shown }) : what;
}
