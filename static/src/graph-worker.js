// @ts-check
// The worker's entry: the items of a graph come in, their places go out, step by step, until all is
// at rest. `hold` puts an item where the reader drags it, and lets the others give way.

import { begin, hold, places, step } from "./js/graph/forces.js";

/** @type {import("./js/graph/forces.js").Forces | null} */
let forces = null;
let isGoing = false;
const A_MESSAGE = 2; // steps between two messages

function go() {
  if (!forces) return;
  let left = true;
  for (let at = 0; at < A_MESSAGE && left; at += 1) left = step(forces);
  /** @type {any} */ (self).postMessage({ ...places(forces), isAtRest: !left });
  isGoing = left;
  if (left) setTimeout(go, 1000 / 60);
}

self.onmessage = ({ data }) => {
  if (data.places) forces = begin(data.places, data.links).alpha(data.alpha ?? 1);
  else if (forces && data.hold !== undefined) hold(forces, data.hold, data.x, data.y, data.isLet);
  if (!isGoing) {
    isGoing = true;
    go();
  }
};
