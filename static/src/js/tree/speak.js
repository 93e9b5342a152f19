// @ts-check
// What a screen reader is told: one polite region, to which each message is added. A message
// that took another's place would keep it from being read.

const KEPT = 4;

/** @param {string} words */
export function speak(words) {
  const region = document.querySelector("[data-spoken]");
  if (!region || !words) return;
  const said = document.createElement("span");
  said.textContent = `${words} `;
  region.append(said);
  while (region.children.length > KEPT) region.firstElementChild?.remove();
}
