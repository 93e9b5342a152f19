// @ts-check
// The graph around a text, drawn on a canvas; the list beside it says and does the same. A click opens
// an item; dragging moves it, links it to another, or selects several for a tag. Where items lie is
// kept for the tree, so that nothing jumps.

import { json, Refused, told } from "../live/api.js";
import { asBody, call } from "../live/calls.js";
import { t, tn } from "../t.js";
import { onTheme, withColours } from "../theme.js";
import { inside, onto, towards } from "../graph/picking.js";
import { Sprites } from "../graph/sprites.js";
import { make, openForm } from "../tree/forms.js";
import { menuOf } from "../tree/linking.js";

/** @typedef {{item: string, depth: number, words: string, stop: boolean, state: string}} GraphItem */
/** @typedef {{source: string, target: string, type: string}} GraphLink */
/** @typedef {{nodes: GraphItem[], links: GraphLink[], colours: Record<string, number>, tree: string, node: string}} Graph */

const SIZE = 7; // of an item
const NEAR = 16; // that a pointer may miss it by
const A_CLICK = 4; // that it may move meanwhile
const KEPT = 2000; // places of one tree
const LABEL = 26; // characters
const BOX = SIZE + 2; // half of what an item takes with its line

/** @typedef {(x1: number, y1: number, x2: number, y2: number) => boolean} Seen */
/** @typedef {{kind: string, at: number, x: number, y: number, from: [number, number], line: [number, number][], isFar: boolean}} Drag */

/** @param {string} words */
const shortened = (words) => (words.length > LABEL ? `${words.slice(0, LABEL - 1)}…` : words);

export class LoomGraph extends HTMLElement {
  /** @type {Graph} */
  graph = { nodes: [], links: [], colours: {}, tree: "", node: "" };
  /** @type {[number, number][]} */
  pairs = [];
  /** @type {Record<string, [number, number]>} */
  kept = {};
  x = new Float64Array();
  y = new Float64Array();
  view = { x: 0, y: 0, scale: 1 };
  mode = "move";
  chosen = 0;
  /** @type {Set<number>} */
  picked = new Set();
  /** @type {Map<string, string>} */
  colours = new Map();
  /** @type {string[]} what items are called */
  names = [];
  sprites = new Sprites("", 1);
  ranked = { chosen: -1, ranks: /** @type {number[]} */ ([]), order: /** @type {number[]} */ ([]) };
  /** @type {Drag | undefined} */
  drag = undefined;
  /** @type {number | undefined} */
  linking = undefined;
  isFitted = false;
  isWhole = false;
  isDue = false;
  key = "";

  connectedCallback() {
    const data = this.querySelector("#graph-data");
    const canvas = this.querySelector("canvas");
    const context = canvas?.getContext("2d");
    if (!data || !canvas || !context) return;
    this.graph = JSON.parse(data.textContent ?? "{}");
    const { nodes, links, tree } = this.graph;
    this.canvas = canvas;
    this.context = context;
    const gone = new Map([["pruned", t("pruned")], ["erased", t("erased")]]);
    this.names = nodes.map(({ item, words, state }) => [shortened(words || (state === "erased" ? "" : item)), gone.get(state)].filter(Boolean).join(" · "));
    this.at = new Map(nodes.map(({ item }, at) => [item, at]));
    this.pairs = links.map(({ source, target }) => [this.at?.get(source) ?? 0, this.at?.get(target) ?? 0]);
    this.key = `graph:${tree}`;
    this.kept = JSON.parse(localStorage.getItem(this.key) ?? "{}");
    const places = nodes.map(({ item }) => this.kept[item] ?? null);
    this.x = Float64Array.from(places, (place) => place?.[0] ?? 0);
    this.y = Float64Array.from(places, (place) => place?.[1] ?? 0);
    this.stop = new AbortController();
    this.listen(this.stop.signal);
    for (const element of this.querySelectorAll(".graph-tools, canvas")) element.removeAttribute("hidden");
    this.worker = new Worker(this.dataset.worker ?? "", { type: "module" });
    this.worker.onmessage = ({ data: moved }) => this.moved(moved);
    const known = places.filter(Boolean).length;
    this.worker.postMessage({ places, links: this.pairs, alpha: known > places.length / 2 ? 0.03 : 1 });
    new ResizeObserver(() => this.resize()).observe(canvas);
    void document.fonts.ready.then(() => this.recolour()); // words in another font until then
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.worker?.terminate();
  }

