// @ts-check
// What can be done with a node by pressing: each act is registered here and becomes a command.

import { calledOf, writerOf } from "./called.js";
import { call } from "../live/calls.js";
import { json, part, Refused } from "../live/api.js";
import { nameOf } from "../live/draft-storage.js";
import { newKey } from "../live/outbox.js";
import { parted, quoting } from "./across.js";
import { formsOf, goToWords, selectedWords } from "./commenting.js";
import { askWhich, placeAt } from "./page-drafts.js";
import { openForm } from "./forms.js";
import { longPen } from "./editor-loader.js";
import { t, tn } from "../t.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** `about`: words of the node that it is about. @typedef {{page: TreePage, id: string, host: Element, button: Element | null, about?: {words: string, nth: number, also?: Words[], whole?: string} | null}} Act */
/** @typedef {import("./commenting.js").Words} Words */

/** A form's draft. @param {TreePage} page @param {import("../live/draft-storage.js").Place} place @returns {import("./forms.js").Kept} */
function draftAt({ drafts }, place) {
  const isHere = (/** @type {import("../live/draft-storage.js").Place} */ other) => nameOf(other) === nameOf(place);
  return {
    read: () => drafts.of(place),
    write: (text) => drafts.write(place, text),
    follow(form, changed, signal) {
      drafts.addEventListener("draft", (event) => isHere(/** @type {CustomEvent} */ (event).detail) && changed(), { signal });
      askWhich(drafts, form, isHere, signal);
    },
  };
}

/** @type {Map<string, (act: Act) => unknown>} */
const acts = new Map();

/** @param {string} name @param {(act: Act) => unknown} run */
export function act(name, run) {
  acts.set(name, run);
}

/** Runs an act; false where there is none of that name. @param {string} name @param {Act} what */
export function perform(name, what) {
  const run = acts.get(name);
  if (!run) return false;
  Promise.resolve(run(what)).catch((error) => {
    if (!(error instanceof Refused)) throw error;
    what.page.refuse(error); // such as of a text that a form was to open with
  });
  return true;
}

/** Acts that are one command about the node. */
for (const name of ["prune", "restore", "exclude", "include", "bookmark", "unbookmark", "main"]) act(name, ({ page, id }) => page.say(call(name, { ref: id })));

act("pin", ({ page, id }) => page.say(call("open", { ref: id, keep: true }), { follow: false }));
act("open", ({ page, id }) => page.say(call("open", { ref: id }), { follow: false }));

act("untag", ({ page, id, button }) => page.say(call("untag", { ref: id, names: [button?.getAttribute("data-tag") ?? ""] })));

act("check", ({ page, id }) => page.say(call("check", { ref: id }), { follow: false }));

act("continue", ({ page, id }) => {
  page.go(id);
  return composer()?.ask();
});

act("respond", ({ page, id }) => {
  page.go(id);
  composer()?.text?.focus();
});

act("edit", async ({ page, id, host }) => {
  const before = host.querySelector(":scope > .text, :scope > h2");
  const text = await part(`${page.web}/nodes/${id}/text`);
  const place = placeAt(page, "edit", id);
  const label = t("Text of {text}", { text: calledOf(page, id) });
  const pen = await longPen(text, label);
  host.classList.add("editing");
  const shape = {
    label,
    text,
    pen,
    draft: draftAt(page, place),
    submit: t("Save"),
    choicesLabel: t("as"),
    choices: [
      { value: "version", words: t("a version: what follows stays") },
      { value: "fork", words: t("a fork: a new branch beside it") },
    ],
    chosen: page.settings.edits !== "ask" ? page.settings.edits : localStorage.getItem("heddle.edit-as") ?? (page.settings.mode === "buffer" ? "version" : "fork"),
  };
  const save = async (/** @type {import("./forms.js").Filled} */ { text: written, choice }) => {
    localStorage.setItem("heddle.edit-as", choice);
    await page.say(call("edit", { ref: id, content: written, way: choice }), { quiet: true, draft: place });
  };
  openForm(host, shape, save, { before, onClose: () => host.classList.remove("editing") });
});

