// @ts-check
// Where a new model is: what the chosen kind of provider has by itself stands in grey, and a
// listed model is taken over by choosing it.

export class LoomProvider extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.addEventListener("change", (event) => this.changed(event.target), { signal: this.stop.signal });
    this.show();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** @param {string} name @returns {HTMLInputElement} */
  field(name) {
    return /** @type {HTMLInputElement} */ (this.querySelector(`[data-${name}]`));
  }

  /** @param {EventTarget | null} target */
  changed(target) {
    if (!(target instanceof HTMLSelectElement)) return;
    if (target.matches("[data-kind]")) this.show();
    else if (target.matches("[data-pick]") && target.value) this.field("model-name").value = target.value;
  }

  show() {
    const kinds = /** @type {HTMLSelectElement} */ (this.querySelector("[data-kind]"));
    const { url = "", model = "", ...has } = kinds.selectedOptions[0].dataset;
    const address = this.field("address");
    address.placeholder = url || "https://…/v1";
    address.required = !url && has.own === undefined;
    this.field("model-name").placeholder = model;
    for (const name of ["list", "again"]) this.field(name).disabled = has.lists === undefined;
  }
}
