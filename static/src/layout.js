// @ts-check
// The worker's entry: a message with parents in, one with places out.

import { layout } from "./js/map/layout.js";

self.onmessage = ({ data }) => {
  const { parents, swaps, ask } = data;
  const made = layout(parents, undefined, swaps);
  const moved = [made.x.buffer, made.y.buffer, made.up.buffer, made.run.buffer, made.kept.buffer, made.rows.buffer];
  /** @type {any} */ (self).postMessage({ ask, ...made }, moved);
};