const LONGEST = 80; // characters of words that a form names
const shortened = (/** @type {string} */ words) => (words.length > LONGEST ? `${words.slice(0, LONGEST - 1)}…` : words);
/** What a form says of the words that it is about. @param {Act["about"]} about */
const onWords = (about) => {
  if (about?.also) return t("On the words “{words}”, which go on in the next text", { words: shortened(about.words) });
  return about ? t("On the words “{words}”", { words: shortened(about.words) }) : "";
};
/** @param {Act["about"]} about */
const asGiven = (about) => (about ? { words: about.words, nth: about.nth } : {});

/** What a note is about: words that are selected, or the whole text. A button is of its own text: it
 * takes no words of another one, at which the note would land. @param {Act} act @returns {Promise<Act["about"]>} */
async function aboutOf({ page, id, button, about }) {
  const chosen = about ?? (await selectedWords(page).catch(() => null));
  if (!button || !chosen || !("id" in chosen)) return chosen;
  // Words that were saved as a wording just now are of a text that the page may not know yet.
  const slot = page.store?.slotOf(String(chosen.id)) ?? null;
  return slot === null || slot === page.store?.slotOf(id) ? chosen : null;
}

act("annotate", async (act) => {
  const { page } = act;
  const about = await aboutOf(act);
  const id = about && "id" in about ? String(about.id) : act.id;
  const host = id === act.id ? act.host : ((await formsOf(page, id)) ?? act.host);
  const words = { note: t("note"), question: t("question"), suggestion: t("suggestion"), warning: t("warning"), objection: t("objection") };
  const draft = placeAt(page, "note", id);
  const shape = {
    draft: draftAt(page, draft),
    label: about ? t("Comment on the selected words") : t("Annotate {text}", { text: calledOf(page, id) }),
    hint: onWords(about),
    small: true,
    submit: about ? t("Comment") : t("Annotate"),
    choicesLabel: t("as"),
    choices: Object.entries(words).map(([value, label]) => ({ value, words: label })),
    chosen: "note",
  };
  openForm(host, shape, ({ text, choice }) => {
    const content = about?.whole ? quoting(about.whole, text) : text;
    return page.say(call("annotate", { ref: id, content, form: choice, ...asGiven(about) }), { quiet: true, draft });
  });
});

act("reply", ({ page, button }) => {
  const note = button?.getAttribute("data-note") ?? "";
  const host = button?.closest(".note");
  if (!host) return;
  const draft = placeAt(page, "note", note);
  const shape = { label: t("Reply to {name}", { name: writerOf(host) }), small: true, submit: t("Reply"), draft: draftAt(page, draft) };
  openForm(host, shape, ({ text }) => page.say(call("annotate", { ref: note, content: text }), { quiet: true, draft }));
});

act("resolve", ({ page, button }) => {
  const note = button?.getAttribute("data-note") ?? "";
  const host = button?.closest(".note");
  if (!host) return;
  const isRequired = button?.hasAttribute("data-needs-reason") ?? false;
  const shape = {
    label: t("Reason for resolving"),
    single: true,
    submit: t("Resolve"),
    hint: isRequired ? t("An objection needs a reason") : t("Optional reason"),
    required: isRequired ? t("Write why the objection is settled.") : "",
  };
  openForm(host, shape, ({ text }) => page.say(call("resolve", { ref: note, reason: text }), { quiet: true }));
});

act("words", ({ button }) => goToWords(button?.getAttribute("data-note") ?? ""));

