// @ts-check
// The map by meaning: texts as dots on a landscape of their density. The list of regions beside it
// says the same in words; a text that is chosen is shown there with its way from the root.

import { colouringOf, WAYS } from "../landscape/colouring.js";
import { boxOf, Eye } from "../landscape/eye.js";
import { fieldOf } from "../landscape/field.js";
import { Finder } from "../landscape/finder.js";
import { listen } from "../landscape/gestures.js";
import { Picture } from "../landscape/picture.js";
import { ChosenText, PickedTexts } from "../landscape/beside.js";
import { json, part, Refused, told } from "../live/api.js";
import { LiveSocket } from "../live/socket.js";
import { language, t, tn } from "../t.js";
import { onTheme, withColours } from "../theme.js";
import { make } from "../tree/forms.js";

/** @typedef {import("../landscape/colouring.js").Points} Points */

const REST_MS = 90; // after the last movement
const FLIGHT_MS = 420;
const AGAIN_MS = 1200; // between looks at a map that is being drawn
const NEWS_MS = 4000; // between looks whether new texts have found their place
const QUIET_MS = 20_000; // between them where nothing came for a while, and no socket tells
const MOST_QUIET = 5; // looks without news after something happened; a worker has placed it by then
const FRESH_MS = 6000; // that new texts are ringed
const GROWTH_MS = 9000; // that all texts take to appear
const KEPT = "heddle.landscape"; // where the reader's choice of colours is kept

