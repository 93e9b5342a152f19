// @ts-check
// Whose context is shown, and when it is read again; tree/context-view.js draws it.

import { json, Newest, Refused, told } from "../live/api.js";
import { composer } from "../tree/actions.js";
import { contextParts, withTyped } from "../tree/context-view.js";
import { make } from "../tree/forms.js";
import { lightNodes, lightNothing, lightWords } from "../tree/lighting.js";
import { placeAt } from "../tree/page-drafts.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

/** @typedef {import("../tree/context-view.js").Context} Context */

const SOON_MS = 250;
const REST_MS = 700; // after a move the text comes first
const TYPED_MS = 1500;
const EVENTS = /^(node|tree|generation\.ended|turn|settings|call|participant)/;

export class LoomContext extends HTMLElement {
  /** @type {import("../tree/context-view.js").Section[]} */
  shown = [];
  /** the place of the part that is pointed at */
  pointed = "";
  /** sections that are open, by name and detail */
  opened = new Set();
  draws = new Newest();
  /** whether what is typed does not fit, so that the server has to cut it */
  isCut = false;
  /** whether a refusal stands where the context belongs */
  isRefused = false;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = /** @type {HTMLFormElement} */ (this.querySelector("form.context-of"));
    this.form.addEventListener("change", () => this.soon(0), { signal });
    this.form.addEventListener("submit", (event) => event.preventDefault(), { signal });
    this.cut = /** @type {HTMLSelectElement | null} */ (this.querySelector("[data-truncation]"));
    if (this.cut) this.cut.value = this.page.settings.truncation ?? "";
    this.cut?.addEventListener("change", () => this.choose(), { signal });
    this.addEventListener("toggle", (event) => this.toggled(/** @type {HTMLDetailsElement} */ (event.target)), { signal, capture: true });
    this.page.addEventListener("moved", () => this.soon(REST_MS), { signal });
    this.page.addEventListener("event", (event) => this.heard(/** @type {CustomEvent} */ (event).detail), { signal });
    this.page.addEventListener("said", () => this.soon(), { signal });
    this.page.drafts.addEventListener("saved", () => (this.isCut || this.page?.settings.mode === "buffer") && this.soon(TYPED_MS), { signal });
    composer()?.addEventListener("change", () => this.soon(), { signal });
    composer()?.addEventListener("input", () => this.soon(this.isCut ? TYPED_MS : SOON_MS), { signal });
    this.addEventListener("click", (event) => this.pressed(/** @type {Element} */ (event.target)), { signal });
    for (const name of ["pointerover", "focusin"]) this.addEventListener(name, (event) => this.point(/** @type {Element} */ (event.target)), { signal });
    for (const name of ["pointerleave", "focusout"]) this.addEventListener(name, () => this.point(null), { signal });
    signal.addEventListener("abort", lightNothing);
    document.addEventListener("cast", () => this.fill(), { signal });
    document.addEventListener("pane", () => this.soon(), { signal });
    this.page.addEventListener("state", (event) => /** @type {CustomEvent} */ (event).detail.state === "live" && this.isRefused && this.soon(0), { signal });
    this.fill();
    this.soon(REST_MS);
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  /** A model that only reads the text is sent the path, and nothing of what is elsewhere.
   * @param {{kind: string, payload: any}} event */
  heard(event) {
    if (!EVENTS.test(event.kind)) return;
    const { page } = this;
    const isElsewhere = event.kind.startsWith("node.") && page?.store && !page.store.isOnPath(page.position, event);
    if (!isElsewhere || this.asksForTurn()) this.soon();
  }

  /** Whether it is shown what an agent is sent for a turn. */
  asksForTurn() {
    if (this.field("participant").value === "") return composer()?.asks?.picked()[0]?.how === "turn";
    return Boolean(this.whom()?.is_agent) && this.field("how").value === "turn";
  }

  /** @param {string} name */
  field(name) {
    return /** @type {HTMLSelectElement} */ (this.form?.elements.namedItem(name));
  }

  models() {
    return [...(this.page?.cast.values() ?? [])].filter((who) => who.kind === "model" && !who.is_archived);
  }

  /** Keeps how a long path is cut in what the reader asks for here. */
  async choose() {
    const settings = { truncation: this.cut?.value || null };
    try {
      await json(`/api/workspaces/${this.page?.settings.workspace}`, { method: "PATCH", body: { settings } });
      this.page?.contexts.forget();
      this.soon(0);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.querySelector("[data-shown]")?.replaceChildren(make("p", { className: "soft" }, told(error)));
    }
  }

