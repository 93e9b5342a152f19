// @ts-check
// What a screen reader is told. One polite region; the last thing said counts.

/** @param {string} words */
export function speak(words) {
  const region = document.querySelector("[data-spoken]");
  if (region) region.textContent = words;
}
