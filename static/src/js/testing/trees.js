// Trees as the server describes them, for tests: texts of one author, each in a slot of its own.

import { TreeStore } from "../tree/store.js";

/** @param {string[]} ids the root first @param {(number | null)[]} parents the place of the text above each @param {object} [more] */
export function treeOf(ids, parents, more = {}) {
  const all = (value) => ids.map(() => value);
  const lengths = ids.map((_, place) => (place ? 1 : 0));
  const own = { slots: [...ids.keys()], kinds: all("text"), authors: all(0), participants: [{ id: "ada" }], flags: all(0), lengths };
  return new TreeStore({ seq: 1, ids, parents, ...own, ...more });
}
