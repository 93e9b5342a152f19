// @ts-check
// The tree in the page: who is where, without texts. Filled from the skeleton, kept true by
// events. A slot is named by the place of its first version.

import { json } from "../live/api.js";
import { joined, joinedSoon } from "./tiles.js";
import { Totals } from "./totals.js";

export const PRUNED = 1;
export const EXCLUDED = 2;
export const VERSION_PRUNED = 8;
const BIT = /** @type {Record<string, number>} */ ({ pruned: 1, excluded: 2, sandbox: 4, version_pruned: 8, resolved: 16 });

/** @typedef {{seq: number, ids: string[], parents: (number | null)[], slots: number[], kinds: string[], authors: number[], participants: {id: string}[], flags: number[], lengths: number[], orders?: [number, number[]][], rests?: [number, number][]}} Skeleton
 * `orders`: the children of a place, where they are in another order than that of creation; `rests`: second halves
 * of splits, and the text that was split */

export class TreeStore {
  /** @param {Skeleton} skeleton @param {Record<string, string>} [choices] slot → chosen version */
  constructor(skeleton, choices = {}) {
    this.seq = skeleton.seq;
    this.ids = skeleton.ids;
    this.parents = skeleton.parents;
    this.slots = skeleton.slots;
    this.kinds = skeleton.kinds;
    this.totals = new Totals(this);
    /** @type {Set<number>} slots with continuations in another order than that of creation, or that had */
    this.moved = new Set();
    this.authors = skeleton.authors.map((place) => skeleton.participants[place].id);
    this.flags = skeleton.flags;
    this.lengths = skeleton.lengths;
    this.choices = new Map(Object.entries(choices));
    this.changes = 0; // so far
    /** @type {Map<string, number>} */
    this.places = new Map(this.ids.map((id, place) => [id, place]));
    /** @type {Map<number, number[]>} text slots below a slot, in their order */
    this.below = new Map();
    /** @type {Map<number, number[]>} all versions of a slot that has several */
    this.versions = new Map();
    /** @type {Map<number, number[]>} annotations on a slot that has some */
    this.notes = new Map();
    /** @type {Map<number, number>} the slot below that was last visited */
    this.visited = new Map();
    for (let place = 0; place < this.ids.length; place += 1) this.hang(place);
    /** @type {Map<number, number>} second halves of splits, and the text that was split: it keeps what follows */
    this.rests = new Map(skeleton.rests ?? []);
    /** @type {Map<number, string>} what texts of this visit were made from */
    this.origins = new Map();
    for (const [parent, children] of skeleton.orders ?? []) {
      this.below.set(parent, [...children]);
      this.moved.add(parent);
    }
  }

  /** @param {number} place @param {number} [before] the sibling that it comes before; none: it is the last */
  hang(place, before) {
    const slot = this.slots[place];
    if (slot !== place) {
      const versions = this.versions.get(slot) ?? [slot];
      versions.push(place);
      this.versions.set(slot, versions);
      return;
    }
    const parent = this.parents[place];
    if (parent === null) return;
    if (this.kinds[place] === "annotation") this.notes.set(parent, [...(this.notes.get(parent) ?? []), place]);
    if (this.kinds[place] !== "text") return;
    const siblings = this.below.get(parent);
    const at = before === undefined ? -1 : (siblings?.indexOf(before) ?? -1);
    if (at >= 0) this.moved.add(parent);
    if (siblings) siblings.splice(at < 0 ? siblings.length : at, 0, place);
    else this.below.set(parent, [place]);
  }

  /** Applies an event of the tree; false where it changes nothing here.
   * @param {{kind: string, payload?: any}} event */
  apply({ kind, payload }) {
    if (kind === "node.added") return this.add(payload.node, payload.before);
    if (kind === "node.flagged") this.flag(payload);
    else if (kind === "annotation.resolved") this.flag({ node: payload.node, flag: "resolved", value: true });
    else if (kind === "annotation.reopened") this.flag({ node: payload.node, flag: "resolved", value: false });
    else return false;
    return true;
  }

