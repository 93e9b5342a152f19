// @ts-check
// The service worker: without a server, a page that says so, and that shows what of a tree this
// browser keeps (js/live/kept-trees.js). Nothing else is kept or changed.

const KEPT = "heddle-offline";
const READ = "heddle-kept";
const AWAY = [502, 504]; // what a proxy answers for a server that is away
const PARTS = ["/offline", "/static/dist/app.css", "/static/dist/app.js"];

const worker = /** @type {any} */ (self);

worker.addEventListener("install", (/** @type {any} */ event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(PARTS)));
  worker.skipWaiting();
});

worker.addEventListener("activate", (/** @type {any} */ event) => {
  event.waitUntil(worker.registration.navigationPreload?.enable());
});

worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (request.method === "POST" && pathname === "/signout") event.waitUntil(caches.delete(READ));
  if (request.mode === "navigate") event.respondWith(page(event));
  else if (PARTS.includes(pathname) || pathname.startsWith("/static/dist/fonts/")) event.respondWith(piece(request));
});

/** The page itself; else the one that says it cannot be reached. @param {any} event */
async function page(event) {
  try {
    const answer = (await event.preloadResponse) ?? (await fetch(event.request));
    return AWAY.includes(answer.status) ? ((await caches.match("/offline")) ?? answer) : answer;
  } catch {
    return (await caches.match("/offline")) ?? Response.error();
  }
}

/** A file of the offline page: as it is now, and kept; else as it was. @param {Request} request */
async function piece(request) {
  try {
    const fresh = await fetch(request);
    if (fresh.ok) (await caches.open(KEPT)).put(request, fresh.clone());
    return fresh;
  } catch {
    return (await caches.match(request)) ?? Response.error();
  }
}
