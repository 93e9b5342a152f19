// @ts-check
// One row of the outline as it is drawn, and as it is read out.

import { make } from "./forms.js";
import { t } from "../t.js";

const MOST_INDENT = 14;

/** @param {import("./page.js").TreePage} page @param {import("./store.js").TreeStore} store @param {import("./outline.js").Row} row
 * @param {{isOnPath: boolean, isAside: boolean}} how aside: only the way to what a filter lets through */
export function itemOf(page, store, row, { isOnPath, isAside }) {
  const id = store.standing(row.slot);
  const who = page.cast.get(store.authors[row.slot]);
  const isPruned = store.isPruned(row.slot);
  const words = page.excerpts.of(id) || id;
  const twig = make("span", { className: "twig", textContent: row.children ? (row.isOpen ? "−" : "+") : "·" });
  twig.setAttribute("aria-hidden", "true");
  const item = make("div", {}, twig, make("span", { className: "knot" }), make("span", { className: "excerpt", textContent: words }));
  item.classList.toggle("on-path", isOnPath);
  item.classList.toggle("aside", isAside);
  item.classList.toggle("pruned", isPruned);
  item.setAttribute("role", "treeitem");
  const told = [`${who?.name ?? ""}: ${words}`, row.children ? t("{n} below", { n: row.children }) : "", isPruned ? t("pruned") : ""];
  item.setAttribute("aria-label", told.filter(Boolean).join(", "));
  item.setAttribute("aria-level", String(row.level));
  item.setAttribute("aria-setsize", String(row.size));
  item.setAttribute("aria-posinset", String(row.place));
  if (row.children) item.setAttribute("aria-expanded", String(row.isOpen));
  if (id === page.position) item.setAttribute("aria-current", "true");
  item.dataset.who = String(who?.colour ?? 0);
  item.style.paddingInlineStart = `${0.6 + Math.min(MOST_INDENT, row.indent) * 0.75}rem`;
  return item;
}
