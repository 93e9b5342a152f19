// @ts-check
// The root of a tree page: makes what its parts share, and hears links, history and tabs.

import { callOf } from "../live/calls.js";
import { perform, readVersions } from "../tree/actions.js";
import "../tree/compare.js";
import { keepCast } from "../tree/cast.js";
import { followComments } from "../tree/commenting.js";
import { followWordings } from "../tree/newer-wordings.js";
import { offerEvidence } from "../tree/evidence.js";
import { CheckBadges } from "../tree/check-badges.js";
import { Tasks } from "../tree/tasks.js";
import { giveFeedback } from "../tree/feedback.js";
import "../tree/folds.js";
import "../tree/linking.js";
import { keepReadable } from "../tree/offline-copy.js";
import { listenForKeys } from "../tree/keys.js";
import { listenForLinkDrags } from "../tree/linking.js";
import { keepExports, keepMenusInSight, shutAround } from "../tree/menus.js";
import { followModes } from "../tree/modes.js";
import { followPrunedPlace } from "../tree/pruned-place.js";
import { followQuestions } from "../tree/asked.js";
import { followNews } from "../tree/news.js";
import { followRatings } from "../tree/ratings.js";
import { followRights } from "../tree/rights.js";
import { followHiddenDrafts } from "../tree/hidden-drafts.js";
import { followSignIn } from "../tree/signed-out.js";
import { TreePage } from "../tree/page.js";
import { t } from "../t.js";

export class LoomTree extends HTMLElement {
  connectedCallback() {
    const settings = document.getElementById("tree-settings");
    this.page = new TreePage(JSON.parse(settings?.textContent ?? "{}"));
    this.stop = new AbortController();
    const { signal } = this.stop;
    history.replaceState({ node: this.page.position }, "");
    document.addEventListener("click", (event) => this.clicked(event), { signal });
    window.addEventListener("popstate", (event) => this.popped(event), { signal });
    this.page.addEventListener("moved", () => this.show("thread"), { signal });
    this.page.addEventListener("details", (event) => this.details(/** @type {CustomEvent} */ (event).detail), { signal });
    this.off = this.page.events.on("tree.changed", ({ payload }) => this.rename(payload));
    this.page.marks.addEventListener("tree-tags", () => document.body.dispatchEvent(new Event("tree-tags")), { signal });
    giveFeedback(this.page, signal);
    listenForKeys(this.page, signal);
    listenForLinkDrags(this.page, signal);
    keepExports(this.page, signal);
    keepMenusInSight(signal);
    keepCast(this.page, signal);
    followModes(signal);
    readVersions(this.page, signal);
    this.page.start();
    keepReadable(this.page, signal);
    offerEvidence(this.page, signal);
    new Tasks(this.page, signal);
    new CheckBadges(this.page, signal);
    followNews(this.page, signal);
    followQuestions(this.page, signal);
    followRatings(this.page, signal);
    followRights(this.page, signal);
    followComments(this.page, signal);
    followWordings(this.page, signal);
    followSignIn(this.page, signal);
    followHiddenDrafts(this.page, signal);
    followPrunedPlace(this.page, signal);
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.off?.();
    this.page?.stop();
  }

  /** @param {{title?: string}} changed */
  rename({ title }) {
    const shown = document.querySelector("[data-title]");
    if (title === undefined || !shown) return;
    shown.textContent = title || t("Untitled tree");
    document.title = `${shown.textContent} · Heddle`;
  }

  /** Links to nodes of this tree move the tab instead of loading the page. @param {MouseEvent} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target);
    shutAround(target);
    const pane = target.closest("[data-pane]");
    if (pane) return this.show(pane.getAttribute("data-pane") ?? "thread");
    this.point(target);
    const button = target.closest("[data-act], [data-call]");
    if (button) return this.act(button);
    const link = target.closest("[data-go], a.ref");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const id = link.getAttribute("data-go") ?? link.getAttribute("data-ref") ?? "";
    // A name in a text leads away if it names something else, or nothing that is known here.
    if (link instanceof HTMLAnchorElement && link.matches(".ref") && (link.pathname !== this.page?.web || (this.page?.store?.slotOf(id) ?? null) === null)) return;
    event.preventDefault();
    const store = this.page?.store;
    const slot = link.hasAttribute("data-slot") ? store?.slotOf(id) : undefined;
    // A sibling is drawn with its newest version; the reader may have chosen another.
    this.page?.go(slot === undefined || slot === null ? id : store?.selected(slot) ?? id);
  }

  /** @param {Element} button */
  act(button) {
    const page = /** @type {TreePage} */ (this.page);
    const what = callOf(button);
    if (what && button.closest("loom-windows, loom-workspace")) return; // they run it in the workspace that they show
    if (what) return void page.say(what).catch(() => {});
    const host = button.closest("article[data-id], .details[data-id], .passage-thread[data-id]");
    if (!host || host.matches(".card")) return;
    const id = host.getAttribute("data-id") ?? "";
    perform(button.getAttribute("data-act") ?? "", { page, id, host, button });
  }

  /** A text that is pressed is shown beside. @param {Element} target */
  point(target) {
    const run = target.closest(".run[data-id]");
    if (run && getSelection()?.isCollapsed) this.details(run.getAttribute("data-id") ?? "", false);
  }

  /** Shows one node in the side pane. @param {string} id @param {boolean} [open] on a phone, go there */
  details(id, open = true) {
    for (const run of document.querySelectorAll(".run")) run.classList.toggle("chosen", run.getAttribute("data-id") === id);
    const panel = /** @type {import("./loom-panel.js").LoomPanel | null} */ (document.querySelector("loom-panel[data-of-node]"));
    panel?.look(id);
    document.getElementById("tab-node")?.click();
    panel?.scrollIntoView({ block: "nearest" });
    if (open) this.show("side");
  }

  /** @param {PopStateEvent} event */
  popped(event) {
    const node = event.state?.node ?? new URL(location.href).searchParams.get("node");
    if (node) this.page?.go(node, { history: false });
  }

  /** On a phone, which of the three panes is seen. @param {string} pane */
  show(pane) {
    this.dataset.shown = pane;
    for (const button of document.querySelectorAll(".pane-tabs [data-pane]")) {
      button.toggleAttribute("aria-current", false);
      if (button.getAttribute("data-pane") === pane) button.setAttribute("aria-current", "true");
    }
    this.dispatchEvent(new CustomEvent("pane", { detail: pane, bubbles: true }));
  }
}
