// @ts-check
// Short words at the foot of the page about what was just done, with the way to take it back.

export class LoomToast extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "status");
    this.setAttribute("aria-live", "polite");
  }

  /**
   * Shows words for a while; longer when there is something to press, and while it is pointed at.
   * @param {string} words @param {{bad?: boolean, act?: string, onAct?: () => void, stay?: number}} [options]
   */
  show(words, { bad = false, act = "", onAct = () => {}, stay = act || bad ? 9000 : 4000 } = {}) {
    const toast = document.createElement("div");
    toast.className = bad ? "toast bad" : "toast";
    toast.append(Object.assign(document.createElement("span"), { textContent: words }));
    if (act) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: act });
      button.addEventListener("click", () => {
        toast.remove();
        onAct();
      });
      toast.append(button);
    }
    this.replaceChildren(toast);
    const leave = () => {
      if (toast.matches(":hover, :focus-within")) setTimeout(leave, 2000);
      else toast.remove();
    };
    setTimeout(leave, stay);
  }
}

/** The page's toast. @returns {LoomToast} */
export function toast() {
  return /** @type {LoomToast} */ (document.querySelector("loom-toast"));
}