export class LoomLandscape extends HTMLElement {
  eye = new Eye();
  /** @type {Points | null} */
  points = null;
  /** @type {Picture | null} */
  picture = null;
  /** @type {HTMLCanvasElement | null} */
  canvas = null;
  /** @type {Finder | null} */
  finder = null;
  /** @type {import("../landscape/field.js").Field | null} */
  field = null;
  /** @type {number[] | undefined} how dense the field of all texts is at most */
  peak;
  /** @type {import("../landscape/colouring.js").Colouring | null} */
  colouring = null;
  way = localStorage.getItem(KEPT) ?? "author";
  /** @type {Set<number>} entries of the legend that alone are in colour; empty: all */
  only = new Set();
  shade = new Uint8Array();
  /** @type {number[][]} */
  colours = [];
  order = new Int32Array();
  isLit = new Uint8Array();
  chosen = -1;
  hovered = -1;
  /** @type {number[]} */
  picked = [];
  /** @type {[number, number][]} what is being drawn around texts, in pixels */
  line = [];
  isLasso = false;
  frameAsked = 0;
  movedAt = 0;
  /** @type {Map<string, string>} */
  excerpts = new Map();
  /** @type {number[][]} */
  offspring = [];

  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    if (this.dataset.open) return this.watch();
    this.canvas = this.querySelector("canvas");
    if (!this.canvas || !this.dataset.points) return;
    this.picture = new Picture(this.canvas);
    this.frame = /** @type {HTMLElement} */ (this.canvas.parentElement);
    this.tip = /** @type {HTMLElement} */ (this.querySelector("[data-tip]"));
    this.text = new ChosenText(this, /** @type {HTMLElement} */ (this.querySelector("[data-text]")));
    this.several = new PickedTexts(this, /** @type {HTMLElement} */ (this.querySelector("[data-picked]")));
    listen(this, signal);
    this.wire(signal);
    onTheme(() => this.themed(), signal);
    this.size = new ResizeObserver(() => this.resized());
    this.size.observe(this.frame);
    document.addEventListener("visibilitychange", () => document.hidden || this.lookSoon(0), { signal });
    this.follow(signal);
    void this.load(signal);
  }

  /** Follows the events of the tree: while they come there is no need to look again and again.
   * @param {AbortSignal} signal */
  follow(signal) {
    if (!this.dataset.socket) return;
    this.seq = Number(this.dataset.seq);
    const socket = new LiveSocket(this.dataset.socket, () => this.seq);
    socket.addEventListener("frame", (event) => this.heard(/** @type {CustomEvent} */ (event).detail));
    socket.addEventListener("state", (event) => {
      this.isFollowed = /** @type {CustomEvent} */ (event).detail.state === "live";
      if (!this.isFollowed && this.points) this.lookSoon();
    });
    signal.addEventListener("abort", () => socket.stop());
    socket.start();
  }

  seq = 0;
  isFollowed = false;

  /** A text that was written is indexed and placed some seconds later, so it is looked for then.
   * @param {{type: string, event?: {seq: number, kind: string}}} frame */
  heard({ type, event }) {
    if (type !== "event" || !event) return;
    this.seq = event.seq;
    if (!event.kind.startsWith("node.") || !this.points) return;
    const isResting = this.later === undefined;
    this.quiet = 0;
    if (isResting) this.lookSoon();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.size?.disconnect();
    clearTimeout(this.later);
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  later;

  /** Looks again and again how far the drawing has come; once it is done the page is loaded again. */
  watch() {
    this.later = setTimeout(async () => {
      try {
        const now = await json(this.dataset.status ?? "", { signal: this.stop?.signal });
        const meter = this.querySelector("progress");
        if (meter) meter.value = now.done;
        const percent = this.querySelector("[data-percent]");
        if (percent) percent.textContent = `${Math.round(now.done * 100)} %`;
        if (now.status !== "waiting" && now.status !== "running") return location.reload();
      } catch (error) {
        if (error instanceof DOMException) return;
        if (!(error instanceof Refused)) throw error;
      }
      this.watch();
    }, AGAIN_MS);
  }

  /** @param {AbortSignal} signal */
  async load(signal) {
    try {
      const points = await json(this.dataset.points ?? "", { signal });
      this.take(points);
      // Titles may have come between the page and its points.
      if (Number(this.dataset.titled) === points.titled) return;
      this.recount(points);
      this.querySelector("[data-titling]")?.remove();
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof Refused)) throw error;
      this.say(told(error));
    }
  }

  /** Looks after a while whether new texts have found their place, more seldom the longer none came;
   * not at all where the socket says when something happens.
   * @param {number} [after] ms; nothing: by how long none came */
  lookSoon(after) {
    clearTimeout(this.later);
    this.later = undefined;
    if (!this.dataset.status || !this.isConnected) return;
    const isTold = this.isFollowed && this.quiet >= MOST_QUIET && !this.querySelector("[data-titling]");
    if (after === undefined && isTold) return;
    const pause = after ?? Math.min(QUIET_MS, NEWS_MS * 1.2 ** this.quiet);
    this.later = setTimeout(() => void this.look(), pause);
  }

  quiet = 0; // looks without news

  /** Takes in texts that have found their place: the others stay where they are. */
  async look() {
    this.later = undefined;
    if (document.hidden || !this.points) return;
    this.quiet += 1;
    const signal = this.stop?.signal;
    try {
      const now = await json(this.dataset.status ?? "", { signal });
      if (now.revision === this.points.revision && (now.placed !== this.points.placed || now.titled !== this.points.titled)) {
        this.quiet = 0;
        this.update(await json(this.dataset.points ?? "", { signal }));
      } else if (now.revision !== this.points.revision) this.say(t("There is a newer drawing of the map. Refresh the page to see it."));
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof Refused)) throw error;
    }
    this.lookSoon();
  }

  /** Shows points of which some are new: the view, what is chosen and what is picked stay.
   * @param {Points} points */
  update(points) {
    const before = this.points;
    if (!before) return;
    const name = (/** @type {Points} */ { ids, tree, trees }, /** @type {number} */ at) => `${trees[tree[at] ?? 0]?.id}/${ids[at]}`;
    const places = new Map(points.ids.map((_, at) => [name(points, at), at]));
    const now = (/** @type {number} */ at) => (at < 0 ? -1 : (places.get(name(before, at)) ?? -1));
    const [chosen, picked] = [now(this.chosen), this.picked.map(now).filter((at) => at >= 0)];
    const known = new Set(before.ids.map((_, at) => name(before, at)));
    this.fresh = points.ids.map((_, at) => at).filter((at) => !known.has(name(points, at)));
    this.hover(-1, 0, 0);
    this.isPlaying = false;
    this.chosen = chosen;
    this.picked = picked;
    this.show(points);
    this.recount(points);
    this.querySelector("[data-titling]")?.remove();
    if (this.fresh.length) this.say(tn("{n} text found its place; the others did not move.", "{n} texts found their place; the others did not move.", this.fresh.length));
    clearTimeout(this.ringed);
    this.ringed = setTimeout(() => {
      this.fresh = [];
      this.redraw();
    }, FRESH_MS);
  }

  /** @type {number[]} texts that have just come */
  fresh = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  ringed;

  /** The list beside the map, and how many texts there are, as the new points say. @param {Points} points */
  recount(points) {
    const count = this.querySelector("[data-count]");
    if (count) count.textContent = tn("{n} text", "{n} texts", points.ids.length);
    const list = this.querySelector(".landscape-regions");
    if (!list) return;
    /** @param {number} within @returns {HTMLElement[]} */
    const rows = (within) =>
      points.regions.flatMap((region, at) => {
        if (region.within !== within || (within < 0 && region.level)) return [];
        const link = make("a", { href: `?${[this.dataset.asked, `region=${at}`].filter(Boolean).join("&")}`, textContent: nameOf(region), dir: "auto" });
        link.dataset.region = String(at);
        const inner = region.level < 1 ? rows(at) : [];
        return [make("li", {}, link, " ", make("span", { className: "soft", textContent: String(region.count) }), ...(inner.length > 1 ? [make("ul", {}, ...inner)] : []))];
      });
    list.replaceChildren(...rows(-1));
  }

  /** Shows these points. @param {Points} points */
  take(points) {
    this.show(points);
    this.eye.fit();
    this.frame?.setAttribute("data-ready", "");
    const start = points.ids.indexOf(this.dataset.node ?? "");
    if (start >= 0) this.choose(start);
    this.redraw();
    this.lookSoon();
  }

  /** @param {Points} points */
  show(points) {
    this.points = points;
    const count = points.ids.length;
    this.isLit = new Uint8Array(count).fill(points.lit ? 0 : 1);
    for (const at of points.lit ?? []) this.isLit[at] = 1;
    this.finder = new Finder(points.x, points.y);
    this.field = fieldOf(points.x, points.y, null);
    this.peak = this.field.peak;
    this.byTime = null;
    this.grown = 1;
    // Neighbours in memory are neighbours on the map; what is lit is drawn over the rest.
    const { texts } = this.finder;
    this.order = Int32Array.from([...texts.filter((at) => !this.isLit[at]), ...shuffled(texts.filter((at) => this.isLit[at]))]);
    this.offspring = [];
    this.colour();
    this.resized();
  }

  /** Takes in the way of colouring and what of it is in colour. */
  colour() {
    if (!this.points) return;
    const isDark = this.isDark();
    this.colouring = colouringOf(this.points, this.way, isDark, {
      others: t("others"),
      people: t("people"),
      plus: t("rated +"),
      minus: t("rated −"),
      none: t("not rated"),
      unknown: t("no probabilities"),
      bits: (bits) => t("{n} bits a token", { n: bits.toLocaleString(language(), { maximumFractionDigits: 1 }) }),
      untitled: t("Untitled"),
      day: (seconds) => new Date(seconds * 1000).toLocaleDateString(language(), { dateStyle: "medium" }),
    });
    const faint = isDark ? [150, 146, 138, 0.16] : [90, 84, 76, 0.14];
    this.colours = [...this.colouring.entries.map(({ colour }) => colour), faint];
    const last = this.colours.length - 1;
    const count = this.points.ids.length;
    this.shade = Uint8Array.from(this.colouring.of, (colour, at) => (this.isLit[at] && (!this.only.size || this.only.has(colour)) ? colour : last));
    if (this.grown < 1 && this.byTime) {
      for (const at of this.byTime.subarray(Math.round(this.grown * count))) this.shade[at] = last + 1;
    } else this.legend();
    this.picture?.stale();
    this.redraw();
  }

  /** Draws the legend: what each colour means; pressing one leaves it alone in colour. */
  legend() {
    const host = this.querySelector("[data-legend]");
    const { entries } = this.colouring ?? { entries: [] };
    if (!host) return;
    const ramp = this.colouring?.ramp ?? 0;
    /** @type {(HTMLElement | string)[]} */
    const along = [];
    if (entries.slice(0, ramp).some(({ count }) => count)) {
      const bar = make("span", { className: "landscape-ramp" });
      bar.style.setProperty("--ramp", entries.slice(0, ramp).map(({ colour }) => `rgb(${colour.join(" ")})`).join(", "));
      along.push(entries[0].words, bar, entries[ramp - 1].words);
    }
    host.replaceChildren(
      ...along,
      ...entries.flatMap(({ words, count, colour }, at) => {
        if (!count || at < ramp) return [];
        const swatch = make("span", { className: "landscape-swatch" });
        swatch.style.setProperty("--swatch", `rgb(${colour.join(" ")})`);
        const button = make("button", { type: "button", className: "landscape-entry" }, swatch, make("span", { className: "landscape-name", textContent: words, dir: "auto" }), make("span", { className: "soft", textContent: count.toLocaleString(language()) }));
        button.setAttribute("aria-pressed", String(this.only.has(at)));
        button.addEventListener("click", () => {
          if (!this.only.delete(at)) this.only.add(at);
          this.colour();
        });
        return [button];
      }),
    );
  }

  /** @param {AbortSignal} signal */
  wire(signal) {
    const on = (/** @type {string} */ what, /** @type {(button: HTMLElement) => void} */ run) => {
      const button = /** @type {HTMLElement | null} */ (this.querySelector(`[data-${what}]`));
      button?.addEventListener("click", () => run(button), { signal });
    };
    const middle = () => /** @type {[number, number]} */ ([this.eye.frame.width / 2, this.eye.frame.height / 2]);
    on("nearer", () => this.zoom(1.5, ...middle()));
    on("farther", () => this.zoom(1 / 1.5, ...middle()));
    on("fit", () => this.fly(() => this.eye.fit()));
    on("lasso", () => this.setLasso(!this.isLasso));
    on("full", () => this.toggleFull());
    on("play", () => this.play());
    on("save", () => void this.save());
    this.until = /** @type {HTMLInputElement | null} */ (this.querySelector("[data-until]"));
    this.until?.addEventListener("input", () => {
      this.isPlaying = false;
      this.showUntil(Number(this.until?.value) / 1000);
    }, { signal });
    const select = /** @type {HTMLSelectElement | null} */ (this.querySelector("[data-colours]"));
    if (select) {
      if (!WAYS.includes(this.way)) this.way = "author";
      select.value = this.way;
      select.addEventListener("change", () => {
        this.way = select.value;
        localStorage.setItem(KEPT, this.way);
        this.only.clear();
        this.colour();
      }, { signal });
    }
    this.addEventListener("click", (event) => {
      const link = /** @type {Element} */ (event.target).closest("[data-region]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.showRegion(Number(/** @type {HTMLElement} */ (link).dataset.region));
    }, { signal });
    for (const part of this.querySelectorAll(".landscape-tools, .landscape-frame, .landscape-legend")) part.removeAttribute("hidden");
  }

  /** Flies to a region and lists its texts. @param {number} number */
  showRegion(number) {
    const region = this.points?.regions[number];
    if (!region) return;
    const zoom = [2.2, 4.8, 8][region.level];
    this.fly(() => {
      this.eye.scale = this.eye.whole * zoom;
      this.eye.centre(region.x, region.y);
    });
    for (const row of this.querySelectorAll("[data-region]")) row.toggleAttribute("aria-current", /** @type {HTMLElement} */ (row).dataset.region === String(number));
    void this.several?.region(number, nameOf(region));
  }

  /** Goes on to a view step by step, unless the reader wants no movement. @param {() => void} look */
  fly(look) {
    const { eye } = this;
    const from = { scale: eye.scale, at: eye.toWorld(eye.frame.width / 2, eye.frame.height / 2) };
    look();
    const to = { scale: eye.scale, at: eye.toWorld(eye.frame.width / 2, eye.frame.height / 2) };
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.redraw();
    const began = performance.now();
    this.flight = (this.flight ?? 0) + 1;
    const own = this.flight;
    const step = () => {
      if (own !== this.flight || !this.isConnected) return;
      const share = Math.min(1, (performance.now() - began) / FLIGHT_MS);
      const k = share * share * (3 - 2 * share);
      eye.scale = Math.exp(Math.log(from.scale) + (Math.log(to.scale) - Math.log(from.scale)) * k);
      // The way over the ground goes with the scale, so that it looks even.
      const along = Math.abs(to.scale - from.scale) < 1e-9 ? k : (1 / eye.scale - 1 / from.scale) / (1 / to.scale - 1 / from.scale);
      eye.centre(from.at[0] + (to.at[0] - from.at[0]) * along, from.at[1] + (to.at[1] - from.at[1]) * along);
      this.moved();
      if (share < 1) requestAnimationFrame(step);
    };
    step();
  }

  flight = 0;

  isDark() {
    const scheme = getComputedStyle(this).colorScheme;
    return scheme === "dark" || (scheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches);
  }

  themed() {
    this.inks = undefined;
    this.colour();
  }

  /** @type {import("../landscape/picture.js").Ink | undefined} */
  inks;

  ink() {
    if (this.inks) return this.inks;
    const isDark = this.isDark();
    const inks = withColours(this, (colour) => ({
      ink: colour("--ink"),
      paper: colour("--raised"),
      link: colour("--link"),
      prose: getComputedStyle(this).getPropertyValue("--prose"),
      halo: isDark ? "rgb(24 29 32)" : "rgb(251 248 238)",
      rim: isDark ? [18, 22, 26] : [255, 253, 246],
    }));
    this.inks = inks;
    return inks;
  }

  resized() {
    if (!this.frame || !this.picture || !this.points) return;
    const { clientWidth, clientHeight } = this.frame;
    if (!clientWidth || !clientHeight) return;
    this.picture.resize(clientWidth, clientHeight);
    this.eye.fitTo(clientWidth, clientHeight, boxOf(this.points.x, this.points.y));
    this.redraw();
  }

  /** @param {number} factor @param {number} px @param {number} py */
  zoom(factor, px, py) {
    this.flight += 1;
    this.eye.zoomBy(factor, px, py);
    this.moved();
  }

  /** The view has moved: images are made again once it rests. */
  moved() {
    this.movedAt = performance.now();
    this.redraw();
  }

  redraw() {
    if (this.frameAsked || !this.points) return;
    this.frameAsked = requestAnimationFrame(() => {
      this.frameAsked = 0;
      this.draw();
    });
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  rest;

  draw() {
    const { points, picture, field } = this;
    if (!points || !picture || !field) return;
    const isResting = performance.now() - this.movedAt > REST_MS;
    const isOld = picture.draw(
      {
        eye: this.eye,
        points,
        field,
        isDark: this.isDark(),
        colourOf: this.shade,
        colours: this.colours,
        order: this.order,
        ink: this.ink(),
        way: this.wayOf(this.chosen >= 0 ? this.chosen : this.hovered),
        below: this.chosen >= 0 ? this.below(this.chosen) : [],
        chosen: this.chosen,
        hovered: this.hovered,
        picked: this.picked,
        fresh: this.fresh,
        line: this.line,
      },
      isResting,
    );
    clearTimeout(this.rest);
    if (isOld && isResting) this.redraw();
    else if (isOld) this.rest = setTimeout(() => this.redraw(), REST_MS + 10);
  }

  /** The texts from the beginning to one. @param {number} at */
  wayOf(at) {
    /** @type {number[]} */
    const way = [];
    for (let text = at; text >= 0 && way.length < 5000; text = this.points?.ups[text] ?? -1) way.push(text);
    return way.reverse();
  }

  /** The texts directly below one. @param {number} at */
  below(at) {
    if (!this.points) return [];
    if (!this.offspring.length) {
      this.offspring = this.points.ids.map(() => []);
      this.points.ups.forEach((up, text) => up >= 0 && this.offspring[up].push(text));
    }
    return this.offspring[at] ?? [];
  }

  /** @param {number} at */
  treeOf(at) {
    return this.points?.trees[this.points.tree[at] ?? 0]?.id ?? "";
  }

  /** @param {number} at */
  authorOf(at) {
    return this.points?.participants[this.points.authors[at]]?.name ?? "";
  }

  /** The text under a point of the canvas; -1: none. @param {number} px @param {number} py */
  under(px, py) {
    const [x, y] = this.eye.toWorld(px, py);
    return this.finder?.nearest(x, y, 12 / this.eye.scale, (at) => this.counts(at)) ?? -1;
  }

  /** Whether a text is in colour. @param {number} at */
  counts(at) {
    return this.shade[at] < this.colours.length - 1;
  }

  /** Fetches the first words of texts, and keeps them. @param {number[]} texts */
  async fetchExcerpts(texts) {
    /** @type {Map<string, string[]>} */
    const asked = new Map();
    for (const at of texts.slice(0, 100)) {
      const tree = this.treeOf(at);
      const id = this.points?.ids[at] ?? "";
      if (!this.excerpts.has(`${tree}/${id}`)) asked.set(tree, [...(asked.get(tree) ?? []), id]);
    }
    for (const [tree, ids] of asked) {
      const excerpts = JSON.parse(await part(`/trees/${tree}/excerpts?ids=${ids.join(",")}`, this.stop?.signal));
      for (const id of ids) this.excerpts.set(`${tree}/${id}`, typeof excerpts[id] === "string" ? excerpts[id] : "");
    }
  }

  /** @param {number} at */
  excerptOf(at) {
    return this.excerpts.get(`${this.treeOf(at)}/${this.points?.ids[at] ?? ""}`);
  }

  /** Says what is under the pointer. @param {number} at @param {number} px @param {number} py */
  hover(at, px, py) {
    const { tip } = this;
    if (!tip || !this.points) return;
    if (at !== this.hovered) {
      this.hovered = at;
      this.canvas?.classList.toggle("over", at >= 0);
      this.redraw();
      clearTimeout(this.asking);
      if (at >= 0 && this.excerptOf(at) === undefined) {
        this.asking = setTimeout(() => void this.fetchExcerpts([at]).then(() => this.hovered === at && this.tell(at, px, py)).catch(() => {}), 60);
      }
    }
    if (at < 0) tip.hidden = true;
    else this.tell(at, px, py);
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  asking;

  /** @param {number} at @param {number} px @param {number} py */
  tell(at, px, py) {
    const { tip, frame } = this;
    if (!tip || !frame || !this.points) return;
    const when = new Date(this.points.times[at] * 1000).toLocaleDateString(language(), { dateStyle: "medium" });
    const where = this.points.tree.length ? ` · ${this.points.trees[this.points.tree[at]].title || t("Untitled tree")}` : "";
    tip.replaceChildren(make("p", { className: "landscape-words", textContent: this.excerptOf(at) ?? "…", dir: "auto" }), make("p", { className: "soft", textContent: `${this.authorOf(at)} · ${when}${where}` }));
    tip.hidden = false;
    const { width, height } = this.eye.frame;
    tip.style.left = `${Math.max(6, Math.min(px + 16, width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${py > height - tip.offsetHeight - 30 ? py - tip.offsetHeight - 14 : py + 18}px`;
  }

  /** Shows a text beside the map, and its way through it. @param {number} at -1: none */
  choose(at) {
    this.chosen = at;
    this.redraw();
    void this.text?.show(at);
  }

  /** Brings a text into sight. @param {number} at */
  see(at) {
    if (!this.points) return;
    const { eye } = this;
    const [x, y] = [this.points.x[at], this.points.y[at]];
    this.fly(() => {
      eye.scale = Math.max(eye.scale, eye.whole * 2);
      eye.centre(x, y);
    });
  }

  /** @param {boolean} isOn */
  setLasso(isOn) {
    this.isLasso = isOn;
    this.querySelector("[data-lasso]")?.setAttribute("aria-pressed", String(isOn));
    this.canvas?.classList.toggle("drawing", isOn);
    if (isOn) this.say(t("Draw a line around texts."));
  }

  /** Picks the texts within a line. @param {[number, number][]} line in pixels */
  lasso(line) {
    const texts = this.finder?.within(line.map(([x, y]) => this.eye.toWorld(x, y)), (at) => this.counts(at)) ?? [];
    this.pick(texts);
    this.setLasso(false);
    this.say(tn("{n} text picked.", "{n} texts picked.", texts.length));
  }

  /** @param {number[]} texts */
  pick(texts) {
    this.picked = texts;
    this.redraw();
    void this.several?.show(texts);
  }

  /** Shows the texts in the order in which they were written, and how the land grows with them. */
  play() {
    const button = this.querySelector("[data-play]");
    this.isPlaying = !this.isPlaying;
    button?.setAttribute("aria-pressed", String(this.isPlaying));
    if (!this.isPlaying || !this.until) return;
    /** @type {HTMLElement | null} */ (this.querySelector("[data-when]"))?.removeAttribute("hidden");
    const first = Number(this.until.value) >= 1000 ? 0 : Number(this.until.value) / 1000;
    const began = performance.now();
    const step = () => {
      if (!this.isPlaying || !this.isConnected) return button?.setAttribute("aria-pressed", "false");
      const share = Math.min(1, first + (performance.now() - began) / GROWTH_MS);
      if (this.until) this.until.value = String(Math.round(share * 1000));
      this.showUntil(share);
      if (share >= 1) this.isPlaying = false;
      requestAnimationFrame(step);
    };
    step();
  }

  isPlaying = false;
  /** @type {HTMLInputElement | null} */
  until = null;
  /** @type {Int32Array | null} */
  byTime = null;
  grown = 1; // share of the texts that are shown, the oldest first

  /** Shows the oldest texts only. @param {number} share of all */
  showUntil(share) {
    const { points } = this;
    if (!points) return;
    const { times } = points;
    this.byTime ??= Int32Array.from(times.keys()).sort((one, other) => times[one] - times[other] || one - other);
    this.grown = share;
    const count = Math.round(share * times.length);
    this.field = fieldOf(points.x, points.y, share < 1 ? this.byTime.subarray(0, Math.max(1, count)) : null, this.peak);
    const day = this.querySelector("[data-day]");
    const last = this.byTime[Math.max(0, count - 1)];
    if (day && last !== undefined) day.textContent = new Date(times[last] * 1000).toLocaleDateString(language(), { dateStyle: "medium" });
    this.colour();
  }

  /** Saves what is seen as a picture. */
  async save() {
    const { canvas } = this;
    if (!canvas) return;
    const entries = [...this.querySelectorAll(".landscape-entry, .landscape-ramp")];
    const names = entries.map((entry) => /** @type {[string, string]} */ ([entry.querySelector(".landscape-name")?.textContent ?? "", getComputedStyle(entry.querySelector(".landscape-swatch") ?? entry).backgroundColor]));
    const sheet = withCaption(canvas, this.dataset.title ?? "", names.filter(([name]) => name), this.ink(), this.eye.frame.width);
    const picture = await new Promise((/** @type {(blob: Blob | null) => void} */ done) => sheet.toBlob(done, "image/png"));
    if (!picture) return;
    const link = make("a", { href: URL.createObjectURL(picture), download: `${this.dataset.name || "map"}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    this.say(t("The picture was saved."));
  }

  toggleFull() {
    if (document.fullscreenElement) void document.exitFullscreen();
    else void this.requestFullscreen?.();
  }

  /** @param {string} words */
  say(words) {
    const status = this.querySelector("[data-said]");
    if (status) status.textContent = words;
  }
}

/** The map with its title and what its colours mean below it.
 * @param {HTMLCanvasElement} map @param {string} title @param {[string, string][]} names with their colours
 * @param {import("../landscape/picture.js").Ink} ink @param {number} width of the map in CSS pixels */
function withCaption(map, title, names, ink, width) {
  const sheet = document.createElement("canvas");
  const k = map.width / width; // pixels
  const foot = 64;
  sheet.width = map.width;
  sheet.height = Math.round(map.height + foot * k);
  const pen = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
  pen.drawImage(map, 0, 0);
  pen.fillStyle = ink.paper;
  pen.fillRect(0, map.height, sheet.width, foot * k);
  pen.scale(k, k);
  pen.translate(20, map.height / k + 28);
  pen.fillStyle = ink.ink;
  pen.font = `500 20px ${ink.prose}`;
  pen.fillText(title, 0, 0, width - 40);
  pen.font = `13px ${ink.prose}`;
  let x = 0;
  for (const [name, colour] of names) {
    const wide = pen.measureText(name).width + 32;
    if (x + wide > width - 40) break;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(x + 5, 19, 4.5, 0, 2 * Math.PI);
    pen.fill();
    pen.fillStyle = ink.ink;
    pen.fillText(name, x + 15, 23.5);
    x += wide;
  }
  return sheet;
}

/** @param {import("../landscape/labels.js").Region} region */
function nameOf(region) {
  return region.title || region.words.join(" · ");
}

/** The numbers in an order without pattern, always the same: no colour lies over all others.
 * @param {Int32Array} numbers */
function shuffled(numbers) {
  const order = numbers.slice();
  let seed = 1;
  for (let at = order.length - 1; at > 0; at -= 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const other = seed % (at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}
