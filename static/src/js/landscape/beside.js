// @ts-check
// What stands beside the map: the text that was chosen, with its way from the beginning, and lists
// of texts that were picked or that make up a region.

import { json, Refused, told } from "../live/api.js";
import { asBody, call } from "../live/calls.js";
import { language, t, tn } from "../t.js";
import { make, openForm } from "../tree/forms.js";

/** @typedef {import("../elements/loom-landscape.js").LoomLandscape} LoomLandscape */

const LISTED = 60;
const WAY = 12; // texts of the way that are named
const BESIDE = 6; // texts that are shown side by side
const CONTINUED = 12; // texts that are continued at once

export class ChosenText {
  /** @param {LoomLandscape} map @param {HTMLElement} host */
  constructor(map, host) {
    this.map = map;
    this.host = host;
    this.asked = 0;
  }

  /** Shows a text and where it grows. @param {number} at -1: nothing */
  async show(at) {
    const { map, host } = this;
    const { points } = map;
    this.asked += 1;
    const own = this.asked;
    host.hidden = at < 0;
    if (at < 0 || !points) return;
    const [tree, id] = [map.treeOf(at), points.ids[at]];
    const way = map.wayOf(at);
    const near = way.slice(0, -1).slice(-WAY);
    const below = map.below(at);
    try {
      const [node] = await Promise.all([json(`/api/trees/${tree}/nodes/${id}`, { signal: map.stop?.signal }), map.fetchExcerpts([...near, at, ...below.slice(0, 20)])]);
      if (own !== this.asked) return;
      const when = new Date(points.times[at] * 1000).toLocaleString(language(), { dateStyle: "medium", timeStyle: "short" });
      const open = make("a", { className: "button small", href: `/trees/${tree}?node=${id}`, textContent: t("Open in the tree") });
      const close = make("button", { type: "button", className: "quiet", textContent: "×", title: t("Close"), ariaLabel: t("Close") });
      close.addEventListener("click", () => map.choose(-1));
      host.replaceChildren(
        make("header", { className: "landscape-head" }, make("b", { textContent: map.authorOf(at) }), make("span", { className: "soft", textContent: when }), close),
        make("div", { className: "landscape-prose", textContent: node.text ?? "", dir: "auto" }),
        make("p", { className: "inline-row" }, open),
        make("h2", { className: "minor", textContent: t("Where it grows") }),
        this.tree(near, at, below, way.length - 1 - near.length),
      );
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof Refused)) throw error;
      host.replaceChildren(make("p", { textContent: told(error) }));
    }
  }

  /** The way from the root, the text, and what is below it, as a small tree.
   * @param {number[]} way @param {number} at @param {number[]} below @param {number} more above */
  tree(way, at, below, more) {
    const { map } = this;
    const row = (/** @type {number} */ text, /** @type {string} */ kind) => {
      const words = make("button", { type: "button", className: "landscape-step", textContent: map.excerptOf(text) || map.points?.ids[text], dir: "auto" });
      if (text === at) words.setAttribute("aria-current", "true");
      words.addEventListener("click", () => {
        map.choose(text);
        map.see(text);
      });
      return make("li", { className: kind }, words);
    };
    const above = more > 0 ? [make("li", { className: "soft", textContent: tn("⋮ {n} text above", "⋮ {n} texts above", more) })] : [];
    const rest = below.length > 20 ? [make("li", { className: "soft", textContent: tn("{n} more", "{n} more", below.length - 20) })] : [];
    return make("ol", { className: "landscape-way" }, ...above, ...way.map((text) => row(text, "")), row(at, "here"), ...below.slice(0, 20).map((text) => row(text, "below")), ...rest);
  }
}

export class PickedTexts {
  /** @param {LoomLandscape} map @param {HTMLElement} host */
  constructor(map, host) {
    this.map = map;
    this.host = host;
    this.asked = 0;
  }

  /** Lists the texts of a region, those near its middle first. @param {number} number @param {string} name */
  async region(number, name) {
    const { points, finder } = this.map;
    const region = points?.regions[number];
    if (!points || !region || !finder) return;
    const near = finder.within(around(region.x, region.y, [9000, 5000, 2600][region.level]), (at) => this.map.counts(at));
    near.sort((one, other) => apart(points, one, region) - apart(points, other, region));
    await this.list(near, name, false);
  }

  /** Lists what was picked, with what can be done with it. @param {number[]} texts */
  async show(texts) {
    if (!texts.length) {
      this.asked += 1;
      this.host.hidden = true;
      return;
    }
    await this.list(texts, tn("{n} text picked", "{n} texts picked", texts.length), true);
  }

