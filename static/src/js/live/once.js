// @ts-check
// What is asked once: a second press of a button, while the first is not answered, is the same press, unless something
// else was asked at that place in between: on, off, on ends with on.

export class Once {
  /** @type {Map<string, {answer: Promise<any>, until: number}>} */
  asked = new Map();
  /** @type {Map<string, string>} what was asked last, by place */
  last = new Map();

  /** @param {() => number} [now] in milliseconds */
  constructor(now = () => performance.now()) {
    this.now = now;
  }

  /** The answer to what is under way already, else to what is sent now. What was refused may be asked again at once.
   * @template T @param {string} same what is asked, and where @param {() => Promise<T>} send
   * @param {number} [least] milliseconds within which it is the same press, though it was answered @param {string} [place] @returns {Promise<T>} */
  send(same, send, least = 0, place = "") {
    const now = this.now();
    for (const [other, { until }] of this.asked) if (until <= now) this.asked.delete(other);
    const before = this.asked.get(same);
    if (before && this.last.get(place) === same) return before.answer;
    this.last.set(place, same);
    const asked = { answer: send(), until: Number.POSITIVE_INFINITY };
    this.asked.set(same, asked);
    const forget = () => {
      if (this.asked.get(same) !== asked) return;
      this.asked.delete(same);
      if (this.last.get(place) === same) this.last.delete(place);
    };
    asked.answer.then(() => (least ? (asked.until = now + least) : forget()), forget);
    return asked.answer;
  }

  /** What was answered may be asked again at once. */
  forget() {
    for (const [same, { until }] of this.asked) if (Number.isFinite(until)) this.asked.delete(same);
  }
}
