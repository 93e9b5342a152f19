// @ts-check
// The icicle in the map's frame: what it shows, where one points, how one moves, and what says the same in words.

import { json, Refused } from "../live/api.js";
import { t, tn } from "../t.js";
import { make } from "../tree/forms.js";
import { IcicleCamera } from "./icicle-camera.js";
import { drawIcicle } from "./icicle-draw.js";
import { covering, placeAt } from "./icicle.js";

/** @typedef {import("../elements/loom-map.js").LoomMap} LoomMap */
/** @typedef {import("../tree/store.js").TreeStore} TreeStore */
/** @typedef {import("./icicle.js").Places} Places */

/** Which texts the places are: those of the page's tree, or the branches of an overview.
 * @typedef {{count: number, idOf: (place: number) => string, authorOf: (place: number) => string, isPruned: (place: number) => boolean,
 *   placeOf: (id: string) => number, slotOf: (place: number) => number}} Texts */

const CRUMBS = 4;
const NAMED = 8; // authors in the legend
const LISTED = 30; // branches in the list
const READABLE = 24; // pixels of a cell that one can point at
const SHORT = 28; // characters of a crumb

/** @param {TreeStore} store @param {number[]} slots @returns {Texts} */
export function textsOf(store, slots) {
  const places = new Int32Array(store.ids.length).fill(-1);
  slots.forEach((slot, place) => {
    places[slot] = place;
  });
  return {
    count: slots.length,
    idOf: (place) => store.selected(slots[place]),
    authorOf: (place) => store.authors[slots[place]],
    isPruned: (place) => store.isPruned(slots[place]),
    placeOf: (id) => places[store.slotOf(id) ?? -1] ?? -1,
    slotOf: (place) => slots[place],
  };
}

/** The largest branches of a tree, while it is on its way.
 * @typedef {{ids: string[], parents: number[], authors: number[], participants: {id: string}[], sizes: number[], rows: number[]}} Overview */

/** @param {Overview} overview @returns {Texts} */
export function textsFrom({ ids, authors, participants }) {
  const places = new Map(ids.map((id, place) => [id, place]));
  return {
    count: ids.length,
    idOf: (place) => ids[place],
    authorOf: (place) => participants[authors[place]].id,
    isPruned: () => false,
    placeOf: (id) => places.get(id) ?? -1,
    slotOf: () => -1,
  };
}

/** How many texts each author has, most first. @param {Texts} texts @returns {[string, number][]} */
export function countsOf(texts) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (let place = 1; place < texts.count; place += 1) counts.set(texts.authorOf(place), (counts.get(texts.authorOf(place)) ?? 0) + 1);
  return [...counts].sort((first, other) => other[1] - first[1]);
}

/** @param {Float32Array} column */
function least(column) {
  return column.reduce((low, value) => Math.min(low, value), 1);
}

export class IcicleView {
  camera = new IcicleCamera();
  /** @type {Places | null} */
  places = null;
  /** @type {Texts | null} */
  texts = null;
  cursor = -1;
  /** @type {((place: number) => boolean) | null} */
  isMatch = null;
  /** @type {number[]} */
  hits = [];
  /** @type {{node: string, title: string}[] | null} chapters of the main line, once they have come */
  chapters = null;
  focus = -1; // the place that crumbs and list are about
  drawn = 0; // cells of the last picture

  /** @param {LoomMap} map */
  constructor(map) {
    this.map = map;
    const words = t("Where the map is");
    this.crumbs = make("nav", { className: "map-crumbs", ariaLabel: words });
    this.legend = make("ul", { className: "map-legend", ariaLabel: t("Authors on the map") });
    this.status = make("p", { className: "spoken" });
    this.status.setAttribute("role", "status");
    this.list = make("ol");
    this.branches = make("details", { className: "map-branches" }, make("summary", { textContent: t("Branches as a list") }), this.list);
    this.branches.addEventListener("toggle", () => this.listBranches());
  }

