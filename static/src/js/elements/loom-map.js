// @ts-check
// The map: the whole tree on a canvas, laid out in a worker: threads of a small tree, an icicle of a big one. The
// outline says the same to those who cannot see it.

import { Camera, hover, listenForPointers } from "../map/camera.js";
import { IcicleView, textsFrom, textsOf } from "../map/icicle-view.js";
import { ICICLE_FROM } from "../map/icicle.js";
import { draw, frameFor, inkOf } from "../map/draw.js";
import { factsOf, listenToPage, parentsOf, pathIn, Scene, sifted, slotsShown, swapsOf } from "../map/scene.js";
import { t } from "../t.js";
import { onTheme } from "../theme.js";
import { pageOf } from "../tree/page.js";

const BUSY = 50;
const FORM = "heddle.map"; // where the reader's choice of a form is kept

export class LoomMap extends HTMLElement {
  camera = new Camera();
  /** @type {Scene | null} */
  scene = null;
  /** @type {number | null} the slot that is shown as the top; null: the whole tree */
  hoisted = null;
  /** @type {import("../map/scene.js").Kept} */
  kept = { path: [], hits: new Set(), marked: new Set(), matches: null, isMatch: () => true };
  /** @type {HTMLElement | undefined} */
  unhoist;
  /** @type {HTMLCanvasElement | undefined} */
  canvas;
  /** @type {HTMLElement | undefined} */
  tip;
  /** @type {HTMLElement | undefined} */
  frame;
  /** @type {MouseEvent | undefined} what the pointer is on, while its first words are on their way */
  pointed;
  ask = 0;
  /** @type {ReturnType<typeof setTimeout> | 0} */
  timer = 0;
  took = 0; // ms for the last layout, without what the worker did
  touched = false;
  frameAsked = 0;
  /** @type {IcicleView | null} while the tree is drawn as an icicle */
  icicle = null;
  /** @type {import("../map/icicle-view.js").Overview | undefined} */
  foreseen;
  /** @type {string[]} what a search has found */
  lit = [];
  /** @type {HTMLElement | undefined} */
  forms;
  /** @type {HTMLElement[]} what cannot be reached while the map fills the page */
  behind = [];

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    Object.assign(this, frameFor(this));
    this.worker = new Worker(this.closest("loom-tree")?.getAttribute("data-layout-worker") ?? "", { type: "module" });
    this.worker.onmessage = ({ data }) => this.placed(data);
    this.ink = inkOf(this);
    onTheme(() => {
      this.ink = inkOf(this);
      this.redraw();
    }, signal);
    listenToPage(this, this.page, signal);
    this.size = new ResizeObserver(() => this.resized());
    this.size.observe(/** @type {Element} */ (this.frame));
    listenForPointers(this, signal);
    this.page.excerpts.addEventListener("excerpts", () => this.pointed && hover(this, this.pointed), { signal });
    this.page.excerpts.addEventListener("excerpts", () => this.icicle?.named(), { signal });
    document.addEventListener("map-full", () => this.toggleFull(), { signal });
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.hasAttribute("data-full")) return;
      event.stopPropagation();
      this.toggleFull();
    }, { signal });
  }

  /** Fills the page with the map, or gives it back. */
  toggleFull() {
    const isFull = this.toggleAttribute("data-full");
    if (isFull) {
      /** @type {any} */ (this.closest("loom-tree"))?.show?.("map");
      document.getElementById("tab-map")?.click();
      for (let at = /** @type {Element} */ (this); at.parentElement; at = at.parentElement) {
        const around = [...at.parentElement.children].filter((child) => child !== at && child instanceof HTMLElement && !child.inert && !child.matches("[role=status], [role=alert], script, dialog"));
        this.behind.push(.../** @type {HTMLElement[]} */ (around));
        if (at.parentElement === document.body) break;
      }
    }
    for (const element of this.behind) element.inert = isFull;
    if (!isFull) this.behind = [];
    this.canvas?.focus();
  }

  /** Whether so many texts are drawn as an icicle. @param {number} count */
  isWide(count) {
    return count > ICICLE_FROM && localStorage.getItem(FORM) !== "threads";
  }

  /** Draws the tree in the other form, now and from now on. */
  toggleForm() {
    localStorage.setItem(FORM, this.icicle ? "threads" : "icicle");
    this.touched = false;
    this.layOut();
  }

  /** The parts around the canvas that are there for one form only. @param {boolean} isIcicle */
  dress(isIcicle) {
    if (isIcicle && !this.icicle) {
      this.icicle = new IcicleView(this);
      this.frame?.before(this.icicle.crumbs);
      this.frame?.after(this.icicle.legend, this.icicle.branches, this.icicle.status);
    } else if (!isIcicle && this.icicle) {
      const { crumbs, legend, branches, status } = this.icicle;
      for (const element of [crumbs, legend, branches, status]) element.remove();
      this.icicle = null;
    }
    this.dataset.form = isIcicle ? "icicle" : "threads";
    if (!this.forms) return;
    this.forms.hidden = (this.asked?.length ?? 0) <= ICICLE_FROM;
    this.forms.textContent = isIcicle ? t("threads") : t("icicle");
    this.forms.title = this.forms.ariaLabel = isIcicle ? t("Draw the tree as threads") : t("Draw the tree as an icicle");
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.size?.disconnect();
    this.worker?.terminate();
  }

  /** Others' texts in a big tree wait, so that placing them takes one part of BUSY of the time. */
  layOutSoon() {
    this.timer ||= setTimeout(() => this.layOut(), Math.max(120, BUSY * this.took));
  }

  layOut() {
    clearTimeout(this.timer);
    this.timer = 0;
    const store = this.page?.store;
    if (!store) return;
    const began = performance.now();
    this.slots = slotsShown(store, this.hoisted);
    const parents = parentsOf(store, this.slots);
    this.ask += 1;
    this.asked = this.slots;
    const form = this.isWide(this.slots.length) ? "icicle" : "threads";
    this.worker?.postMessage({ ask: this.ask, form, parents, swaps: swapsOf(store, this.slots) }, [parents.buffer]);
    this.took = performance.now() - began;
  }

  /** Draws the largest branches of a tree that is on its way. @param {import("../map/icicle-view.js").Overview} overview */
  foresee(overview) {
    if (this.page?.store || !this.isWide(Infinity)) return;
    this.foreseen = overview;
    this.ask += 1;
    const known = { sizes: Uint32Array.from(overview.sizes), rows: Int32Array.from(overview.rows) };
    this.worker?.postMessage({ ask: this.ask, form: "icicle", parents: Int32Array.from(overview.parents), swaps: [], known });
  }

  /** @param {any} data */
  placed(data) {
    const store = this.page?.store;
    if (data.ask === this.ask && !this.asked && this.foreseen) {
      this.dress(true);
      this.icicle?.show(data.places, textsFrom(this.foreseen));
      this.redraw();
      return void this.toggleAttribute("data-foreseen", true);
    }
    if (data.ask !== this.ask || !this.asked || !store) return;
    const began = performance.now();
    this.dress(data.form === "icicle");
    if (this.icicle) {
      this.scene = null;
      this.icicle.show(data.places, textsOf(store, this.asked));
      this.redraw();
      this.took += performance.now() - began;
      return void this.toggleAttribute("data-ready", true);
    }
    const before = this.scene;
    const anchor = before && this.point(before);
    this.scene = new Scene(this.asked, data);
    this.follow();
    this.sift();
    const now = this.point(this.scene);
    // What the reader looks at stays where it is when the tree grows around it.
    if (anchor && now && this.touched) this.camera.put(now.x, now.y, this.camera.toX(anchor.x), this.camera.toY(anchor.y));
    else this.start();
    this.redraw();
    this.took += performance.now() - began;
    this.toggleAttribute("data-ready", true);
  }

  /** The reader's position, in units of the layout. @param {Scene} scene */
  point(scene) {
    const slot = this.page?.store?.slotOf(this.page.position);
    const place = slot === null || slot === undefined ? undefined : scene.placeOf(slot);
    return place === undefined ? null : { x: scene.layout.x[place], y: scene.layout.y[place] };
  }

  /** The first view: all of it where that can be read, else the surroundings of the reader. */
  start() {
    const { width, height } = this.extent();
    if (!this.scene || !width) return;
    this.camera.fit(this.scene.box, width, height);
    if (this.camera.k < 0.45) {
      this.camera.scale(0.8);
      this.find();
    }
    this.touched = true;
  }

  /** What is panned and zoomed. */
  get lens() {
    return this.icicle ? this.icicle.camera : this.camera;
  }

  extent() {
    return { width: this.frame?.clientWidth ?? 0, height: this.frame?.clientHeight ?? 0 };
  }

  fit() {
    this.icicle?.camera.fit();
    const { width, height } = this.extent();
    if (this.scene) this.camera.fit(this.scene.box, width, height);
    this.redraw();
  }

  find() {
    this.icicle?.find(true);
    const { width, height } = this.extent();
    const at = this.scene && this.point(this.scene);
    if (at) this.camera.put(at.x, at.y, width / 2, height * 0.55);
    this.redraw();
  }

  zoom(/** @type {number} */ factor) {
    const { width, height } = this.extent();
    this.lens.zoom(factor, width / 2, height / 2);
    this.redraw();
  }

  /** Shows only what hangs below a node; null: the whole tree again.
   * @param {number | null} [slot] */
  hoist(slot) {
    const here = this.page?.store?.slotOf(this.page.position) ?? null;
    this.hoisted = slot === undefined ? (this.hoisted === here ? null : here) : slot;
    if (this.unhoist) this.unhoist.hidden = this.hoisted === null;
    this.touched = false;
    this.layOut();
  }

  /** Finds the way to the reader again: it is drawn with every frame. */
  follow() {
    if (this.scene) this.kept.path = pathIn(this.scene, this.page?.store?.slotOf(this.page.position));
  }

  /** Finds again what is bookmarked, and what the filter lets through. */
  sift() {
    this.icicle?.sift();
    this.redraw();
    const { scene, page } = this;
    const store = page?.store;
    if (!scene || !store) return;
    Object.assign(this.kept, sifted(page, store, scene));
    this.redraw();
  }

  moved() {
    if (this.icicle) {
      const isHere = (this.icicle.texts?.placeOf(this.page?.position ?? "") ?? -1) >= 0;
      if (!isHere && this.hoisted !== null && !this.timer) return this.hoist(null);
      this.icicle.find();
      return this.redraw();
    }
    this.follow();
    const at = this.scene && this.point(this.scene);
    const { width, height } = this.extent();
    if (!at && this.timer && this.hoisted === null) return this.layOut();
    if (!at) return this.hoisted === null ? undefined : this.hoist(null);
    const x = this.camera.toX(at.x);
    const y = this.camera.toY(at.y);
    if (x < 20 || y < 20 || x > width - 20 || y > height - 20) this.find();
    this.redraw();
  }

  /** @param {string[]} ids */
  light(ids) {
    this.lit = ids;
    this.icicle?.light(ids);
    this.kept.hits = new Set(ids.map((id) => this.page?.store?.slotOf(id) ?? -1));
    this.redraw();
  }

  resized() {
    const { width, height } = this.extent();
    const scale = devicePixelRatio || 1;
    if (!this.canvas || !width) return;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.icicle?.resized();
    if (!this.touched || this.camera.isFitted) this.start();
    this.redraw();
  }

  redraw() {
    this.frameAsked ||= requestAnimationFrame(() => {
      this.frameAsked = 0;
      this.paint();
    });
  }

  paint() {
    const pen = this.canvas?.getContext("2d");
    const store = this.page?.store;
    if (!pen || !this.ink || !this.page) return;
    const scale = devicePixelRatio || 1;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    if (this.icicle) return this.icicle.paint(pen, this.ink);
    if (!store || !this.scene) return;
    const facts = factsOf(this.page, store, this.kept);
    draw({ pen, scene: this.scene, camera: this.camera, facts, ink: this.ink, frame: this.extent() });
  }
}
