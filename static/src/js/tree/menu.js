// @ts-check
// What a node's menu adds to the acts beside it: ask again, go back here, what hangs below.

import { toast } from "../elements/loom-toast.js";
import { part } from "../live/api.js";
import { t } from "../t.js";
import { act } from "./actions.js";
import { quoted } from "./lines.js";

/** @typedef {import("./page.js").TreePage} TreePage */

/** Runs at once where the tab stands there, else when the path to it is drawn.
 * @param {TreePage} page @param {string} id @param {() => void} run */
function whenAt(page, id, run) {
  if (page.position === id) return run();
  document.addEventListener("drawn", run, { once: true });
  page.go(id);
}

/** Another answer of the same model, beside this one. */
act("again", async ({ page, id, button }) => {
  const parent = page.store?.parents[page.store.slotOf(id) ?? -1];
  if (page.store && parent !== null && parent !== undefined) page.go(page.store.standing(parent));
  const from = page.store && parent !== null && parent !== undefined ? page.store.standing(parent) : "";
  if (from) await page.say(`continue from ${from} n:1 using agent:${quoted(button?.getAttribute("data-name") ?? "")}`);
});

act("here", ({ page, id }) => page.go(id));

act("continuations", ({ page, id }) => {
  whenAt(page, id, () => {
    const weave = document.querySelector("loom-weave");
    weave?.scrollIntoView({ block: "nearest" });
    /** @type {HTMLElement | null | undefined} */ (weave?.querySelector(".card"))?.focus({ preventScroll: true });
  });
});

act("copy", async ({ page, id }) => {
  await navigator.clipboard.writeText(await part(`${page.web}/nodes/${id}/text`));
  toast().show(t("The text of {id} has been copied.", { id }));
});

act("copy-link", async ({ page, id }) => {
  await navigator.clipboard.writeText(`${location.origin}${page.web}?node=${id}`);
  toast().show(t("The link to {id} has been copied.", { id }));
});

/** Keeps the addresses of exports at where the tab stands. @param {TreePage} page @param {AbortSignal} signal */
export function keepExports(page, signal) {
  page.addEventListener("moved", () => {
    for (const link of document.querySelectorAll("a[data-export]")) {
      const url = new URL(link.getAttribute("href") ?? "", location.href);
      url.searchParams.set("node", page.position);
      link.setAttribute("href", url.pathname + url.search);
    }
  }, { signal });
}