  /** Adds the node of a `node.added` event; false where it is known already. @param {any} node
   * @param {string} [before] the sibling that it comes before */
  add(node, before) {
    if (this.places.has(node.id)) return false;
    const place = this.ids.length;
    const parent = node.parent === null ? null : this.slotOf(node.parent);
    this.ids.push(node.id);
    this.places.set(node.id, place);
    const slot = node.slot === node.id ? place : this.slotOf(node.slot) ?? place;
    this.slots.push(slot);
    this.parents.push(parent);
    this.kinds.push(node.kind);
    this.authors.push(node.author.id);
    this.flags.push(slot === place ? 0 : this.flags[slot] & ~BIT.version_pruned);
    this.lengths.push([...node.text].length);
    this.noteOrigin(place, node.edited_from ?? "");
    this.hang(place, before === undefined ? undefined : this.places.get(before));
    this.totals.added(place);
    this.changes += 1;
    return true;
  }

  /** Notes what a text was made from: two halves are made from the same, and together as long as that. An edit that became a
   * branch has two halves as well. @param {number} place @param {string} from */
  noteOrigin(place, from) {
    const [parent, whole] = [this.parents[place], this.places.get(from)];
    if (whole === undefined) return;
    this.origins.set(place, from);
    if (parent === null || this.origins.get(parent) !== from) return;
    if (this.lengths[parent] + this.lengths[place] === this.lengths[whole]) this.rests.set(place, whole);
  }

  /** The text that goes on where a second half of a split ends: the one that was split, while nobody wrote below the
   * half. undefined: there is none, or nothing follows there. @param {number} slot */
  wholeOf(slot) {
    const whole = this.rests.get(slot);
    if (whole === undefined || this.isPruned(this.slots[whole]) || this.childrenOf(slot).length) return undefined;
    return this.childrenOf(this.slots[whole]).length ? this.slots[whole] : undefined;
  }

  /** Takes over who really wrote texts that somebody else edited or split. @param {Map<string, string>} authors by node */
  credit(authors) {
    for (const [id, author] of authors) {
      const place = this.places.get(id);
      if (place !== undefined) this.authors[place] = author;
    }
  }

  /** Applies a `node.flagged` event. @param {{node: string, flag: string, value: boolean}} change */
  flag({ node, flag, value }) {
    const place = this.places.get(node);
    if (place === undefined) return;
    this.changes += 1;
    const targets = flag === "version_pruned" ? [place] : this.versionsOf(this.slots[place]);
    for (const target of targets) {
      this.flags[target] = value ? this.flags[target] | BIT[flag] : this.flags[target] & ~BIT[flag];
    }
    if (flag === "pruned") this.totals.flagged();
  }

  /** The slot of a node. @param {string} id */
  slotOf(id) {
    const place = this.places.get(id);
    return place === undefined ? null : this.slots[place];
  }

  /** @param {number} slot */
  versionsOf(slot) {
    return this.versions.get(slot) ?? [slot];
  }

  /** The text that a node is, or is about: notes and replies lead to it. @param {string} id */
  textOf(id) {
    let place = this.places.get(id);
    if (place === undefined || this.kinds[place] === "text") return id;
    while (place !== undefined && place !== null && this.kinds[place] !== "text") {
      place = this.parents[place] ?? undefined;
    }
    return place === undefined ? id : this.selected(place);
  }

  /** Whether a slot itself is pruned. @param {number} slot */
  isPruned(slot) {
    return (this.flags[slot] & PRUNED) !== 0;
  }

  /** Whether somebody has written a note on a slot that is not pruned. @param {number} slot */
  isNoted(slot) {
    return (this.notes.get(slot) ?? []).some((note) => !this.isPruned(note));
  }

  /** The text slots below one that are not pruned. @param {number} slot */
  childrenOf(slot) {
    return (this.below.get(slot) ?? []).filter((child) => !this.isPruned(child));
  }

  /** How many texts hang below a slot, at any depth; what is hidden is not counted. @param {number} slot */
  countBelow(slot) {
    return this.totals.counted.below[slot] ?? 0;
  }

  /** The children of each slot where they are in another order than that of creation. @returns {[number, number[]][]} */
  orders() {
    const some = [...this.moved].map((parent) => /** @type {[number, number[]]} */ ([parent, this.below.get(parent) ?? []]));
    return some.filter(([, children]) => children.some((child, at) => at && child < children[at - 1]));
  }

  /** The id of the selected version of a slot. @param {number} slot */
  selected(slot) {
    const chosen = this.choices.get(this.ids[slot]);
    const place = chosen === undefined ? undefined : this.places.get(chosen);
    if (place !== undefined && !(this.flags[place] & VERSION_PRUNED)) return this.ids[place];
    const visible = this.versionsOf(slot).filter((version) => !(this.flags[version] & VERSION_PRUNED));
    return this.ids[visible.at(-1) ?? slot];
  }

