// @ts-check
// Where the items of a graph lie: links pull like springs, items push each other away, and the middle
// holds what would drift off. Every pair is looked at in each step, which is quick for the at most 150
// items of a graph. An item that is held stays where it is.

/** @typedef {{x: Float64Array, y: Float64Array, vx: Float64Array, vy: Float64Array, held: Uint8Array,
 *   links: [number, number][], alpha: number}} Forces */

const LENGTH = 90; // of a link at rest
const PUSH = 2600;
const SPRING = 0.09;
const MIDDLE = 0.012;
const SLOWING = 0.6; // of a speed that is left after a step
const FASTEST = 40;
export const COOLING = 0.977; // 300 steps until it rests
export const AT_REST = 0.001;

/** The forces on so many items. Those without a place begin beside an item that they are linked to,
 * each at an angle of its own, so that the same graph always lies the same.
 * @param {([number, number] | null)[]} places @param {[number, number][]} links @returns {Forces} */
export function begin(places, links) {
  const many = places.length;
  const made = { x: new Float64Array(many), y: new Float64Array(many), vx: new Float64Array(many), vy: new Float64Array(many), held: new Uint8Array(many), links, alpha: 1 };
  const placed = new Set();
  places.forEach((place, at) => {
    if (place) [made.x[at], made.y[at]] = place;
    if (place || at === 0) placed.add(at);
  });
  const beside = new Map(links.flatMap(([one, other]) => [[other, one], [one, other]]));
  const near = (/** @type {number} */ at) => links.map(([one, other]) => (one === at ? other : other === at ? one : -1)).find((one) => placed.has(one)) ?? beside.get(at) ?? 0;
  for (let at = 0; at < many; at += 1) {
    if (placed.has(at)) continue;
    const from = near(at);
    const angle = at * 2.39996; // the golden angle: no two neighbours lie in one direction
    made.x[at] = made.x[from] + LENGTH * Math.cos(angle);
    made.y[at] = made.y[from] + LENGTH * Math.sin(angle);
    placed.add(at);
  }
  return made;
}

/** One step; false once all is at rest. @param {Forces} forces */
export function step(forces) {
  const { x, y, vx, vy, held, links } = forces;
  const many = x.length;
  const { alpha } = forces;
  for (let one = 0; one < many; one += 1) {
    for (let other = one + 1; other < many; other += 1) {
      let dx = x[one] - x[other];
      let dy = y[one] - y[other];
      if (!dx && !dy) {
        dx = 0.1 * (one + 1);
        dy = 0.1 * (other + 1);
      }
      const push = (PUSH * alpha) / Math.max(dx * dx + dy * dy, 400);
      const far = Math.hypot(dx, dy);
      vx[one] += (dx / far) * push;
      vy[one] += (dy / far) * push;
      vx[other] -= (dx / far) * push;
      vy[other] -= (dy / far) * push;
    }
  }
  for (const [one, other] of links) {
    const dx = x[other] - x[one];
    const dy = y[other] - y[one];
    const far = Math.hypot(dx, dy) || 1;
    const pull = (far - LENGTH) * SPRING * alpha;
    vx[one] += (dx / far) * pull;
    vy[one] += (dy / far) * pull;
    vx[other] -= (dx / far) * pull;
    vy[other] -= (dy / far) * pull;
  }
  for (let at = 0; at < many; at += 1) {
    vx[at] = (vx[at] - x[at] * MIDDLE * alpha) * SLOWING;
    vy[at] = (vy[at] - y[at] * MIDDLE * alpha) * SLOWING;
    const speed = Math.hypot(vx[at], vy[at]);
    const slower = speed > FASTEST ? FASTEST / speed : 1;
    if (held[at]) continue;
    x[at] += vx[at] * slower;
    y[at] += vy[at] * slower;
  }
  forces.alpha *= COOLING;
  return forces.alpha > AT_REST;
}
