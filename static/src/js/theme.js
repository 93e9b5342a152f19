// @ts-check
// The colours of the style sheet as a canvas needs them, and when they may have changed.

import { make } from "./tree/forms.js";

/** What `read` makes of the colours, resolved for the theme of now, as they are where `element` is.
 * @template T @param {HTMLElement} element
 * @param {(colour: (name: string, who?: number) => string) => T} read `name` is a custom property, such as --ink; `who`: of that author
 * @returns {T} */
export function withColours(element, read) {
  // Its class keeps forced colours from making each of them that of text.
  const probe = make("i", { className: "colour-probe", hidden: true });
  element.append(probe);
  const outcome = read((name, who) => {
    if (who !== undefined) probe.dataset.who = String(who);
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return outcome;
}

/** Calls when the theme may have changed. @param {() => void} changed @param {AbortSignal} signal */
export function onTheme(changed, signal) {
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", changed, { signal });
  }
  const watch = new MutationObserver(changed);
  watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  signal.addEventListener("abort", () => watch.disconnect());
}
