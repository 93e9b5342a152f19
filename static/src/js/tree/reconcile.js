// @ts-check
// Keeps what is drawn where it is the same, so that focus, selection and open editors stay.

/** @type {WeakMap<Element, string>} the markup an element came from */
const sources = new WeakMap();

/** Remembers how elements came from the server. @param {Iterable<Element>} elements */
export function remember(elements) {
  for (const element of elements) sources.set(element, element.outerHTML);
}

/** The element children of some markup. @param {string} markup */
export function parsed(markup) {
  const template = document.createElement("template");
  template.innerHTML = markup;
  return template.content;
}

/**
 * Makes the children of `parent` that `isOurs` be `fresh`, in order, matched by `keyOf`.
 * An element stays where its markup has not changed, or where `mayReplace` says no.
 * @param {Element} parent @param {Element[]} fresh
 * @param {{isOurs: (child: Element) => boolean, keyOf: (child: Element) => string, mayReplace?: (old: Element, fresh: Element) => boolean}} how
 */
export function reconcile(parent, fresh, { isOurs, keyOf, mayReplace = () => true }) {
  const focus = focusIn(parent);
  const old = new Map([...parent.children].filter(isOurs).map((child) => [keyOf(child), child]));
  const last = [...parent.children].filter(isOurs).at(-1);
  /** @type {ChildNode | null} */
  let at = [...parent.children].find(isOurs) ?? last?.nextSibling ?? null;
  for (const child of fresh) {
    const source = child.outerHTML;
    const before = old.get(keyOf(child));
    old.delete(keyOf(child));
    let drawn = child;
    if (before && (sources.get(before) === source || !mayReplace(before, child))) drawn = before;
    else sources.set(child, source);
    if (before && drawn !== before) {
      if (at === before) at = before.nextSibling;
      before.remove();
    }
    if (drawn === at) at = at.nextSibling;
    else parent.insertBefore(drawn, at);
  }
  for (const gone of old.values()) gone.remove();
  focus();
}

/** Remembers where the focus is inside; the way to put it back. @param {Element} parent */
function focusIn(parent) {
  const active = document.activeElement;
  if (!active || active === parent || !parent.contains(active)) return () => {};
  const owner = active.closest("[id]");
  const act = active.getAttribute("data-act");
  return () => {
    if (document.activeElement === active || !owner) return;
    const again = document.getElementById(owner.id);
    const target = (act && again?.querySelector(`[data-act="${CSS.escape(act)}"]`)) || again;
    /** @type {HTMLElement | null} */ (target)?.focus({ preventScroll: true });
  };
}
