// @ts-check
// The map: the whole tree on a canvas, laid out in a worker. The outline says the same to
// those who cannot see it.

import { Camera } from "../map/camera.js";
import { draw } from "../map/draw.js";
import { factsOf } from "../map/facts.js";
import { inkOf, onTheme } from "../map/ink.js";
import { listenForPointers } from "../map/pointers.js";
import { parentsOf, Scene, slotsShown } from "../map/scene.js";
import { make } from "../tree/forms.js";
import { pageOf } from "../tree/page.js";
import { t } from "../t.js";

export class LoomMap extends HTMLElement {
  camera = new Camera();
  /** @type {Scene | null} */
  scene = null;
  /** @type {number | null} the slot that is shown as the top; null: the whole tree */
  hoisted = null;
  /** @type {Set<number>} slots that a search has found */
  hits = new Set();
  ask = 0;
  touched = false;
  frameAsked = 0;

  connectedCallback() {
    this.page = pageOf();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.build();
    this.worker = new Worker(this.closest("loom-tree")?.getAttribute("data-layout-worker") ?? "", { type: "module" });
    this.worker.onmessage = ({ data }) => this.placed(data);
    this.ink = inkOf(this);
    onTheme(() => {
      this.ink = inkOf(this);
      this.redraw();
    }, signal);
    const page = this.page;
    page.addEventListener("store", () => this.layOut(), { signal });
    page.addEventListener("changed", () => this.layOutSoon(), { signal });
    page.addEventListener("moved", () => this.moved(), { signal });
    page.addEventListener("here", () => this.redraw(), { signal });
    page.addEventListener("hits", (event) => this.light(/** @type {CustomEvent} */ (event).detail), { signal });
    page.excerpts.addEventListener("excerpts", () => this.redraw(), { signal });
    document.addEventListener("hoist", () => this.hoist(), { signal });
    this.size = new ResizeObserver(() => this.resized());
    this.size.observe(/** @type {Element} */ (this.frame));
    listenForPointers(this, signal);
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.size?.disconnect();
    this.worker?.terminate();
  }

  build() {
    const tool = (/** @type {string} */ words, /** @type {string} */ name, /** @type {() => void} */ run) => {
      const button = make("button", { type: "button", className: "quiet", textContent: words, title: name, ariaLabel: name });
      button.addEventListener("click", run);
      return button;
    };
    this.unhoist = tool(t("whole tree"), t("Show the whole tree again"), () => this.hoist(null));
    this.unhoist.hidden = true;
    const tools = make("span", { className: "end" }, this.unhoist, tool("−", t("Zoom out"), () => this.zoom(1 / 1.4)), tool("+", t("Zoom in"), () => this.zoom(1.4)), tool(t("fit"), t("Fit the whole map"), () => this.fit()), tool("◎", t("Show where you are"), () => this.find()));
    const size = make("span", {}, document.querySelector(".status [data-size]")?.textContent ?? "");
    size.dataset.size = "";
    this.canvas = /** @type {HTMLCanvasElement} */ (make("canvas", { tabIndex: 0 }));
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", t("Map of the tree. The outline holds the same as a list. Arrows move the map, plus and minus zoom, 0 fits."));
    this.tip = make("div", { className: "map-tip", hidden: true });
    this.frame = make("div", { className: "map-frame" }, this.canvas, this.tip);
    this.replaceChildren(make("div", { className: "map-head" }, size, tools), this.frame);
  }

  layOutSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.layOut(), 120);
  }

  layOut() {
    const store = this.page?.store;
    if (!store) return;
    this.slots = slotsShown(store, this.hoisted);
    const parents = parentsOf(store, this.slots);
    this.ask += 1;
    this.asked = this.slots;
    this.worker?.postMessage({ ask: this.ask, parents }, [parents.buffer]);
  }

  /** @param {import("../map/layout.js").Layout & {ask: number}} data */
  placed(data) {
    if (data.ask !== this.ask || !this.asked) return;
    const before = this.scene;
    const anchor = before && this.point(before);
    this.scene = new Scene(this.asked, data);
    const now = this.point(this.scene);
    // What the reader looks at stays where it is when the tree grows around it.
    if (anchor && now && this.touched) this.camera.put(now.x, now.y, this.camera.toX(anchor.x), this.camera.toY(anchor.y));
    else this.start();
    this.redraw();
    this.toggleAttribute("data-ready", true);
  }

  /** Where the reader stands, in units of the layout. @param {Scene} scene */
  point(scene) {
    const slot = this.page?.store?.slotOf(this.page.position);
    const place = slot === null || slot === undefined ? undefined : scene.placeOf(slot);
    return place === undefined ? null : { x: scene.layout.x[place], y: scene.layout.y[place] };
  }

  /** The first view: all of it where that can be read, else the surroundings of the reader. */
  start() {
    const { width, height } = this.extent();
    if (!this.scene || !width) return;
    this.camera.fit(this.scene.box(), width, height);
    if (this.camera.k < 0.45) {
      this.camera.scale(0.8);
      this.find();
    }
    this.touched = true;
  }

  extent() {
    return { width: this.frame?.clientWidth ?? 0, height: this.frame?.clientHeight ?? 0 };
  }

  fit() {
    const { width, height } = this.extent();
    if (this.scene) this.camera.fit(this.scene.box(), width, height);
    this.redraw();
  }

  find() {
    const { width, height } = this.extent();
    const at = this.scene && this.point(this.scene);
    if (at) this.camera.put(at.x, at.y, width / 2, height * 0.55);
    this.redraw();
  }

  /** @param {number} factor */
  zoom(factor) {
    const { width, height } = this.extent();
    this.camera.zoom(factor, width / 2, height / 2);
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

  moved() {
    const at = this.scene && this.point(this.scene);
    const { width, height } = this.extent();
    if (!at) return this.hoisted === null ? undefined : this.hoist(null);
    const x = this.camera.toX(at.x);
    const y = this.camera.toY(at.y);
    if (x < 20 || y < 20 || x > width - 20 || y > height - 20) this.find();
    this.redraw();
  }

  /** @param {string[]} ids */
  light(ids) {
    this.hits = new Set(ids.map((id) => this.page?.store?.slotOf(id) ?? -1));
    this.redraw();
  }

  resized() {
    const { width, height } = this.extent();
    const scale = devicePixelRatio || 1;
    if (!this.canvas || !width) return;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    if (!this.touched) this.start();
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
    if (!pen || !store || !this.scene || !this.ink || !this.page) return;
    const scale = devicePixelRatio || 1;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    draw(pen, this.scene, this.camera, factsOf(this.page, store, this.hits), this.ink, this.extent());
  }
}
