// @ts-check
// The lines that were run, newest last, to be recalled with the arrows.

const MOST = 50;

export class History {
  /** @param {Storage} store @param {string} name */
  constructor(store, name) {
    this.store = store;
    this.name = name;
    this.at = 0;
  }

  /** @returns {string[]} */
  lines() {
    try {
      return JSON.parse(this.store.getItem(this.name) ?? "[]");
    } catch {
      return [];
    }
  }

  /** @param {string} line */
  add(line) {
    const lines = [...this.lines().filter((one) => one !== line), line].slice(-MOST);
    this.store.setItem(this.name, JSON.stringify(lines));
    this.leave();
  }

  /** The line so many steps further back; undefined at the ends. @param {number} back */
  step(back) {
    const lines = this.lines();
    const at = Math.min(lines.length, Math.max(0, this.at + back));
    this.at = at;
    return at === 0 ? undefined : lines[lines.length - at];
  }

  leave() {
    this.at = 0;
  }
}
