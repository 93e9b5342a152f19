// @ts-check
// + and − on texts and candidates: one press rates, another one of the same takes it away. The
// buttons show what one has rated, however often they are drawn again.

import { json } from "../live/api.js";
import { call } from "../live/calls.js";

/** @typedef {import("./page.js").TreePage} TreePage */
/** @typedef {"plus" | "minus"} Rating */

/** @type {Map<string, Rating>} */
const own = new Map();

/** @param {TreePage} page @param {string} id @param {Rating} rating */
export function rate(page, id, rating) {
  const wanted = own.get(id) === rating ? "none" : rating;
  return page.say(call("rate", { ref: id, rating: wanted }), { follow: false });
}

/** What the keys rate: the candidate that is picked, else the text. @param {TreePage} page @param {string} id of the text */
export function ratedBy(page, id, /** @type {Rating} */ rating) {
  const card = document.querySelector(".card.on[data-id], .card:focus[data-id]");
  const about = card?.getAttribute("data-id") ?? id;
  if (!page.can.comment || !about) return false;
  rate(page, about, rating).catch(() => {});
  return true;
}

/** Shows on the buttons what is rated. */
function show() {
  for (const button of document.querySelectorAll("[data-act='rate-plus'], [data-act='rate-minus']")) {
    const rating = own.get(button.getAttribute("data-ref") ?? "");
    const isPressed = String(button.getAttribute("data-act") === `rate-${rating}`);
    if (button.getAttribute("aria-pressed") !== isPressed) button.setAttribute("aria-pressed", isPressed);
  }
}

/** Listens for the buttons and the marks until the signal says stop. @param {TreePage} page @param {AbortSignal} signal */
export function followRatings(page, signal) {
  own.clear();
  void json(`${page.api}/ratings`).then(
    ({ ratings }) => {
      for (const [id, rating] of Object.entries(ratings)) own.set(id, rating);
      show();
    },
    () => {}, // without a connection the buttons still rate, later
  );
  const hear = (/** @type {boolean} */ isOn) => (/** @type {{payload?: any}} */ { payload }) => {
    const { mark } = payload;
    if (mark.participant !== page.settings.me || (mark.kind !== "plus" && mark.kind !== "minus")) return;
    if (isOn) own.set(mark.item, mark.kind);
    else if (own.get(mark.item) === mark.kind) own.delete(mark.item);
    show();
  };
  page.events.on("mark.added", hear(true));
  page.events.on("mark.removed", hear(false));
  document.addEventListener(
    "click",
    (event) => {
      const button = /** @type {Element} */ (event.target).closest("[data-act='rate-plus'], [data-act='rate-minus']");
      const id = button?.getAttribute("data-ref");
      if (!button || !id) return;
      event.preventDefault();
      event.stopPropagation();
      rate(page, id, button.getAttribute("data-act") === "rate-plus" ? "plus" : "minus").catch(() => {});
    },
    { signal, capture: true },
  );
  const watch = new MutationObserver(show);
  const thread = document.querySelector(".thread");
  if (thread) watch.observe(thread, { childList: true, subtree: true });
  signal.addEventListener("abort", () => watch.disconnect());
}
