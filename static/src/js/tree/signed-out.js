// @ts-check
// A page whose person is signed out, here or in another tab: what they typed stays in its field, a
// sentence says so, and a link leads back. When somebody else signs in, the page is theirs.

import { Refused } from "../live/api.js";
import { followReader } from "../live/kept-trees.js";
import { t } from "../t.js";
import { make } from "./forms.js";

const SIGNED_OUT = "signed out"; // the reason of a socket that was closed with 4401

/** The link to the page for signing in, which leads back here. */
export function signInLink() {
  const next = encodeURIComponent(location.pathname + location.search);
  return make("a", { href: `/signin?next=${next}`, textContent: t("Sign in") });
}

/** The sentence with the link. */
function notice() {
  return make("p", { className: "contest signed-out", role: "alert" }, t("You are signed out. What you typed is kept."), " ", signInLink());
}

/** Says that the person is signed out, until they are signed in again.
 * @param {import("./page.js").TreePage} page @param {AbortSignal} signal @param {() => void} [reload] */
export function followSignIn(page, signal, reload = () => location.reload()) {
  const shown = () => document.querySelector(".signed-out");
  const say = () => {
    if (shown()) return;
    const form = document.querySelector("loom-composer form");
    if (form) form.prepend(notice());
    else document.querySelector(".composer, loom-path")?.before(notice());
  };
  const resume = () => {
    if (!shown()) return;
    shown()?.remove();
    if (page.socket.state === "gone") page.socket.resync();
    // What was typed meanwhile goes out, and what others of this person's pages typed comes in.
    page.drafts.load().catch((error) => {
      if (!(error instanceof Refused)) throw error;
    });
  };
  page.addEventListener("state", (event) => {
    const { state, reason } = /** @type {CustomEvent} */ (event).detail;
    if (state === "gone" && reason === SIGNED_OUT) say();
  }, { signal });
  page.addEventListener("refused", (event) => {
    if (/** @type {CustomEvent} */ (event).detail.status === 401) say();
  }, { signal });
  followReader({ none: say, same: resume, other: reload }, signal);
}