act("suggest", async ({ page, id, host, about }) => {
  if (about?.also) return void suggestAcross(page, id, host, about);
  if (about) {
    const shape = { label: t("Another wording for the selected words"), text: about.words, small: true, rows: Math.min(8, 1 + Math.ceil(about.words.length / 60)), submit: t("Suggest"), hint: onWords(about) };
    return void openForm(host, shape, ({ text: written }) => page.say(call("suggest", { ref: id, content: written, ...asGiven(about) }), { quiet: true }));
  }
  const text = await part(`${page.web}/nodes/${id}/text`);
  const label = t("Another wording of {text}", { text: calledOf(page, id) });
  const pen = await longPen(text, label);
  openForm(host, { label, text, pen, submit: t("Suggest") }, ({ text: written }) => page.say(call("suggest", { ref: id, content: written }), { quiet: true }));
});

/** Another wording of words that reach over a border becomes one suggestion for each text of which it changes some.
 * @param {TreePage} page @param {string} id @param {Element} host @param {NonNullable<Act["about"]>} about */
function suggestAcross(page, id, host, about) {
  const whole = about.whole ?? about.words;
  const all = [{ ...about, id }, ...(about.also ?? [])];
  // What stands between the words of two texts belongs to the first.
  let from = 0;
  const parts = all.map(({ words }, place) => {
    const start = whole.indexOf(words, from);
    const next = all[place + 1];
    const end = next ? whole.indexOf(next.words, start + words.length) : whole.length;
    const part = whole.slice(from, end);
    from = end;
    return part;
  });
  const shape = { label: t("Another wording for the selected words"), text: whole, small: true, rows: Math.min(8, 1 + Math.ceil(whole.length / 60)), submit: t("Suggest"), hint: t("One suggestion for each of {n} texts", { n: all.length }) };
  /** @type {Set<string>} what was sent before something was refused */
  const sent = new Set();
  openForm(host, shape, async ({ text: written }) => {
    const pieces = parted(parts, written);
    const changed = [...all.keys()].filter((place) => pieces[place] !== parts[place]);
    const wording = { act: newKey(), doing: tn("suggested a wording of {n} passage", "suggested a wording of {n} passages", changed.length) };
    for (const place of changed) {
      const { id: ref, words, nth } = all[place];
      if (sent.has(ref)) continue;
      await page.say(call("suggest", { ref, content: within(words, parts[place], pieces[place]), words, nth }), { quiet: true, act: changed.length > 1 ? wording : undefined });
      sent.add(ref);
    }
  });
}

/** A new part without the blanks that stood around the words in the old one. @param {string} words @param {string} part @param {string} piece */
function within(words, part, piece) {
  const [before, after] = part.split(words, 2);
  let now = piece;
  if (before && now.startsWith(before)) now = now.slice(before.length);
  if (after && now.endsWith(after)) now = now.slice(0, -after.length);
  return now;
}

act("accept", ({ page, button }) => page.say(call("accept", { ref: button?.getAttribute("data-note") })));

act("accept-edited", async ({ page, button }) => {
  const note = button?.getAttribute("data-note") ?? "";
  const host = button?.closest(".note");
  if (!host) return;
  const text = await part(`${page.web}/nodes/${note}/text`);
  const label = t("Text to accept instead");
  const pen = await longPen(text, label);
  openForm(host, { label, text, pen, submit: t("Accept") }, ({ text: written }) => page.say(call("accept_edited", { ref: note, content: written }), { quiet: true }));
});

act("reject", ({ page, button }) => {
  const note = button?.getAttribute("data-note") ?? "";
  const host = button?.closest(".note");
  if (!host) return;
  const shape = { label: t("Reason for rejecting"), single: true, submit: t("Reject"), hint: t("Optional reason") };
  openForm(host, shape, ({ text }) => page.say(call("reject", { ref: note, reason: text }), { quiet: true }));
});

