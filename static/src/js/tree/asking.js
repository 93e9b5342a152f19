// @ts-check
// What the composer's fields ask of models: who, how many of each, how long, how daring. The
// choice is kept for the tree, and where somebody was asked on this path before, it is theirs.

/** @typedef {import("./lines.js").Asking} Fields */

export class Asking {
  /** @param {HTMLFormElement} form @param {string} tree */
  constructor(form, tree) {
    this.form = form;
    this.name = `heddle.asking.${tree}`;
    this.shown = form.querySelector("[data-agents-shown]");
    this.load();
  }

  /** @param {string} name */
  field(name) {
    return /** @type {HTMLInputElement | null} */ (this.form.elements.namedItem(name));
  }

  boxes() {
    return /** @type {HTMLInputElement[]} */ ([...this.form.querySelectorAll('[name="using"]')]);
  }

  /** @returns {Required<Fields>} */
  read() {
    const of = (/** @type {string} */ name) => this.field(name)?.value.trim() ?? "";
    const using = this.boxes().filter((box) => box.checked).map((box) => box.value);
    const counts = Object.fromEntries(using.map((name) => [name, of(`n:${name}`)]).filter(([, count]) => count));
    return { n: of("n"), tokens: of("tokens"), temperature: of("temperature"), using, counts };
  }

  keep() {
    const asking = this.read();
    localStorage.setItem(this.name, JSON.stringify(asking));
    this.show(asking);
  }

  load() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.name) ?? "{}");
      for (const name of ["n", "tokens", "temperature"]) {
        const field = this.field(name);
        if (field && kept[name] !== undefined) field.value = kept[name];
      }
      this.choose(kept.using ?? [], kept.counts ?? {});
    } catch {
      // Settings of an older page: the defaults do.
    }
    this.show(this.read());
  }

  /** Takes the choice of a path: how many of whom, by name. @param {Record<string, number>} asked */
  follow(asked) {
    const names = Object.keys(asked);
    const same = new Set(Object.values(asked)).size === 1;
    const n = this.field("n");
    if (names.length && same && n) n.value = String(asked[names[0]]);
    this.choose(names, same ? {} : asked);
    this.show(this.read());
  }

  /** @param {string[]} using @param {Record<string, string | number>} counts */
  choose(using, counts) {
    const boxes = this.boxes();
    if (!boxes.some((box) => using.includes(box.value))) return;
    for (const box of boxes) {
      box.checked = using.includes(box.value);
      const field = this.field(`n:${box.value}`);
      if (field) field.value = String(counts[box.value] ?? "");
    }
  }

  /** @param {Required<Fields>} asking */
  show({ using, counts }) {
    const words = using.map((name) => (counts[name] ? `${name} ×${counts[name]}` : name));
    if (this.shown) this.shown.textContent = words.join(", ") || "Whoever was last";
  }
}
