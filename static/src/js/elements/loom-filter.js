// @ts-check
// The filter of map and outline: who wrote it, which tag it bears, bookmarked, pruned.

import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { t, tn } from "../t.js";

export class LoomFilter extends HTMLElement {
  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.build();
    this.page.addEventListener("store", () => this.countSoon(), { signal });
    this.page.addEventListener("changed", () => this.countSoon(), { signal });
    this.page.filter.addEventListener("filter", () => this.shown(), { signal });
    this.page.marks.addEventListener("marks", () => this.offerTags(), { signal });
    this.closest("nav")?.addEventListener("pane", () => this.fit(), { signal });
    // Who has written here is told by all texts: they are gone through when somebody looks.
    this.details?.addEventListener("toggle", () => this.offerAuthors(), { signal });
    this.page.addEventListener("store", () => this.details?.open && this.offerAuthors(), { signal });
    this.offerAuthors();
    this.offerTags();
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  build() {
    this.author = /** @type {HTMLSelectElement} */ (make("select"));
    this.tag = /** @type {HTMLSelectElement} */ (make("select"));
    this.bookmarked = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
    this.pruned = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox" }));
    this.off = make("button", { type: "button", className: "quiet", textContent: t("show all"), hidden: true });
    this.off.addEventListener("click", () => this.clear());
    this.status = make("span", { className: "filter-said" });
    this.status.setAttribute("role", "status");
    const fields = make(
      "div",
      { className: "filter-fields" },
      make("label", {}, t("Written by"), this.author),
      make("label", {}, t("Tagged"), this.tag),
      make("label", { className: "check" }, this.bookmarked, t("Bookmarked")),
      make("label", { className: "check" }, this.pruned, t("Pruned")),
    );
    fields.addEventListener("change", () => this.chosen());
    this.summary = make("summary", {}, t("Filter"));
    this.details = /** @type {HTMLDetailsElement} */ (make("details", {}, this.summary, fields));
    this.details.addEventListener("keydown", (event) => this.pressed(/** @type {KeyboardEvent} */ (event)));
    this.replaceChildren(this.details, make("p", { className: "filter-line" }, this.status, this.off));
  }

  /** Escape folds the fields. @param {KeyboardEvent} event */
  pressed(event) {
    event.stopPropagation();
    if (event.key !== "Escape" || !this.details?.open) return;
    this.details.open = false;
    this.summary?.focus();
  }

  /** Those who have written in this tree, in the order of the cast; everybody until that is known. */
  offerAuthors() {
    const { page, author } = this;
    if (!page || !author) return;
    const chosen = page.filter.wish.author;
    // The root has no words: who made the tree may have written none.
    const wrote = page.store && new Set(page.store.authors.filter((_, place) => page.store?.parents[place] !== null));
    const people = [...page.cast.values()].filter(({ id }) => !wrote || wrote.has(id) || id === chosen);
    author.replaceChildren(make("option", { value: "", textContent: t("anybody") }), ...people.map(({ id, name }) => make("option", { value: id, textContent: name })));
    author.value = chosen;
  }

  offerTags() {
    if (!this.tag) return;
    const chosen = this.page?.filter.wish.tag ?? "";
    const tags = this.page?.marks.tags() ?? [];
    // A chosen tag that nothing bears any more stays to be seen.
    if (chosen && !tags.includes(chosen)) tags.push(chosen);
    this.tag.replaceChildren(make("option", { value: "", textContent: t("anything") }), ...tags.map((tag) => make("option", { value: tag, textContent: tag })));
    this.tag.value = chosen;
    this.tag.disabled = !tags.length;
    this.countSoon();
  }

  chosen() {
    this.page?.filter.set({
      author: this.author?.value ?? "",
      tag: this.tag?.value ?? "",
      bookmarked: this.bookmarked?.checked ?? false,
      pruned: this.pruned?.checked ?? false,
    });
  }

  clear() {
    this.page?.filter.clear();
    this.summary?.focus();
  }

  /** Shows what is chosen, whoever chose it. */
  shown() {
    const filter = this.page?.filter;
    if (!filter || !this.author || !this.tag || !this.bookmarked || !this.pruned || !this.off) return;
    this.offerAuthors();
    this.tag.value = filter.wish.tag;
    this.bookmarked.checked = filter.wish.bookmarked;
    this.pruned.checked = filter.wish.pruned;
    this.off.hidden = !filter.isOn;
    this.toggleAttribute("data-on", filter.isOn);
    this.count();
  }

  countSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.count(), 150);
  }

  count() {
    const page = this.page;
    const sieve = page?.store && page.filter.sieve(page.store, page.marks);
    if (this.status) this.status.textContent = sieve ? tn("{n} text shown", "{n} texts shown", sieve.matches.size) : "";
  }

  /** Only map and outline are filtered. */
  fit() {
    this.hidden = document.getElementById("tab-bookmarks")?.getAttribute("aria-selected") === "true";
  }
}