act("tag", ({ page, id, host }) => {
  const shape = { label: t("Tags for {text}", { text: calledOf(page, id) }), single: true, submit: t("Tag"), hint: t("Several with commas") };
  openForm(host, shape, ({ text }) => {
    const names = text.split(",").map((name) => name.trim().replace(/^#/, "")).filter(Boolean);
    return page.say(call("tag", { ref: id, names }), { quiet: true });
  });
});

act("split", async ({ page, id, host }) => {
  const text = await part(`${page.web}/nodes/${id}/text`);
  const label = t("Where to split {text}", { text: calledOf(page, id) });
  const pen = await longPen(text, label, true);
  const shape = { label, text, pen, readOnly: true, submit: t("Split at the caret"), hint: t("Place the caret where the second part starts") };
  openForm(host, shape, ({ caret }) => page.say(call("split", { ref: id, at: [...text.slice(0, caret)].length }), { quiet: true }));
});

act("version", ({ page, button }) => chooseVersion(page, button?.getAttribute("data-version") ?? ""));

/** Selects a version of a slot for the reader alone: where it is above them, they stay where they
 * are, and what follows stays too. @param {TreePage} page @param {string} version */
export async function chooseVersion(page, version) {
  const { position: here, store } = page;
  const slot = store?.slotOf(version) ?? null;
  const isHere = !store || slot === store.slotOf(here);
  const before = store && slot !== null ? (isHere ? here : store.selected(slot)) : "";
  await page.say(call("switch", { ref: version }), { follow: isHere });
  if (store && slot !== null) store.choices.set(store.ids[slot], version);
  if (!isHere) await page.say(call("switch", { ref: here }), { follow: false });
  const newest = store && slot !== null ? store.ids[store.versionsOf(slot).at(-1) ?? slot] : version;
  const words = newest === version ? t("You read the newest version here, as others do.") : t("You and the models you ask read this version; others read the newest.");
  const toast = /** @type {import("../elements/loom-toast.js").LoomToast | null} */ (document.querySelector("loom-toast"));
  toast?.show(words, before && before !== version ? { act: t("Undo"), onAct: () => void chooseVersion(page, before) } : {});
  page.emit("redraw");
}

act("notes", ({ host }) => host.querySelector(".notes")?.classList.toggle("folded"));

act("whole", async ({ page, id, host }) => {
  const box = host.querySelector(".text .plain");
  if (box) box.textContent = await part(`${page.web}/nodes/${id}/text`);
  host.querySelector(".rest")?.remove();
  host.setAttribute("data-whole", "");
});

act("details", ({ page, id }) => page.emit("details", id));

act("verify", async ({ page, id, host }) => {
  const verdict = host.querySelector("[data-verified]");
  const before = verdict?.textContent ?? "";
  if (verdict) verdict.textContent = t("checking");
  const { status, broken } = await json(`${page.api}/verify?node=${id}`).catch((error) => {
    if (verdict) verdict.textContent = before;
    throw error;
  });
  const words = { valid: t("valid: the hash and everything it depends on match"), incomplete: t("valid, but the exact bytes of its call are not stored") };
  const why = broken.map((/** @type {{reason: string}} */ fault) => fault.reason).join("; ");
  if (verdict) verdict.textContent = words[/** @type {"valid"} */ (status)] ?? `${status}: ${why}`;
});

/** @returns {import("../elements/loom-composer.js").LoomComposer | null} */
export function composer() {
  return document.querySelector("loom-composer");
}

/** A version that is opened in a list is read before it is chosen. @param {TreePage} page @param {AbortSignal} signal */
export function readVersions(page, signal) {
  const read = async (/** @type {Event} */ event) => {
    const box = event.target instanceof HTMLDetailsElement ? event.target.querySelector(":scope > [data-version-text]") : null;
    if (!box || box.textContent) return;
    try {
      box.textContent = await part(`${page.web}/nodes/${box.getAttribute("data-version-text")}/text`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      page.refuse(error);
    }
  };
  document.addEventListener("toggle", (event) => void read(event), { signal, capture: true });
}