  /** @param {Places} places @param {Texts} texts */
  show(places, texts) {
    const isFirst = !this.places;
    const isWhole = this.camera.isWhole;
    const [before, at] = [this.texts, this.focus];
    const kept = before && at > 0 ? before.idOf(at) : "";
    Object.assign(this, { places, texts, focus: -1 });
    this.camera.resize(this.map.extent(), places.low[0] ?? 1, least(places.h));
    const again = kept ? texts.placeOf(kept) : -1;
    if (isFirst || isWhole) this.camera.fit();
    else if (again >= 0) this.enter(again);
    this.cursor = -1;
    this.sift();
    this.light(this.map.lit);
    this.tellLegend();
    if (this.map.page?.store) this.loadChapters();
  }

  resized() {
    const isWhole = this.camera.isWhole;
    this.camera.resize(this.map.extent(), this.places?.low[0] ?? 1, this.places ? least(this.places.h) : 1);
    if (isWhole) this.camera.fit();
  }

  /** What a filter lets through. */
  sift() {
    const { page } = this.map;
    const matches = page?.store && page.filter.sieve(page.store, page.marks)?.matches;
    this.isMatch = matches && this.texts ? (place) => matches.has(this.texts?.slotOf(place) ?? -1) : null;
  }

  /** @param {string[]} ids what a search has found */
  light(ids) {
    this.hits = ids.map((id) => this.texts?.placeOf(id) ?? -1).filter((place) => place >= 0);
  }