  /** @param {number[]} texts @param {string} name @param {boolean} isPicked */
  async list(texts, name, isPicked) {
    const { map, host } = this;
    this.asked += 1;
    const own = this.asked;
    const shown = texts.slice(0, LISTED);
    try {
      await map.fetchExcerpts(shown);
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof Refused)) throw error;
      map.say(told(error));
    }
    if (own !== this.asked) return;
    host.hidden = false;
    const close = make("button", { type: "button", className: "quiet", textContent: "×", title: t("Close"), ariaLabel: t("Close") });
    close.addEventListener("click", () => {
      host.hidden = true;
      if (isPicked) map.pick([]);
    });
    const items = shown.map((at) => {
      const words = make("button", { type: "button", className: "landscape-step", textContent: map.excerptOf(at) || map.points?.ids[at], dir: "auto" });
      words.addEventListener("click", () => {
        map.choose(at);
        map.see(at);
      });
      return make("li", {}, words, make("span", { className: "soft", textContent: map.authorOf(at) }));
    });
    const mayWrite = isPicked && map.hasAttribute("data-may-write");
    const tools = [...(isPicked && texts.length > 1 ? [this.besides(texts)] : []), ...(mayWrite ? [this.tagging(texts), this.continuing(texts)] : [])];
    const more = texts.length > shown.length ? [make("p", { className: "soft", textContent: tn("{n} more", "{n} more", texts.length - shown.length) })] : [];
    host.replaceChildren(make("header", { className: "landscape-head" }, make("h2", { className: "minor", textContent: name, dir: "auto" }), close), ...tools, make("ul", { className: "landscape-list" }, ...items), ...more);
  }

  /** A button that shows the first of these texts side by side. @param {number[]} texts */
  besides(texts) {
    const { map } = this;
    const some = texts.slice(0, BESIDE);
    const button = make("button", { type: "button", className: "button small", textContent: t("Side by side") });
    const place = make("div", { className: "landscape-tag" }, button);
    button.addEventListener("click", async () => {
      try {
        const nodes = await Promise.all(some.map((at) => json(`/api/trees/${map.treeOf(at)}/nodes/${map.points?.ids[at]}`, { signal: map.stop?.signal })));
        const close = make("button", { type: "button", className: "button small", textContent: t("Close") });
        const columns = some.map((at, number) => {
          const open = make("a", { href: `/trees/${map.treeOf(at)}?node=${map.points?.ids[at]}`, textContent: map.authorOf(at) });
          return make("article", { className: "landscape-column" }, make("p", { className: "soft" }, open), make("div", { className: "landscape-prose", textContent: nodes[number].text ?? "", dir: "auto", tabIndex: 0 }));
        });
        const title = tn("{n} text side by side", "{n} texts side by side", some.length);
        const dialog = /** @type {HTMLDialogElement} */ (make("dialog", { className: "landscape-beside", ariaLabel: title }, make("header", { className: "landscape-head" }, make("h2", { textContent: title }), close), make("div", { className: "landscape-columns" }, ...columns)));
        close.addEventListener("click", () => dialog.close());
        dialog.addEventListener("close", () => dialog.remove());
        map.append(dialog);
        dialog.showModal();
      } catch (error) {
        if (error instanceof DOMException) return;
        if (!(error instanceof Refused)) throw error;
        map.say(told(error));
      }
    });
    return place;
  }

  /** A button that asks for candidates below the first of these texts. @param {number[]} texts */
  continuing(texts) {
    const { map } = this;
    const some = texts.slice(0, CONTINUED);
    const place = make("div", { className: "landscape-tag" });
    const button = make("button", { type: "button", className: "button small", textContent: t("Continue them…") });
    button.addEventListener("click", () => {
      const label = tn("Candidates below {n} text", "Candidates below each of {n} texts", some.length);
      const shape = { label, single: true, text: "1", submit: t("Continue"), hint: tn("one call of a model for each; {n} text", "one call of a model for each; {n} texts", some.length) };
      openForm(place, shape, async ({ text }) => {
        const n = Number.parseInt(text, 10) || 1;
        let done = 0;
        for (const at of some) {
          await json(`/api/trees/${map.treeOf(at)}/commands`, { method: "POST", body: asBody(call("continue", { ref: map.points?.ids[at], n })) });
          done += 1;
          map.say(tn("Asked for candidates below {n} text.", "Asked for candidates below {n} texts.", done));
        }
        map.lookSoon(0);
      });
    });
    place.append(button);
    return place;
  }

  /** A button that tags all of these texts. @param {number[]} texts */
  tagging(texts) {
    const { map } = this;
    const place = make("div", { className: "landscape-tag" });
    const button = make("button", { type: "button", className: "button small", textContent: t("Tag them…") });
    button.addEventListener("click", () => {
      const label = tn("Tags for {n} text", "Tags for {n} texts", texts.length);
      openForm(place, { label, single: true, submit: t("Tag"), hint: label }, async ({ text }) => {
        const names = text.split(/[\s,]+/).filter(Boolean).map((name) => `#${name.replace(/^#/, "")}`);
        let done = 0;
        for (const at of texts) {
          await json(`/api/trees/${map.treeOf(at)}/commands`, { method: "POST", body: asBody(call("tag", { ref: map.points?.ids[at], names })) });
          done += 1;
          map.say(tn("Tagged {n} text.", "Tagged {n} texts.", done));
        }
      });
    });
    place.append(button);
    return place;
  }
}

/** A square around a place. @param {number} x @param {number} y @param {number} far @returns {[number, number][]} */
function around(x, y, far) {
  return [[x - far, y - far], [x + far, y - far], [x + far, y + far], [x - far, y + far]];
}

/** @param {import("./colouring.js").Points} points @param {number} at @param {{x: number, y: number}} place */
function apart(points, at, place) {
  return (points.x[at] - place.x) ** 2 + (points.y[at] - place.y) ** 2;
}
