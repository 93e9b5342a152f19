// @ts-check
// The worker's entry: a message with parents in, one with places out.

import { icicle } from "./js/map/icicle.js";
import { layout } from "./js/map/layout.js";

self.onmessage = ({ data }) => {
  const { parents, swaps, ask, form, known } = data;
  const say = (/** @type {any} */ message, /** @type {any} */ made) => {
    const moved = Object.values(made).map((/** @type {any} */ column) => column.buffer);
    /** @type {any} */ (self).postMessage(message, moved);
  };
  if (form === "icicle") {
    const places = icicle(parents, swaps, known);
    say({ ask, form, places }, places);
  } else {
    const made = layout(parents, undefined, swaps);
    say({ ask, form, ...made }, made);
  }
};