  /** The list of models, as it is now. */
  fill() {
    const list = this.field("participant");
    const chosen = list.value;
    const options = this.models().map((who) => make("option", { value: who.id, textContent: who.name }));
    list.replaceChildren(list.options[0], ...options);
    list.value = this.models().some((who) => who.id === chosen) ? chosen : "";
    this.soon();
  }

  /** Whose context: the one chosen here, else the first one chosen in the composer. */
  whom() {
    const models = this.models();
    const chosen = this.field("participant").value;
    const [picked] = composer()?.asks?.picked() ?? [];
    return models.find((who) => who.id === chosen) ?? models.find((who) => who.id === picked?.id) ?? models[0];
  }

  soon(ms = SOON_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), ms);
  }

  async draw() {
    const { page } = this;
    const box = this.querySelector("[data-shown]");
    if (!page || !box || page.isPast || !this.checkVisibility()) return;
    const who = this.whom();
    if (!who) return void (box.textContent = t("No model is set up here yet: what one would be sent is shown here."));
    const how = this.field("how");
    const isPicked = this.field("participant").value === "";
    how.hidden = !who.is_agent || isPicked;
    const [picked] = composer()?.asks?.picked() ?? [];
    const asked = isPicked ? (picked?.how ?? "continue") : how.hidden ? "continue" : /** @type {"turn" | "continue"} */ (how.value);
    this.field("participant").options[0].textContent = t("{name}, who is asked next", { name: isPicked ? who.name : (this.models().find((model) => model.id === picked?.id)?.name ?? "") });
    const at = page.position;
    const number = this.draws.ask();
    try {
      const context = await this.read(who.id, at, asked);
      if (this.draws.isPast(number)) return;
      const focused = box.contains(document.activeElement) ? document.activeElement?.getAttribute("data-leave") : null;
      this.pointed = "";
      this.isRefused = false;
      lightNothing();
      this.shown = context.sections;
      box.replaceChildren(...contextParts(who.name, context, { opened: this.opened, without: page.contexts.without }));
      if (focused) /** @type {HTMLElement | null} */ (box.querySelector(`[data-leave="${CSS.escape(focused)}"]`))?.focus();
      this.dataset.of = `${who.id} ${page.position}`;
      if (isPicked) document.dispatchEvent(new CustomEvent("contexts"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.draws.isPast(number)) return;
      this.isRefused = true;
      box.replaceChildren(make("p", { className: "soft" }, told(error)));
    }
  }

  /** What somebody is sent, with what stands in the field of a dialogue. Where that does not fit, the server says
   * what is cut, as it will when it is sent. @param {string} participant @param {string} at @param {"turn" | "continue"} how */
  async read(participant, at, how) {
    const page = /** @type {import("../tree/page.js").TreePage} */ (this.page);
    const context = withTyped(await page.contexts.of(participant, at, how), composer()?.message() ?? "");
    this.isCut = how === "continue" && context.tokens > context.limit;
    if (!this.isCut) return context;
    await page.drafts.flush(placeAt(page, "buffer"));
    return page.contexts.of(participant, at, how, { isTyped: true });
  }

  /** @param {Element} target */
  pressed(target) {
    const part = target.closest("[data-leave]")?.getAttribute("data-leave");
    if (!part || !this.page) return;
    this.page.contexts.toggle(part);
    this.soon(0);
  }

  /** Lights what the part under the pointer is about: its row, its piece of the bar, and the passage. @param {Element | null} target */
  point(target) {
    const at = target?.closest("[data-at]")?.getAttribute("data-at") ?? "";
    if (at === this.pointed) return;
    this.pointed = at;
    for (const element of this.querySelectorAll("[data-at]")) element.classList.toggle("pointed", element.getAttribute("data-at") === at);
    const section = at ? this.shown[Number(at)] : undefined;
    if (section?.nodes.length) lightNodes(section.nodes);
    else if (section?.name === "LORE") lightWords([...section.note.matchAll(/“([^”]+)”/g)].map(([, word]) => word));
    else lightNothing();
  }

  /** @param {HTMLDetailsElement} box */
  toggled(box) {
    const { key } = box.dataset;
    if (key) this.opened[box.open ? "add" : "delete"](key);
  }
}