  get mayWrite() {
    return "mayWrite" in this.dataset;
  }

  /** @param {AbortSignal} signal */
  listen(signal) {
    const canvas = /** @type {HTMLCanvasElement} */ (this.canvas);
    canvas.addEventListener("pointerdown", (event) => this.pressed(event), { signal });
    canvas.addEventListener("pointermove", (event) => this.dragged(event), { signal });
    canvas.addEventListener("pointerup", (event) => this.let(event), { signal });
    canvas.addEventListener("wheel", (event) => this.wheeled(event), { signal, passive: false });
    canvas.addEventListener("keydown", (event) => this.keyed(event), { signal });
    canvas.addEventListener("focus", () => this.draw(), { signal });
    canvas.addEventListener("blur", () => this.draw(), { signal });
    this.addEventListener("click", (event) => this.clicked(/** @type {Element} */ (event.target)), { signal });
    this.addEventListener("mouseover", (event) => this.shown(/** @type {Element} */ (event.target)), { signal });
    onTheme(() => this.recolour(), signal);
  }

  /** What was computed elsewhere is shown. @param {{x: Float64Array<ArrayBuffer>, y: Float64Array<ArrayBuffer>, isAtRest: boolean}} moved */
  moved({ x, y, isAtRest }) {
    this.x = x;
    this.y = y;
    if (!this.isFitted) this.fit();
    this.draw();
    if (!isAtRest) return;
    this.isFitted = true;
    this.dataset.atRest = "";
    this.keep();
  }

  /** Keeps where the items lie. */
  keep() {
    const { nodes } = this.graph;
    const kept = Object.entries(this.kept).slice(-KEPT);
    const now = nodes.map(({ item }, at) => [item, [Math.round(this.x[at]), Math.round(this.y[at])]]);
    this.kept = Object.fromEntries([...kept, ...now]);
    try {
      localStorage.setItem(this.key, JSON.stringify(this.kept));
    } catch {
      // no room is left: they are placed again next time
    }
  }

  resize() {
    const { canvas } = this;
    if (!canvas) return;
    const { clientWidth, clientHeight } = canvas;
    canvas.width = clientWidth * devicePixelRatio;
    canvas.height = clientHeight * devicePixelRatio;
    this.redrawn();
    if (!this.isFitted || this.isWhole) this.fit();
    this.draw();
  }

