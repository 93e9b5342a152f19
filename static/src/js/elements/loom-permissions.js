// @ts-check
// Permissions of an agent: a preset ticks exactly its own, a tick brings what it needs along.

export class LoomPermissions extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.addEventListener("change", (event) => this.changed(event.target), { signal: this.stop.signal });
    this.showPreset();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  boxes() {
    return /** @type {HTMLInputElement[]} */ ([...this.querySelectorAll('[name="permission"]')]);
  }

  preset() {
    return /** @type {HTMLSelectElement} */ (this.querySelector("[data-preset]"));
  }

  /** @param {EventTarget | null} target */
  changed(target) {
    if (target === this.preset()) this.takePreset();
    else if (target instanceof HTMLInputElement) this.follow(target);
  }

  takePreset() {
    const chosen = this.preset().selectedOptions[0];
    if (chosen.value === "") return;
    const names = namesOf(chosen);
    for (const box of this.boxes()) box.checked = names.has(box.value);
  }

  /** What is ticked needs its base; what is taken away takes along what needs it.
   * @param {HTMLInputElement} box */
  follow(box) {
    for (const other of this.boxes()) {
      if (box.checked && other.value === box.dataset.needs) other.checked = true;
      if (!box.checked && other.dataset.needs === box.value) other.checked = false;
    }
    this.showPreset();
  }

  showPreset() {
    const held = new Set(this.boxes().flatMap((box) => (box.checked ? [box.value] : [])));
    const same = [...this.preset().options].find((option) => option.value && isSame(namesOf(option), held));
    this.preset().value = same?.value ?? "";
  }
}

/** @param {HTMLOptionElement} option */
function namesOf(option) {
  return new Set((option.dataset.names ?? "").split(" ").filter(Boolean));
}

/** @param {Set<string>} names @param {Set<string>} other */
function isSame(names, other) {
  return names.size === other.size && [...names].every((name) => other.has(name));
}
