// @ts-check
// The browser's side of being offline: keeps the page that says so, and leaves it again.

const TRY_MS = 4000;

/** Registers the worker once the page has what it needs. */
export function keepOfflinePage() {
  if (!("serviceWorker" in navigator) || !window.isSecureContext) return;
  const register = () => navigator.serviceWorker.register("/offline.js", { scope: "/" }).catch(() => {});
  if (document.readyState === "complete") register();
  else window.addEventListener("load", register, { once: true });
}

/** On the offline page: opens the page that was asked for, as soon as it can be reached. */
export function leaveWhenBack() {
  if (!document.querySelector("[data-offline]") || location.pathname === "/offline") return;
  const look = async () => {
    const answer = await fetch("/healthz", { cache: "no-store" }).catch(() => null);
    if (answer) location.reload();
  };
  window.addEventListener("online", look);
  setInterval(look, TRY_MS);
}
