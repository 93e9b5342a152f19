// @ts-check
// The entry of every page: htmx for parts, and the elements that any page may hold.

import htmx from "htmx.org";
import "idiomorph/htmx";
import { LoomPermissions } from "./js/elements/loom-permissions.js";
import { LoomImport } from "./js/elements/loom-import.js";
import { LoomKeyFields } from "./js/elements/loom-key-fields.js";
import { LoomProvider } from "./js/elements/loom-provider.js";
import { LoomSummary } from "./js/elements/loom-summary.js";
import { LoomTaught } from "./js/elements/loom-taught.js";
import { LoomToast } from "./js/elements/loom-toast.js";
import { workByKeys } from "./js/by-keys.js";
import { fillUnfolded, keepFocus } from "./js/focus.js";
import { csrfToken } from "./js/live/api.js";
import { forgetOnSignOut, guardTrees } from "./js/live/kept-trees.js";
import { limitTexts } from "./js/limits.js";
import { keepOfflinePage, leaveWhenBack, showKept } from "./js/offline.js";
import { chooseTrees, copyOnClick, showAges } from "./js/pages.js";
import { listenForPortals } from "./js/tree/portals.js";

document.addEventListener("htmx:configRequest", (event) => {
  /** @type {CustomEvent} */ (event).detail.headers["X-CSRFToken"] = csrfToken();
});
void htmx;

customElements.define("loom-toast", LoomToast);
customElements.define("loom-import", LoomImport);
customElements.define("loom-key-fields", LoomKeyFields);
customElements.define("loom-permissions", LoomPermissions);
customElements.define("loom-provider", LoomProvider);
customElements.define("loom-summary", LoomSummary);
customElements.define("loom-taught", LoomTaught);
document.addEventListener("toggle", fillUnfolded, { capture: true });
keepFocus();
workByKeys();
showAges();
chooseTrees();
copyOnClick();
listenForPortals();
limitTexts();
keepOfflinePage();
leaveWhenBack();
forgetOnSignOut();
void guardTrees();
void showKept().then(showAges);
// A list that is fetched again and again stays as it is where one answer is an error.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  if (detail.xhr.status >= 400 && detail.target.matches("[data-polled]")) detail.shouldSwap = false;
});
document.addEventListener("htmx:afterSettle", () => {
  showAges();
});
