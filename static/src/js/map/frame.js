// @ts-check
// The map's frame: its canvas, its tools above, and the words under the pointer.

import { make } from "../tree/forms.js";
import { t } from "../t.js";

/** @typedef {import("../elements/loom-map.js").LoomMap} LoomMap */

/** @param {string} words @param {string} name @param {() => void} run */
function tool(words, name, run) {
  const button = make("button", { type: "button", className: "quiet", textContent: words, title: name, ariaLabel: name });
  button.addEventListener("click", run);
  return button;
}

/** Draws the frame into the map. @param {LoomMap} map */
export function frameFor(map) {
  const unhoist = tool(t("whole tree"), t("Show the whole tree again"), () => map.hoist(null));
  unhoist.hidden = true;
  const tools = make("span", { className: "end" }, unhoist, tool("−", t("Zoom out"), () => map.zoom(1 / 1.4)), tool("+", t("Zoom in"), () => map.zoom(1.4)), tool(t("fit"), t("Fit the whole map"), () => map.fit()), tool("◎", t("Go to current node"), () => map.find()));
  const size = make("span");
  size.dataset.size = "";
  const canvas = /** @type {HTMLCanvasElement} */ (make("canvas", { tabIndex: 0 }));
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", t("Map of the tree. The outline shows the same as a list. Use the arrow keys to move, plus and minus to zoom, 0 to fit."));
  const tip = make("div", { className: "map-tip", hidden: true });
  const frame = make("div", { className: "map-frame" }, canvas, tip);
  map.replaceChildren(make("div", { className: "map-head" }, size, tools), frame);
  return { unhoist, canvas, tip, frame };
}
