// @ts-check
// Commands on their way: sent one after another, each with a key, so that a repeat is harmless.
// What could not be sent for lack of a connection stays and goes when there is one.

import { json, Refused } from "./api.js";
import { asBody } from "./calls.js";

/** @typedef {import("./draft-storage.js").Carried} Carried */
/** @typedef {import("./calls.js").Said} Said */
/** @typedef {{act: string, doing: string}} ActOf the id of an act, and what it is in words */
/** @typedef {{said: Said, at: string, key: string, draft?: Carried | Carried[], act?: ActOf, then?: Said[]}} Letter draft: whose text it carries, or which texts; act: of which act it is a part;
 * then: what its page would have sent where it led */
/** One step of an undo. @typedef {{verb?: string, action?: string, act?: string, turn?: string, by?: string, role?: string, who?: string}} Undone */
/** What only the words of a reply tell a person (docs/model.md §14.3.3).
 * @typedef {{saved_as?: string, accepted?: string, rating?: string, marked?: boolean, kept?: boolean, task?: string, claim?: string, evidence?: string, quote?: string, answered?: string, undone?: Undone[]}} Did */
/** @typedef {{reply: string, did?: Did, canonical: string, position: string, refs: string[], generations: string[], stream?: string, events: number[], step: number}} Answer */

/** A key that no other request has. */
export function newKey() {
  return crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random().toString(36).slice(2)}`;
}

/** The key of a command that follows a letter: every tab that sends it sends it with this key, so that
 * it runs once. @param {string} key of the letter @param {number} place among those that follow */
export const keyAfter = (key, place) => `${key}.${place}`;

/** The key of the last request to each place, while it has no answer or if that was lost: asked again, the same has the
 * key that it had, and runs once. */
export class Keys {
  /** @type {Map<string, {same: string, key: string}>} */
  open = new Map();

  /** @template T @param {string} place @param {unknown} what is asked there @param {(key: string) => Promise<T>} send @returns {Promise<T>} */
  async send(place, what, send) {
    const same = JSON.stringify(what);
    const before = this.open.get(place);
    const asked = before?.same === same ? before : { same, key: newKey() };
    this.open.set(place, asked);
    const forget = () => this.open.get(place) === asked && this.open.delete(place);
    try {
      const answer = await send(asked.key);
      forget();
      return answer;
    } catch (error) {
      if (!(error instanceof Refused && error.mayPass)) forget();
      throw error;
    }
  }
}

export class Outbox extends EventTarget {
  /**
   * @param {string} url the command endpoint
   * @param {{store?: Storage | null, name?: string, post?: (url: string, letter: Letter) => Promise<Answer>, wait?: (ms: number) => Promise<void>}} [options]
   */
  constructor(url, { store = null, name = "outbox", post = postLetter, wait = pause } = {}) {
    super();
    this.url = url;
    this.store = store;
    this.name = `heddle.${name}`;
    this.post = post;
    this.wait = wait;
    /** @type {Promise<unknown>} */
    this.last = Promise.resolve();
    this.waiting = 0;
  }

  /** Lines that an earlier page could not send. @returns {Letter[]} */
  left() {
    try {
      return JSON.parse(this.store?.getItem(this.name) ?? "[]").filter((/** @type {Letter} */ letter) => letter.said);
    } catch {
      return [];
    }
  }

  /** Sends what an earlier page left behind. @returns {Promise<Answer | null>[]} */
  resume() {
    return this.left().map((letter) => this.push(letter).catch(() => null));
  }

  /** Sends one command after those before it; the answer, or Refused.
   * @param {Said} said @param {string} at where it is given @param {Carried | Carried[]} [draft] @param {ActOf} [act] @param {Said[]} [then] @param {string} [key] @returns {Promise<Answer>} */
  send(said, at, draft, act, then, key = newKey()) {
    const letter = { said, at, key, draft, act, then };
    this.keep([...this.left(), letter]);
    if (this.waiting) this.tell(this.left().length);
    return this.push(letter);
  }

  /** @param {Letter} letter @returns {Promise<Answer>} */
  push(letter) {
    const answer = this.last.then(() => this.deliver(letter));
    this.last = answer.catch(() => undefined);
    return answer;
  }

  /** @param {Letter} letter */
  async deliver(letter) {
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await this.post(this.url, letter);
        this.settle(letter, true);
        return answer;
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 0) {
          this.settle(letter, false);
          throw error;
        }
        this.tell(Math.max(1, this.left().length)); // a browser without a store keeps none
        await this.wait(Math.min(15_000, 500 * 2 ** tries));
      }
    }
  }

  /** @param {Letter} letter @param {boolean} ran */
  settle(letter, ran) {
    this.keep(this.left().filter((other) => other.key !== letter.key));
    this.dispatchEvent(new CustomEvent("answered", { detail: { draft: letter.draft, ran } }));
    this.tell(this.left().length);
  }

  /** @param {Letter[]} letters */
  keep(letters) {
    try {
      if (letters.length) this.store?.setItem(this.name, JSON.stringify(letters));
      else this.store?.removeItem(this.name);
    } catch {
      // A full store costs only the memory across a reload.
    }
  }

  /** @param {number} waiting how many lines are not sent yet */
  tell(waiting) {
    if (waiting === this.waiting) return;
    this.waiting = waiting;
    this.dispatchEvent(new CustomEvent("waiting", { detail: waiting }));
  }
}

/** @param {string} url @param {Letter} letter @returns {Promise<Answer>} */
function postLetter(url, { said, at, key, act }) {
  const body = { ...asBody(said), key, ...(at ? { at } : {}), ...act };
  return json(url, { method: "POST", body });
}

/** @param {number} ms @returns {Promise<void>} */
function pause(ms) {
  return new Promise((done) => {
    const wake = () => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      done();
    };
    const timer = setTimeout(wake, ms);
    window.addEventListener("online", wake);
  });
}
