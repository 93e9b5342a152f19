// @ts-check
// Where the items of a graph lie: links pull, items push each other away, and the middle holds what
// would drift off (d3-force). An item that is held stays where it is.

import { forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";

/** @typedef {import("d3-force").SimulationNodeDatum} Item */
/** @typedef {import("d3-force").Simulation<Item, undefined>} Forces */

const LENGTH = 90; // of a link at rest
const PUSH = -420;
const MIDDLE = 0.03;
const GOLDEN_ANGLE = 2.39996; // no two neighbours lie in one direction

/** The forces on so many items, with all their strength: `alpha` 1. Those without a place begin
 * beside an item that they are linked to, so that the same graph always lies the same.
 * @param {([number, number] | null)[]} places @param {[number, number][]} links @returns {Forces} */
export function begin(places, links) {
  /** @type {Item[]} */
  const items = places.map((place) => (place ? { x: place[0], y: place[1] } : {}));
  if (items[0] && items[0].x === undefined) Object.assign(items[0], { x: 0, y: 0 });
  items.forEach((item, at) => {
    if (item.x !== undefined) return;
    const linked = links.flatMap(([source, target]) => (source === at ? [target] : target === at ? [source] : []));
    const beside = items[linked.find((other) => items[other].x !== undefined) ?? 0];
    const [x, y] = [beside.x ?? 0, beside.y ?? 0];
    Object.assign(item, { x: x + LENGTH * Math.cos(at * GOLDEN_ANGLE), y: y + LENGTH * Math.sin(at * GOLDEN_ANGLE) });
  });
  return forceSimulation(items)
    .force("links", forceLink(links.map(([source, target]) => ({ source, target }))).distance(LENGTH))
    .force("push", forceManyBody().strength(PUSH))
    .force("x", forceX(0).strength(MIDDLE))
    .force("y", forceY(0).strength(MIDDLE))
    .stop();
}

/** One step; false once all is at rest. @param {Forces} forces */
export function step(forces) {
  return forces.tick().alpha() > forces.alphaMin();
}

/** Puts an item where it is dragged, or lets it go there. The others give way a little.
 * @param {Forces} forces @param {number} at @param {number} x @param {number} y @param {boolean} isLet */
export function hold(forces, at, x, y, isLet) {
  Object.assign(forces.nodes()[at], { x, y, fx: isLet ? null : x, fy: isLet ? null : y });
  forces.alpha(Math.max(forces.alpha(), 0.3));
}

/** The places of all items. @param {Forces} forces @returns {{x: Float64Array, y: Float64Array}} */
export function places(forces) {
  return { x: Float64Array.from(forces.nodes(), ({ x }) => x ?? 0), y: Float64Array.from(forces.nodes(), ({ y }) => y ?? 0) };
}
