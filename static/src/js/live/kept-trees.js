// @ts-check
// The trees that were opened lately, as they can be read while the server is away: their texts in
// this browser, of one person, until they sign out or somebody else comes.

const STORE = "heddle-kept";
const READER = "heddle.reader"; // whose they are; "" for nobody
const MOST = 12;
const at = (/** @type {string} */ tree) => `/-/kept/${tree}`;

/**
 * A tree as it can be read: `html` is the path to the node, drawn by this page. `outbox` and
 * `drafts` say where this browser keeps what was not sent, `place` which draft is behind the path.
 * @typedef {{tree: string, title: string, mode: string, node: string, html: string, at: string, outbox: string, drafts: string, place: string}} Kept
 */

/** Whose page this is; "" before somebody has signed in, null where a page does not say. */
export function readerHere() {
  return document.querySelector('meta[name="reader"]')?.getAttribute("content") ?? null;
}

/** Whether the person of this page is still the one who is signed in in this browser. */
export function isReaderHere() {
  return localStorage.getItem(READER) === readerHere();
}

/** Tells when nobody is signed in in this browser any more, when the person of this page is again,
 * or when somebody else is: by the other tabs' notes, and when the page is looked at again.
 * @param {{none: () => void, same: () => void, other: () => void}} told @param {AbortSignal} signal */
export function followReader({ none, same, other }, signal) {
  const reader = readerHere();
  if (!reader) return;
  const look = () => {
    const now = localStorage.getItem(READER);
    if (now === reader) same();
    else if (now) other();
    else if (now === "") none();
  };
  window.addEventListener("storage", ({ key }) => key === READER && look(), { signal });
  for (const name of ["pageshow", "focus"]) window.addEventListener(name, look, { signal });
}

const isOpen = () => typeof caches !== "undefined";

/** Keeps a tree, and lets go of those that were opened longest ago. @param {Kept} tree */
export async function keepTree(tree) {
  const reader = readerHere();
  if (!isOpen() || !reader || localStorage.getItem(READER) !== reader) return;
  const store = await caches.open(STORE);
  await store.put(at(tree.tree), new Response(JSON.stringify(tree), { headers: { "Content-Type": "application/json" } }));
  for (const { tree: old } of (await keptTrees()).slice(MOST)) await store.delete(at(old));
  // Somebody has signed out meanwhile, in another tab.
  if ((localStorage.getItem(READER) ?? reader) !== reader) await forgetTrees();
}

/** All that are kept, those opened last first. @returns {Promise<Kept[]>} */
export async function keptTrees() {
  if (!isOpen() || !localStorage.getItem(READER)) return [];
  const store = await caches.open(STORE);
  const trees = await Promise.all((await store.keys()).map(async (key) => (await store.match(key))?.json()));
  return trees.filter(Boolean).sort((a, b) => (a.at < b.at ? 1 : -1));
}

/** Nothing stays readable. */
export async function forgetTrees() {
  if (isOpen()) await caches.delete(STORE);
}

/** Makes sure that what is kept is this page's reader's; true where something had to go. */
export async function guardTrees() {
  const reader = readerHere();
  if (reader === null || localStorage.getItem(READER) === reader) return false;
  localStorage.setItem(READER, reader);
  await forgetTrees();
  return true;
}

/** When somebody signs out, nothing that they read stays here, and of what they typed only what
 * was never sent. */
export function forgetOnSignOut() {
  document.addEventListener("submit", (event) => {
    if (/** @type {Element} */ (event.target).getAttribute("action") !== "/signout") return;
    localStorage.setItem(READER, "");
    void forgetTrees();
    for (const key of Object.keys(localStorage)) if (isSent(key)) localStorage.removeItem(key);
  });
}

/** Whether a key of this browser holds a draft that the server has too. @param {string} key */
function isSent(key) {
  if (!key.startsWith("heddle.draft.")) return false;
  try {
    const { text = "", held = "", agreed = "" } = JSON.parse(localStorage.getItem(key) ?? "{}");
    return !held && text === agreed;
  } catch {
    return false;
  }
}
