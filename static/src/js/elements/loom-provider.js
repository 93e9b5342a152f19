// @ts-check
// Where a model is: the defaults of the chosen kind of provider are shown in grey, and a listed
// model is taken over by choosing it, with its context and, where none was given, its name.

export class LoomProvider extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("change", (event) => this.changed(event.target), { signal });
    this.addEventListener("input", (event) => this.typed(event.target), { signal });
    // A field in a closed part cannot be pointed at: the browser would refuse without a word.
    this.form()?.addEventListener("invalid", (event) => this.unfold(event.target), { signal, capture: true });
    this.url = this.kind().dataset.url ?? "";
    this.show();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  form() {
    return this.closest("form");
  }

  /** @param {string} name @returns {HTMLInputElement} */
  field(name) {
    return /** @type {HTMLInputElement} */ (this.form()?.querySelector(`[data-${name}]`));
  }

  kind() {
    return /** @type {HTMLSelectElement} */ (this.querySelector("[data-kind]")).selectedOptions[0];
  }

  /** @param {EventTarget | null} target */
  changed(target) {
    // What has just been allowed is what the list was asked for.
    if (target instanceof HTMLInputElement && target.name === "allow_private" && target.checked && target.closest("#models-there")) this.field("list").click();
    if (!(target instanceof HTMLSelectElement)) return;
    if (target.matches("[data-kind]")) this.changeKind();
    else if (target.matches("[data-pick]") && target.value) this.pick(target.selectedOptions[0]);
  }

  /** @param {EventTarget | null} target */
  typed(target) {
    if (target === this.field("model-name")) this.suggestName();
    else if (target === this.field("name")) delete this.field("name").dataset.suggested;
    else if (target === this.field("address")) this.showAddress();
  }

  /** The address of the provider before is not that of another one. */
  changeKind() {
    const address = this.field("address");
    if (address.value === this.url) address.value = "";
    this.url = this.kind().dataset.url ?? "";
    this.show();
  }

  /** @param {HTMLOptionElement} option */
  pick(option) {
    this.field("model-name").value = option.value;
    this.suggestName();
    const context = this.field("context-field");
    if (option.dataset.context) context.value = option.dataset.context;
    else if (context.dataset.picked === context.value) context.value = "";
    context.dataset.picked = context.value;
  }

  /** A name until somebody types one: the last part of the model's. */
  suggestName() {
    const name = this.field("name");
    if (name.value && name.dataset.suggested !== name.value) return;
    name.value = this.field("model-name").value.split("/").pop()?.slice(0, 80) ?? "";
    name.dataset.suggested = name.value;
  }

  show() {
    const { url = "", model = "", ...has } = this.kind().dataset;
    const address = this.field("address");
    address.placeholder = url || "https://…/v1";
    address.required = !url && has.own === undefined;
    this.field("model-name").placeholder = model;
    for (const name of ["list", "again"]) this.field(name).disabled = has.lists === undefined;
    this.field("key-field").hidden = has.keyless !== undefined;
    this.field("address-fold").hidden = has.local !== undefined;
    /** @type {HTMLDetailsElement} */ (this.querySelector("[data-address-fold]")).open = address.required || address.value !== "";
    this.showAddress();
  }

  /** The address that is called, beside the fold that holds it. */
  showAddress() {
    const address = this.field("address");
    this.field("address-shown").textContent = address.value || (this.kind().dataset.url ?? "");
  }

  /** @param {EventTarget | null} target */
  unfold(target) {
    const fold = target instanceof Element ? target.closest("details:not([open])") : null;
    if (fold) /** @type {HTMLDetailsElement} */ (fold).open = true;
  }
}
