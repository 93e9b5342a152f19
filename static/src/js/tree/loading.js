// @ts-check
// The shape of the tree as it is now: the skeleton, and the events that came while it was on its way.

import { json } from "../live/api.js";
import { TreeStore } from "./store.js";

/** @param {import("./page.js").TreePage} page */
export async function storeNow(page) {
  const skeleton = await json(`${page.api}/skeleton`);
  const missed = /** @type {any[]} */ ([]);
  let cursor = skeleton.seq;
  while (cursor < page.events.seq) {
    const some = await json(`${page.api}/events?since=${cursor}`);
    if (!some.events.length) break;
    missed.push(...some.events);
    cursor = some.events.at(-1).seq;
  }
  const store = new TreeStore(skeleton, page.settings.versions);
  for (const event of missed) store.apply(event);
  return store;
}
