// @ts-check
// The colours of the style sheet as a canvas needs them: resolved for the theme of now.

/** @param {HTMLElement} element @returns {import("./draw.js").Ink} */
export function inkOf(element) {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const resolved = (/** @type {string} */ name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const ink = {
    paper: resolved("paper"),
    panel: resolved("panel"),
    ink: resolved("ink"),
    soft: resolved("soft"),
    rule: resolved("rule"),
    edge: resolved("edge"),
    link: resolved("link"),
    threads: [0, 1, 2, 3, 4, 5, 6, 7].map((place) => resolved(`thread-${place}`)),
    font: getComputedStyle(element).fontFamily,
  };
  probe.remove();
  return ink;
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
