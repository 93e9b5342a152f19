// @ts-check
// A link from a node to another: the form asks for the other by its id or by words in it.

import { call } from "../live/calls.js";
import { json, Newest, Refused } from "../live/api.js";
import { t } from "../t.js";
import { act } from "./actions.js";
import { make, openForm } from "./forms.js";

const ID = /^\[?([a-z]\d[a-z]\d[a-z\d]{0,4})\]?$/i;

/** The id that was meant: typed, or that of the one text found for the words.
 * @param {import("./page.js").TreePage} page @param {string} text */
async function target(page, text) {
  const typed = ID.exec(text.trim());
  if (typed) return typed[1].toLowerCase();
  const { hits } = await json(`${page.web}/search?q=${encodeURIComponent(text)}`);
  if (hits.length === 1) return hits[0].id;
  const message = hits.length ? t("Several texts contain these words.") : t("No text contains these words.");
  throw new Refused({ code: "NOT_FOUND", message, hint: t("Choose one from the list, or type an id.") }, 404);
}

/** Offers the texts that hold what was typed. @param {import("./page.js").TreePage} page @param {HTMLInputElement} field @param {Element} list */
function offer(page, field, list) {
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const asked = new Newest();
  field.addEventListener("input", () => {
    clearTimeout(timer);
    if (!field.value.trim() || ID.test(field.value.trim())) return;
    timer = setTimeout(async () => {
      const number = asked.ask();
      const { hits } = await json(`${page.web}/search?q=${encodeURIComponent(field.value)}`);
      if (asked.isPast(number)) return;
      const options = hits.slice(0, 8).map((/** @type {{id: string, text: string, by: string}} */ hit) => make("option", { value: hit.id, label: `${hit.by}: ${hit.text}` }));
      list.replaceChildren(...options);
    }, 200);
  });
}

act("link", ({ page, id, host }) => {
  const shape = { label: t("Node that {id} is linked to", { id }), single: true, submit: t("Link"), hint: t("An id or words from the text") };
  const form = openForm(host, shape, async ({ text }) => page.say(call("link", { source: id, target: await target(page, text) }), { quiet: true }));
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("text"));
  const list = make("datalist", { id: "link-targets" });
  field.setAttribute("list", list.id);
  field.setAttribute("autocomplete", "off");
  form.append(list);
  offer(page, field, list);
});