  /** The slots from the root to a node's own. @param {string} id */
  pathTo(id) {
    const path = [];
    let slot = this.slotOf(id);
    while (slot !== null && slot !== undefined && path.length <= this.ids.length) {
      path.push(slot);
      slot = this.parents[slot];
    }
    return path.reverse();
  }

  /** Whether an event, which was applied before, changes what is known of a node besides what is
   * drawn with it: its versions, or the call it came from. @param {string} id @param {{kind: string, payload: any}} event */
  isAbout(id, { kind, payload }) {
    const slot = this.slotOf(id);
    if (slot === null) return true;
    const ids = this.versionsOf(slot).map((version) => this.ids[version]);
    if (kind === "node.added") return ids.includes(payload.node.id);
    if (kind === "node.flagged") return ids.length > 1 && ids.includes(payload.node);
    return kind === "call.sealed" && payload.nodes.some((/** @type {string} */ node) => ids.includes(node));
  }

  /** Whether an event of a node, which was applied before, may change what the path to `id` says.
   * @param {string} id @param {{kind: string, payload: any}} event */
  isOnPath(id, { kind, payload }) {
    const slot = this.slotOf(kind === "node.added" ? payload.node.id : payload.node);
    return slot === null || this.pathTo(id).includes(slot);
  }

  /** Whether one of some nodes is on the path to `id`. @param {string} id @param {string[]} nodes */
  hasOnPath(id, nodes) {
    const path = new Set(nodes.length ? this.pathTo(id) : []);
    return nodes.some((node) => path.has(this.slotOf(node) ?? -1));
  }

  /** Whether a slot is directly below one of some nodes. @param {number | null} slot @param {string[]} nodes */
  isBelow(slot, nodes) {
    const above = slot === null ? null : this.parents[slot];
    return above !== null && nodes.some((node) => this.slotOf(node) === above);
  }

  /** Remembers the way down, so that → leads back where ← came from. @param {string} id */
  visit(id) {
    const path = this.pathTo(id);
    for (let at = 1; at < path.length; at += 1) this.visited.set(path[at - 1], path[at]);
  }

  /** Where → leads: the child last visited, else the one that was written on last, else the first.
   * @param {number} slot @returns {number | undefined} */
  onward(slot) {
    const children = this.childrenOf(slot);
    const last = this.visited.get(slot);
    if (last !== undefined && children.includes(last)) return last;
    const whole = children.length ? undefined : this.wholeOf(slot);
    if (whole !== undefined) return this.onward(whole);
    const { latest } = this.totals.counted;
    return children.reduce((best, child) => ((latest[child] ?? 0) > (latest[best] ?? 0) ? child : best), children[0]);
  }

  /** The end of the way down from a slot. @param {number} slot */
  leafBelow(slot) {
    let at = slot;
    for (let steps = 0; steps <= this.ids.length; steps += 1) {
      const next = this.onward(at);
      if (next === undefined) return at;
      at = next;
    }
    return at;
  }

  /** The sibling `step` places further, or undefined. @param {number} slot @param {number} step */
  sibling(slot, step) {
    const parent = this.parents[slot];
    if (parent === null) return undefined;
    const siblings = this.childrenOf(parent);
    return siblings[siblings.indexOf(slot) + step];
  }

  /** Nodes of all kinds and versions, and visible leaves. */
  size() {
    return { nodes: this.ids.length, branches: this.totals.branches() };
  }
}

// The shape of the tree as it is now: the skeleton, and the events that came while it was on its way.

/** @param {import("./page.js").TreePage} page */
export async function storeNow(page) {
  const head = await json(`${page.api}/skeleton?tiles=1`);
  // A picture of a big tree comes first. A tree of one tile is here already.
  if (head.tiles && !head.tile) await json(`${page.api}/overview`).then((overview) => page.emit("overview", overview)).catch(() => {});
  const tiles = Array.from({ length: head.tile ? 0 : head.tiles ?? 0 }, (_, at) => json(`${page.api}/skeleton/${at}`));
  const skeleton = head.tile ? joined(head, [head.tile]) : tiles.length ? await joinedSoon(head, tiles) : head;
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
