// @ts-check
// A short message at the foot of the page about the last change, with a button to undo it.

export class LoomToast extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "status");
    this.setAttribute("aria-live", "polite");
  }

  /**
   * Shows words for a while; longer with a button, and while the pointer or focus is on it.
   * `exact` is shown when the words are clicked. What is `lasting` stays until it is answered,
   * and whatever is said later stands beside it.
   * @param {string} words
   * @param {{bad?: boolean, act?: string, onAct?: () => void, exact?: string, stay?: number, lasting?: boolean}} [options]
   */
  show(words, { bad = false, act = "", onAct = () => {}, exact = "", stay = act || bad ? 9000 : 4000, lasting = false } = {}) {
    const toast = document.createElement("div");
    toast.className = bad ? "toast bad" : "toast";
    if (lasting) toast.dataset.lasting = "";
    toast.append(exact ? withExact(words, exact) : Object.assign(document.createElement("span"), { textContent: words }));
    if (act) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: act });
      button.addEventListener("click", () => {
        toast.remove();
        onAct();
      });
      toast.append(button);
    }
    this.replaceChildren(...(lasting ? [] : this.querySelectorAll("[data-lasting]")), toast);
    if (lasting) return;
    const leave = () => {
      if (toast.matches(":hover, :focus-within")) setTimeout(leave, 2000);
      else toast.remove();
    };
    setTimeout(leave, stay);
  }
}

/** The words, which open to the exact reply. @param {string} words @param {string} exact */
function withExact(words, exact) {
  const details = document.createElement("details");
  const summary = Object.assign(document.createElement("summary"), { textContent: words });
  details.append(summary, Object.assign(document.createElement("code"), { textContent: exact }));
  return details;
}

/** The page's toast. @returns {LoomToast} */
export function toast() {
  return /** @type {LoomToast} */ (document.querySelector("loom-toast"));
}
