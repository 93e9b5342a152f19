// @ts-check
// How long to wait before the next try: twice as long each time, with jitter, to a limit.

export class Backoff {
  /** @param {{first?: number, limit?: number, dice?: () => number}} [options] milliseconds */
  constructor({ first = 500, limit = 20_000, dice = Math.random } = {}) {
    this.first = first;
    this.limit = limit;
    this.dice = dice;
    this.tries = 0;
  }

  /** The next wait. Between half and all of it, so that many pages do not come at once. */
  next() {
    const whole = Math.min(this.limit, this.first * 2 ** this.tries);
    this.tries += 1;
    return whole * (0.5 + this.dice() / 2);
  }

  /** Something worked: begin from the start again. */
  reset() {
    this.tries = 0;
  }
}