  /** Shows all items. */
  fit() {
    const { canvas, x, y } = this;
    if (!canvas || !x?.length || !y) return;
    const [left, right, top, bottom] = [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)];
    // Beside the outermost items their names need room, but not most of a phone.
    const room = { x: canvas.clientWidth - Math.min(180, canvas.clientWidth * 0.3), y: canvas.clientHeight - 80 };
    const scale = Math.min(room.x / Math.max(right - left, 1), room.y / Math.max(bottom - top, 1), 2);
    this.view = { scale: Math.max(scale, 0.05), x: canvas.clientWidth / 2 - ((left + right) / 2) * scale, y: canvas.clientHeight / 2 - ((top + bottom) / 2) * scale };
    this.isWhole = true;
  }

  /** The colour of a number of the page's, or a named one. @param {string} name @param {number} [who] */
  colour(name, who) {
    const key = who === undefined ? name : `${name}${who}`;
    if (!this.colours.has(key)) {
      this.colours.set(key, withColours(this, (colour) => (who === undefined ? colour(name) : colour("--who", who))));
    }
    return this.colours.get(key) ?? "";
  }

  recolour() {
    this.colours.clear();
    this.redrawn();
    this.draw();
  }

  /** Forgets the bitmaps: the theme or the pixels are others. */
  redrawn() {
    this.sprites = new Sprites(`12px ${getComputedStyle(this).fontFamily}`, devicePixelRatio);
  }

  /** Draws with the next frame. */
  draw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.paint();
    });
  }

  /** What lies outside of the canvas costs nothing; of names that would lie on one another the more
   * important is shown. */
  paint() {
    const { context, canvas, graph, view, x, y } = this;
    if (!context || !canvas || !graph || !view || !x || !y) return;
    const { sprites } = this;
    const { ratio } = sprites;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [right, low] = [canvas.width / ratio, canvas.height / ratio];
    const px = x.map((at) => at * view.scale + view.x);
    const py = y.map((at) => at * view.scale + view.y);
    const place = (/** @type {number} */ at) => [px[at], py[at]];
    /** Whether a box is seen. @type {Seen} */
    const seen = (x1, y1, x2, y2) => Math.max(x1, x2) > 0 && Math.min(x1, x2) < right && Math.max(y1, y2) > 0 && Math.min(y1, y2) < low;
    this.paintLinks(px, py, seen);
    graph.nodes.forEach((node, at) => {
      if (!seen(px[at] - BOX, py[at] - BOX, px[at] + BOX, py[at] + BOX)) return;
      sprites.copy(context, this.mark(node, this.picked.has(at) || at === this.chosen), px[at], py[at]);
    });
    this.paintNames(px, py, seen);
    this.paintDrag(place);
    if (document.activeElement === canvas) {
      const [cx, cy] = place(this.chosen);
      context.strokeStyle = this.colour("--link");
      context.lineWidth = 2;
      context.strokeRect(cx - SIZE - 5, cy - SIZE - 5, SIZE * 2 + 10, SIZE * 2 + 10);
    }
  }

  /** How an item looks. @param {GraphItem} item @param {boolean} isMarked */
  mark({ item, depth, stop }, isMarked) {
    const isDocument = item.startsWith("doc:");
    return this.sprites.sprite(`item ${isDocument} ${!depth} ${stop} ${isMarked}`, BOX * 2, BOX * 2, (context) => {
      context.beginPath();
      if (isDocument) context.rect(-SIZE, -SIZE, SIZE * 2, SIZE * 2);
      else context.arc(0, 0, SIZE, 0, 2 * Math.PI);
      context.fillStyle = depth ? this.colour("--paper") : this.colour("--link");
      context.strokeStyle = isMarked ? this.colour("--link") : this.colour("--soft");
      context.lineWidth = isMarked ? 3 : 1.5;
      if (stop) context.setLineDash([3, 2]);
      context.fill();
      context.stroke();
    });
  }

  /** Each link is a stroke of its own: one of all of them would be a shape as large as the canvas, which
   * costs far more to fill. @param {Float64Array} px @param {Float64Array} py @param {Seen} seen */
  paintLinks(px, py, seen) {
    const { context, graph, pairs, chosen } = this;
    if (!context) return;
    context.lineWidth = 1.5;
    pairs.forEach(([from, to], number) => {
      if (!seen(px[from], py[from], px[to], py[to])) return;
      context.globalAlpha = from === chosen || to === chosen ? 1 : 0.45;
      context.strokeStyle = this.colour("--edge", graph.colours[graph.links[number].type]);
      const [dx, dy] = [px[to] - px[from], py[to] - py[from]];
      const far = Math.hypot(dx, dy) || 1;
      const [ex, ey] = [px[to] - (dx / far) * SIZE, py[to] - (dy / far) * SIZE];
      const angle = Math.atan2(dy, dx);
      context.beginPath();
      context.moveTo(px[from], py[from]);
      context.lineTo(ex, ey);
      for (const turned of [0.45, -0.45]) {
        context.moveTo(ex, ey);
        context.lineTo(ex - 7 * Math.cos(angle + turned), ey - 7 * Math.sin(angle + turned));
      }
      context.stroke();
    });
    context.globalAlpha = 1;
  }

  /** The items by how much their names matter: the chosen one, the middle, what is beside the chosen. */
  get order() {
    if (this.ranked.chosen !== this.chosen) {
      const { pairs, graph, chosen } = this;
      const beside = new Set(pairs.filter((pair) => pair.includes(chosen)).flat());
      const ranks = graph.nodes.map(({ depth }, at) => (at === chosen ? 0 : !depth ? 1 : beside.has(at) ? 2 : 3));
      this.ranked = { chosen, ranks, order: [...ranks.keys()].sort((a, b) => ranks[a] - ranks[b]) };
    }
    return this.ranked;
  }

  /** The names of items, and the types of the links of the chosen one. @param {Float64Array} px
   * @param {Float64Array} py @param {Seen} seen */
  paintNames(px, py, seen) {
    const { context, graph, pairs, chosen, view, sprites } = this;
    if (!context) return;
    const { ranks, order } = this.order;
    /** Where nothing is written: on the items, and on other names. @type {[number, number, number, number][]} */
    const taken = graph.nodes.map((_, at) => [px[at] - SIZE, py[at] - SIZE, px[at] + SIZE, py[at] + SIZE]);
    const [ink, soft, paper] = [this.colour("--ink"), this.colour("--soft"), this.colour("--paper")];
    const write = (/** @type {string} */ words, /** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ colour, isForced = false) => {
      const sprite = sprites.words(words, colour, paper);
      const half = sprite.width / 2;
      const box = /** @type {[number, number, number, number]} */ ([x - half, y - 12, x + half, y + 4]);
      if (!seen(...box)) return true;
      if (!isForced && taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return false;
      taken.push(box);
      sprites.copy(context, sprite, x, y - 4);
      return true;
    };
    for (const at of order) {
      if (ranks[at] === 3 && view.scale <= 0.55) break;
      const isBelow = write(this.names[at], px[at], py[at] + SIZE + 14, ink);
      if (!isBelow) write(this.names[at], px[at], py[at] - SIZE - 6, ink, ranks[at] < 2);
    }
    pairs.forEach(([from, to], number) => {
      if (from !== chosen && to !== chosen) return;
      write(graph.links[number].type.replaceAll("_", " "), (px[from] + px[to]) / 2, (py[from] + py[to]) / 2 + 4, soft);
    });
  }

  /** What is being drawn by hand: a link, or a line around items. @param {(at: number) => number[]} place */
  paintDrag(place) {
    const { context, drag } = this;
    if (!context || !drag) return;
    context.strokeStyle = this.colour("--link");
    context.lineWidth = 2;
    context.beginPath();
    if (drag.kind === "link") {
      const [px, py] = place(drag.at);
      context.moveTo(px, py);
      context.lineTo(drag.x, drag.y);
    } else if (drag.kind === "tag") drag.line.forEach(([px, py], at) => (at ? context.lineTo(px, py) : context.moveTo(px, py)));
    context.stroke();
  }

  /** The item under a point of the canvas; -1: none. @param {number} px @param {number} py */
  under(px, py) {
    const { view, x, y } = this;
    if (!view || !x || !y) return -1;
    return onto(x, y, (px - view.x) / view.scale, (py - view.y) / view.scale, NEAR / view.scale);
  }

  /** @param {PointerEvent} event */
  pressed(event) {
    if (event.button) return;
    const { offsetX: x, offsetY: y } = event;
    const at = this.under(x, y);
    const kind = this.mode === "tag" ? "tag" : at < 0 ? "pan" : this.mode === "link" ? "link" : "move";
    this.drag = { kind, at, x, y, from: [x, y], line: [[x, y]], isFar: false };
    this.canvas?.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  dragged(event) {
    const { drag, view, x, y } = this;
    const { offsetX, offsetY } = event;
    if (!drag || !view || !x || !y) {
      const over = this.under(offsetX, offsetY);
      this.canvas?.classList.toggle("over", over >= 0);
      if (over >= 0) this.choose(over);
      return;
    }
    drag.isFar ||= Math.hypot(offsetX - drag.from[0], offsetY - drag.from[1]) > A_CLICK;
    if (drag.isFar && drag.kind === "pan") {
      view.x += offsetX - drag.x;
      view.y += offsetY - drag.y;
      this.isWhole = false;
    }
    if (drag.isFar && drag.kind === "move") {
      const [px, py] = [(offsetX - view.x) / view.scale, (offsetY - view.y) / view.scale];
      [x[drag.at], y[drag.at]] = [px, py];
      this.worker?.postMessage({ hold: drag.at, x: px, y: py });
    }
    [drag.x, drag.y] = [offsetX, offsetY];
    if (drag.kind === "tag") drag.line.push([offsetX, offsetY]);
    this.draw();
  }

  /** @param {PointerEvent} event */
  let(event) {
    const { drag, x, y } = this;
    this.drag = undefined;
    if (!drag || !x || !y) return;
    if (drag.kind === "move" && drag.isFar) this.worker?.postMessage({ hold: drag.at, x: x[drag.at], y: y[drag.at], isLet: true });
    const to = this.under(event.offsetX, event.offsetY);
    if (!drag.isFar && drag.at >= 0 && drag.kind !== "tag") this.open(drag.at);
    else if (drag.kind === "link" && to >= 0 && to !== drag.at) void this.link(drag.at, to);
    else if (drag.kind === "tag" && drag.isFar) this.lasso(drag.line);
    this.draw();
  }

  /** @param {WheelEvent} event */
  wheeled(event) {
    if (!this.view || !(event.ctrlKey || event.metaKey || document.activeElement === this.canvas)) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }

  /** @param {number} by @param {number} px @param {number} py a point that stays */
  zoom(by, px, py) {
    const { view } = this;
    if (!view) return;
    const scale = Math.min(Math.max(view.scale * by, 0.05), 4);
    view.x = px - ((px - view.x) * scale) / view.scale;
    view.y = py - ((py - view.y) * scale) / view.scale;
    view.scale = scale;
    this.isWhole = false;
    this.draw();
  }

  /** Arrows go to the next item in that direction, Enter opens it, L links it to the one chosen next,
   * and + and - come nearer. @param {KeyboardEvent} event */
  keyed(event) {
    const { x, y, chosen = 0, canvas } = this;
    if (!x || !y || !canvas || event.ctrlKey || event.metaKey || event.altKey) return;
    const ways = /** @type {Record<string, [number, number]>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] });
    if (ways[event.key]) this.choose(towards(x, y, chosen, ways[event.key]));
    else if (event.key === "Enter" && this.linking !== undefined && this.linking !== chosen) void this.link(this.linking, chosen);
    else if (event.key === "Enter") this.open(chosen);
    else if (event.key === "Escape") this.say(t("Nothing is linked."), undefined);
    else if (event.key === "l" && this.mayWrite) this.say(t("Go to the item that it is linked to, and press Enter."), chosen);
    else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.25 : 0.8, canvas.clientWidth / 2, canvas.clientHeight / 2);
    else return;
    event.preventDefault();
  }

  /** @param {string} words @param {number | undefined} linking */
  say(words, linking) {
    this.linking = linking;
    const status = this.querySelector("[data-said]");
    if (status) status.textContent = words;
  }

  /** Marks an item here and in the list. @param {number} at */
  choose(at) {
    if (at < 0 || at === this.chosen) return;
    this.chosen = at;
    for (const row of this.querySelectorAll("li[aria-current]")) row.removeAttribute("aria-current");
    const row = this.rowOf(at);
    row?.setAttribute("aria-current", "true");
    if (this.linking === undefined) this.say(row?.querySelector("a")?.textContent?.trim() ?? "", undefined);
    this.draw();
  }

  /** @param {number} at */
  rowOf(at) {
    return this.querySelector(`li[data-item="${CSS.escape(this.graph.nodes[at].item)}"]`);
  }

  /** @param {number} at */
  open(at) {
    this.rowOf(at)?.querySelector("a")?.click();
  }

  /** @param {Element} target */
  shown(target) {
    const item = target.closest("li[data-item]")?.getAttribute("data-item");
    if (item) this.choose(this.at?.get(item) ?? -1);
  }

  /** @param {Element} target */
  clicked(target) {
    const mode = target.closest("[data-mode]");
    if (mode) {
      this.mode = mode.getAttribute("data-mode") ?? "move";
      for (const button of this.querySelectorAll("[data-mode]")) button.setAttribute("aria-pressed", String(button === mode));
    }
    if (target.closest("[data-fit]")) {
      this.fit();
      this.draw();
    }
    for (const name of ["stop", "through"]) {
      const item = target.closest(`[data-${name}]`)?.getAttribute(`data-${name}`);
      if (item) this.again(name, item);
    }
  }

  /** Asks for the graph again, with an item at which it stops, or through which it passes.
   * @param {string} name @param {string} item */
  again(name, item) {
    const url = new URL(location.href);
    for (const list of ["stop", "through"]) {
      const others = url.searchParams.getAll(list).filter((other) => other !== item);
      url.searchParams.delete(list);
      for (const other of others) url.searchParams.append(list, other);
    }
    url.searchParams.append(name, item);
    this.keep();
    location.assign(url);
  }

  /** Runs a command, and shows what came of it. @param {import("../live/calls.js").Call} what */
  async run(what) {
    return json(`/api/trees/${this.graph.tree}/commands`, { method: "POST", body: asBody(what) });
  }

  /** The name of an item in a line, and as it is read. @param {number} at */
  named(at) {
    const { item, words } = this.graph.nodes[at] ;
    return { item, shown: item.includes(":") ? words : `[${item}]` };
  }

  /** Asks how two items are linked, and links them. @param {number} from @param {number} to */
  async link(from, to) {
    const [source, target] = [this.named(from), this.named(to)];
    const isGone = [from, to].some((at) => this.graph.nodes[at].state === "erased");
    this.say(isGone ? t("What is erased cannot be linked.") : "", undefined);
    if (isGone) return;
    const host = /** @type {Element} */ (this.querySelector(".graph-tools"));
    const label = t("Note on the link from {from} to {to}", { from: source.shown, to: target.shown });
    const form = openForm(host, { label, single: true, submit: t("Link"), hint: `${source.shown} → ${target.shown}` }, async ({ text }) => {
      const type = /** @type {HTMLSelectElement} */ (form.elements.namedItem("type")).value;
      await this.run(call("link", { source: source.item, target: target.item, type, note: text }));
      this.keep();
      location.reload();
    });
    form.querySelector("[name=text]")?.setAttribute("placeholder", t("Note"));
    const { results } = await json(`/api/link-types?grove=${this.dataset.grove ?? ""}`);
    form.querySelector(".inline-row")?.before(make("div", { className: "inline-row" }, menuOf(results)));
  }

  /** Asks for a tag for the items within a line. @param {[number, number][]} line */
  lasso(line) {
    const { view, x, y, graph } = this;
    if (!view || !x || !y || !graph) return;
    this.picked = new Set([...x.keys()].filter((at) => inside(line, x[at] * view.scale + view.x, y[at] * view.scale + view.y)));
    const items = [...this.picked].filter((at) => graph.nodes[at].state !== "erased").map((at) => graph.nodes[at].item);
    if (!items.length) return;
    const host = /** @type {Element} */ (this.querySelector(".graph-tools"));
    const label = tn("Tag for {n} item", "Tag for {n} items", items.length);
    openForm(host, { label, single: true, submit: t("Tag"), hint: label }, async ({ text }) => {
      const names = text.split(/[\s,]+/).filter(Boolean).map((name) => `#${name.replace(/^#/, "")}`);
      let done = 0;
      try {
        for (const ref of items) {
          await this.run(call("tag", { ref, names }));
          done += 1;
        }
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        this.say(told(error), undefined);
        if (!done) throw error;
      }
      this.say(tn("Tagged {n} item.", "Tagged {n} items.", done), undefined);
    });
  }
}

