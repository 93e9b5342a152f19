// @ts-check
// The browser's side of being offline: keeps the page that says so, shows in it what was read of
// a tree and what is not sent yet, and leaves it again.

import { call } from "./live/calls.js";
import { keptTrees } from "./live/kept-trees.js";
import { t } from "./t.js";
import { make } from "./tree/forms.js";
import { drawUnsent } from "./tree/unsent.js";

/** @typedef {import("./live/kept-trees.js").Kept} Kept */

const TRY_MS = 4000;
const AWAY = [502, 504]; // what a proxy answers for a server that is away

/** Registers the worker once the page has what it needs. */
export function keepOfflinePage() {
  if (!("serviceWorker" in navigator) || !window.isSecureContext) return;
  const register = () => navigator.serviceWorker.register("/offline.js", { scope: "/" }).catch(() => {});
  if (document.readyState === "complete") register();
  else window.addEventListener("load", register, { once: true });
}

/** The offline page, where this is it, in the place of another page. */
const offlinePage = () => (location.pathname === "/offline" ? null : document.querySelector("[data-offline]"));

/** On the offline page: opens the page that was asked for, as soon as it can be reached. */
export function leaveWhenBack() {
  if (!offlinePage()) return;
  const look = async () => {
    const answer = await fetch("/healthz", { cache: "no-store" }).catch(() => null);
    if (answer && !AWAY.includes(answer.status)) location.reload();
  };
  window.addEventListener("online", look);
  setInterval(look, TRY_MS);
}

/** On the offline page in the place of a tree: its text as it was read last; else what there is. */
export async function showKept() {
  const page = offlinePage();
  if (!page) return;
  const trees = await keptTrees();
  const asked = /^\/trees\/([^/]+)$/.exec(location.pathname)?.[1];
  const kept = trees.find(({ tree }) => tree === asked);
  if (kept) {
    page.classList.remove("card-page");
    page.replaceChildren(...drawn(kept));
  }
  const others = trees.filter((tree) => tree !== kept);
  if (others.length) page.append(listOf(others));
}

/** @param {Kept} kept */
function drawn(kept) {
  document.title = `${kept.title} · Heddle`;
  const state = make("p", { className: "kept-state" }, make("span", { className: "dot" }), " ", make("b", { textContent: t("offline") }), " ", age(kept));
  state.querySelector(".dot")?.setAttribute("data-state", "offline");
  const stretch = make("div", { className: "stretch" });
  stretch.innerHTML = kept.html;
  const letters = parsed(kept.outbox, []);
  const { text = "" } = parsed(`${kept.drafts}${kept.place}`, {});
  if (text) letters.push({ said: call("respond", { content: text }), at: kept.node, key: "" });
  drawUnsent(stretch, letters, kept.node);
  return [state, make("h1", { textContent: kept.title, dir: "auto" }), make("div", { className: `kept mode-${kept.mode}` }, stretch)];
}

/** What this browser keeps under a name. @param {string} name @param {any} none */
function parsed(name, none) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null") ?? none;
  } catch {
    return none;
  }
}

/** @param {Kept} kept */
function age({ at }) {
  const time = make("time", { className: "soft", dateTime: at });
  time.setAttribute("data-full", "");
  return time;
}

/** @param {Kept[]} trees */
function listOf(trees) {
  const rows = trees.map((tree) => make("li", {}, make("a", { className: "row", href: `/trees/${tree.tree}`, textContent: tree.title, dir: "auto" }), age(tree)));
  return make("nav", { className: "kept-trees", ariaLabel: t("Trees that can be read offline") }, make("h2", { textContent: t("Trees that can be read offline") }), make("ul", { className: "list" }, ...rows));
}
