// @ts-check
// Who works by keys is never left on nothing: where what has the focus goes away, what was around it gets it.

const AROUND = "dialog, form, section, ul, ol, article, aside, [role='region'], [role='tabpanel'], main";
const SOON_MS = 30; // who takes it away often has a better place for it

/** Gives the focus to what is read, or to whatever holds other parts of a page. @param {Element | null} [place] */
export function rest(place = document.getElementById("main")) {
  const holder = /** @type {HTMLElement | null} */ (place);
  if (!holder) return;
  if (!holder.hasAttribute("tabindex")) holder.tabIndex = -1;
  holder.focus({ preventScroll: true });
}

/** Leaves a text for what it is in: the path, or a part beside it. @param {Element} field */
export function leave(field) {
  rest(field.closest("dialog, [role='region'], [role='tabpanel'], main") ?? undefined);
}

/** Gives the focus back to what had it, else to what is read. @param {Element | null} [opener] */
export function giveBack(opener) {
  if (!opener?.isConnected || opener === document.body) rest();
  else /** @type {HTMLElement} */ (opener).focus({ preventScroll: true });
}

export const isSeen = (/** @type {Element} */ element) => element.isConnected && (element.checkVisibility?.() ?? true);

/** Watches the focus of a page until the signal says stop. @param {AbortSignal} [signal] */
export function keepFocus(signal) {
  /** @type {Element | null} */
  let last = null;
  /** @type {Element[]} */
  let around = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const give = () => {
    const isFree = document.activeElement === document.body || !document.activeElement;
    if (!last || !isFree || document.querySelector("dialog[open]")?.contains(last)) return;
    const isLost = !isSeen(last) || last.matches(":disabled") || (around[0] === last && !last.hasAttribute("tabindex"));
    if (isLost) rest(around.find(isSeen));
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(give, SOON_MS);
  };
  document.addEventListener("focusin", ({ target }) => {
    last = target instanceof Element ? target : null;
    around = [];
    for (let place = last?.closest(AROUND); place; place = place.parentElement?.closest(AROUND)) around.push(place);
  }, { signal });
  // A browser that hides what has the focus says so; one that removes it may not.
  document.addEventListener("focusout", ({ relatedTarget }) => relatedTarget || soon(), { signal });
  const watch = new MutationObserver(() => last && !last.isConnected && soon());
  watch.observe(document.body, { childList: true, subtree: true });
  signal?.addEventListener("abort", () => watch.disconnect());
}

/** A form that unfolds by its summary is filled in at once. @param {Event} event a toggle */
export function fillUnfolded({ target }) {
  if (!(target instanceof HTMLDetailsElement) || !target.open || !target.matches("[data-fills]")) return;
  if (target.querySelector("summary") === document.activeElement) /** @type {HTMLElement | null} */ (target.querySelector("input:not([type=hidden])"))?.focus();
}