  async loadChapters() {
    const { page } = this.map;
    if (this.chapters || !page) return;
    this.chapters = [];
    try {
      const manuscript = await json(`${page.api}/manuscript`);
      this.chapters = manuscript.chapters.filter((/** @type {{title: string}} */ chapter) => chapter.title);
      this.map.redraw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /** @param {CanvasRenderingContext2D} pen @param {import("./draw.js").Ink} ink */
  paint(pen, ink) {
    const { places, texts, camera } = this;
    const { page } = this.map;
    if (!places || !texts || !page) return;
    const colourOf = (/** @type {string} */ id) => page.cast.get(id)?.colour ?? 0;
    const pins = page.here.flatMap(({ participant, node }) => {
      const place = participant === page.settings.me ? -1 : texts.placeOf(node);
      return place < 0 ? [] : [{ place, colour: colourOf(participant), name: page.cast.get(participant)?.name ?? "" }];
    });
    const shown = {
      count: texts.count,
      colourOf: (/** @type {number} */ place) => colourOf(texts.authorOf(place)),
      isPruned: texts.isPruned,
      wordsOf: (/** @type {number} */ place) => (place ? page.excerpts.of(texts.idOf(place)) : ""),
      isMatch: this.isMatch,
      hits: this.hits,
      position: texts.placeOf(page.position),
      cursor: this.cursor,
      pins,
      labels: this.labels(),
    };
    this.drawn = drawIcicle({ pen, places, camera, shown, ink });
    this.tellPlace();
  }

  /** Chapters and bookmarks, by place. */
  labels() {
    const { texts } = this;
    const { page } = this.map;
    if (!texts || !page) return [];
    const labels = (this.chapters ?? []).map(({ node, title }) => ({ place: texts.placeOf(node), words: title, isChapter: true }));
    const named = new Set(labels.map(({ place }) => place));
    for (const mark of page.marks.all.values()) {
      const place = mark.kind === "bookmark" ? texts.placeOf(mark.item) : -1;
      if (!named.has(place)) labels.push({ place, words: mark.label, isChapter: false });
    }
    return labels.filter(({ place }) => place >= 0);
  }

  // Pointing and going.

  /** @param {number} px @param {number} py */
  at(px, py) {
    const { x, row } = this.camera.under(px, py);
    return this.places ? placeAt(this.places, x, row) : undefined;
  }

  /** Goes to a text; where its branch is too narrow to be read, that grows. @param {number} place */
  choose(place) {
    const { places, texts } = this;
    const { page } = this.map;
    if (!places || !texts || !page) return;
    this.cursor = place;
    if ((places.w[place] / this.camera.span) * this.camera.frame.width < READABLE && places.size[place] > 1) this.enter(place);
    page.go(texts.idOf(place));
    this.map.redraw();
  }

  /** Shows a branch as wide as the map. @param {number} place */
  enter(place) {
    const { places } = this;
    if (!places) return;
    if (place <= 0) this.camera.fit();
    else this.camera.branch(places.x[place], places.w[place], places.y[place], places.low[place]);
    this.map.redraw();
  }

  /** Shows the reader's position, if it is out of sight. @param {boolean} [isForced] also if it can be seen */
  find(isForced = false) {
    const { places, texts, camera } = this;
    const place = texts?.placeOf(this.map.page?.position ?? "") ?? -1;
    if (!places || place < 0) return;
    const x = camera.toX(places.x[place] + places.w[place] / 2);
    const y = camera.toY(places.y[place]);
    const isSeen = x >= 0 && x <= camera.frame.width && y >= 0 && y <= camera.frame.height;
    if (isSeen && !isForced) return;
    let top = place; // the smallest branch around it that shows where it is
    for (let up = this.parentOf(top); up > 0 && places.size[top] < 12; up = this.parentOf(top)) top = up;
    this.enter(top);
  }

  /** @param {number} place */
  parentOf(place) {
    const { places, texts } = this;
    const store = this.map.page?.store;
    if (!places || !texts || place <= 0) return -1;
    const above = store?.parents[texts.slotOf(place)];
    if (above !== null && above !== undefined) return texts.placeOf(store?.ids[above] ?? "");
    return placeAt(places, places.x[place] + places.w[place] / 2, places.y[place] - 0.01) ?? -1;
  }

  /** @param {string} key */
  pressed(key) {
    const { places, texts } = this;
    if (!places || !texts) return false;
    const here = this.cursor >= 0 ? this.cursor : Math.max(0, texts.placeOf(this.map.page?.position ?? ""));
    const kids = (/** @type {number} */ place) => [...places.kids.subarray(places.starts[place], places.starts[place + 1])];
    const beside = (/** @type {number} */ step) => {
      const row = kids(this.parentOf(here));
      return row[row.indexOf(here) + step];
    };
    const widest = () => kids(here).reduce((best, kid) => (best === undefined || places.w[kid] > places.w[best] ? kid : best), /** @type {number | undefined} */ (undefined));
    /** @type {Record<string, () => number | undefined>} */
    const steps = { ArrowUp: () => this.parentOf(here), ArrowDown: widest, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => 0 };
    if (key === "Enter") this.choose(here);
    else if (key === "z") this.enter(here);
    else if (key === "Backspace") this.enter(this.parentOf(this.focus));
    else if (steps[key]) this.point(steps[key]() ?? -1);
    else return false;
    return true;
  }

  /** Puts the cursor of the keys somewhere, in sight, and says what is there. @param {number} place */
  point(place) {
    const { places, camera } = this;
    if (place < 0 || !places) return;
    this.cursor = place;
    const wide = (places.w[place] / camera.span) * camera.frame.width;
    const [x, y] = [camera.toX(places.x[place] + places.w[place] / 2), camera.toY(places.y[place])];
    if (wide < 3 || x < 0 || x > camera.frame.width) this.enter(Math.max(0, this.parentOf(place)));
    if (y < 0 || y > camera.frame.height - camera.row) {
      camera.top = places.y[place] - 2;
      camera.hold();
    }
    this.status.textContent = this.describe(place);
    this.map.redraw();
  }

  /** A text in a sentence. @param {number} place */
  describe(place) {
    const { places, texts } = this;
    const { page } = this.map;
    if (!places || !texts || !page) return "";
    if (place === 0) return t("The root");
    const below = places.size[place] - 1;
    const count = below ? tn("1 text below", "{n} texts below", below) : t("nothing below");
    return `${page.cast.get(texts.authorOf(place))?.name ?? ""}: ${page.excerpts.of(texts.idOf(place)) || texts.idOf(place)} · ${count}`;
  }

  // In words.

  /** The crumbs, when the place has changed. */
  tellPlace() {
    const { places, texts } = this;
    if (!places || !texts) return;
    // A run without a fork is one place: where it begins.
    const path = covering(places, this.camera.view()).filter((_place, at, all) => !at || places.starts[all[at - 1] + 1] - places.starts[all[at - 1]] > 1);
    const focus = path[path.length - 1] ?? -1;
    const names = path.map((place) => this.nameOf(place));
    const key = names.join("\n");
    if (focus === this.focus && this.crumbs.dataset.key === key) return;
    this.focus = focus;
    this.crumbs.dataset.key = key;
    const shown = path.length > CRUMBS ? [path[0], -1, ...path.slice(1 - CRUMBS)] : path;
    this.crumbs.replaceChildren(...shown.map((place) => {
      if (place < 0) return make("span", { textContent: "…" });
      const crumb = make("button", { type: "button", className: "quiet", textContent: this.nameOf(place) });
      if (place === focus) crumb.setAttribute("aria-current", "true");
      crumb.addEventListener("click", () => this.enter(place));
      return crumb;
    }));
    this.crumbs.hidden = path.length < 2;
    this.listBranches();
  }

  /** @param {number} place */
  nameOf(place) {
    if (place <= 0) return t("Whole tree");
    const id = this.texts?.idOf(place) ?? "";
    const words = this.map.page?.excerpts.of(id) || id;
    return words.length > SHORT ? `${words.slice(0, SHORT).trimEnd()}…` : words;
  }

  tellLegend() {
    const { texts } = this;
    const { page } = this.map;
    if (!texts || !page) return;
    const counts = countsOf(texts);
    const items = counts.slice(0, NAMED).map(([id, n]) => {
      const swatch = make("span", { className: "swatch" });
      swatch.style.background = `var(--thread-${page.cast.get(id)?.colour ?? 0})`;
      return make("li", {}, swatch, page.cast.get(id)?.name ?? "", make("span", { className: "count", textContent: n.toLocaleString(document.documentElement.lang || "en") }));
    });
    if (counts.length > NAMED) items.push(make("li", { textContent: tn("and 1 more", "and {n} more", counts.length - NAMED) }));
    items.push(make("li", { className: "age" }, make("span", { className: "ramp" }), t("the stronger, the newer")));
    this.legend.replaceChildren(...items);
  }

  /** The branches of the place in view, widest first: the picture as a list. */
  listBranches() {
    const { places, texts } = this;
    if (!places || !texts || !(/** @type {HTMLDetailsElement} */ (this.branches).open) || this.focus < 0) return;
    let fork = this.focus;
    while (places.starts[fork + 1] - places.starts[fork] === 1) fork = places.kids[places.starts[fork]];
    const kids = [...places.kids.subarray(places.starts[fork], places.starts[fork + 1])].sort((first, other) => places.size[other] - places.size[first]);
    this.list.replaceChildren(...kids.slice(0, LISTED).map((place) => {
      const go = make("button", { type: "button", className: "quiet", textContent: this.describe(place) });
      go.addEventListener("click", () => {
        if (places.size[place] > 1) this.enter(place);
        else this.choose(place);
      });
      return make("li", {}, go);
    }));
    if (kids.length > LISTED) this.list.append(make("li", { textContent: tn("and 1 more", "and {n} more", kids.length - LISTED) }));
    if (!kids.length) this.list.append(make("li", { textContent: tn("No branch: 1 text", "No branch: {n} texts one below the other", places.size[this.focus]) }));
  }

  /** Words have come. */
  named() {
    if (this.status.textContent) this.status.textContent = this.describe(this.cursor);
    this.listBranches();
    this.map.redraw();
  }
}
