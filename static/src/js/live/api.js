// @ts-check
// Requests to the server: one way to ask, one shape of refusal.

import { t } from "../t.js";
import { Once } from "./once.js";

/** @typedef {{ok: false, code: string, message: string, hint: string, retryable: boolean, lacks?: string[], reply?: string}} Refusal */

/** What the server, or the lack of it, says no with. */
export class Refused extends Error {
  /** Whether the page has shown it. */
  isShown = false;

  /** @param {Partial<Refusal> & {message: string}} body @param {number} status */
  constructor(body, status) {
    super(body.message);
    this.code = body.code ?? "UNAVAILABLE";
    this.hint = body.hint ?? "";
    this.lacks = body.lacks ?? [];
    this.status = status;
    this.reply = body.reply ?? `✗ ${this.code}: ${body.message}${this.hint ? `\n  hint: ${this.hint}` : ""}`;
  }

  /** Whether the same request may go well later: no connection, too much at once, or the server's own trouble. */
  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** A refusal in words; with its code for who wants errors to tell all. @param {Refused} refused */
export function told(refused) {
  if (refused.status === 401 && document.querySelector("loom-tree")) return t("You are signed out. What you typed is kept.");
  if ("pageVerbose" in document.documentElement.dataset) return refused.reply;
  if (refused.lacks.length) {
    return `${t("You may not do this here.")}${refused.hint ? `\n${sentence(refused.hint)}` : ""}`;
  }
  return refused.hint ? `${refused.message}\n${sentence(refused.hint)}` : refused.message;
}

/** A hint as a sentence, unless it is a line to write. @param {string} hint */
export function sentence(hint) {
  if (!/^[a-z]+[ ,]/.test(hint)) return hint;
  const isWhole = /[\p{L}\d]$/u.test(hint) && !/[→/{=]/.test(hint);
  return `${hint[0].toUpperCase()}${hint.slice(1)}${isWhole ? "." : ""}`;
}

/** The token that Django wants with every write. */
export function csrfToken() {
  const cookie = /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie);
  const meta = document.querySelector('meta[name="csrf-token"]');
  return cookie ? decodeURIComponent(cookie[1]) : (meta?.getAttribute("content") ?? "");
}

/** @param {Response} response */
async function refusalOf(response) {
  try {
    return new Refused(await response.json(), response.status);
  } catch {
    return new Refused({ message: t("The server returned {status}.", { status: response.status }) }, response.status);
  }
}

/**
 * Fetches, with the offline case as a refusal of status 0.
 * @param {string} url @param {RequestInit} [options]
 */
async function ask(url, options) {
  try {
    return await fetch(url, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused({ code: "UNAVAILABLE", message: t("No connection to the server.") }, 0);
  }
}

const posted = new Once();

/** Sends or asks for JSON. What is posted is sent once until it was answered, whatever its key, unless something else is
 * posted there meanwhile; what can be called off, or outlives its page, is sent each time.
 * @param {string} url @param {{method?: string, body?: any, signal?: AbortSignal, keepalive?: boolean}} [options] @returns {Promise<any>} */
export function json(url, options = {}) {
  if (options.method !== "POST" || options.signal || options.keepalive) return jsonNow(url, options);
  return posted.send(`${url} ${JSON.stringify({ ...options.body, key: "" })}`, () => jsonNow(url, options), 0, url);
}

/** @param {string} url @param {{method?: string, body?: unknown, signal?: AbortSignal, keepalive?: boolean}} options */
async function jsonNow(url, options) {
  const { method = "GET", body, signal, keepalive } = options;
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await ask(url, {
    method,
    headers,
    signal,
    keepalive,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) throw await refusalOf(response);
  return response.status === 204 ? null : response.json();
}

/** Which of several answers to the same question is the newest that has come: what was asked
 * earlier may be answered later, and is not shown then. */
export class Newest {
  asked = 0;
  come = 0;

  /** The number of a question that is asked now. */
  ask() {
    this.asked += 1;
    return this.asked;
  }

  /** Whether the answer to a later question has come already. @param {number} number */
  isPast(number) {
    if (number < this.come) return true;
    this.come = number;
    return false;
  }
}

/** A part of a page, as text. @param {string} url @param {AbortSignal} [signal] */
export function part(url, signal) {
  return partOf(url, { headers: { "X-Part": "1", Accept: "text/html" }, signal });
}

/** What a POST without fields makes, as a part of a page. @param {string} url */
export function madePart(url) {
  const headers = { "X-Part": "1", Accept: "text/html", "X-CSRFToken": csrfToken() };
  return posted.send(url, () => partOf(url, { method: "POST", headers }), 0, url);
}

/** @param {string} url @param {RequestInit} options */
async function partOf(url, options) {
  const response = await ask(url, options);
  const text = await response.text();
  if (!response.ok) {
    const message = new DOMParser().parseFromString(text, "text/html").body.textContent?.trim();
    throw new Refused({ message: message || t("The server returned {status}.", { status: response.status }) }, response.status);
  }
  return text;
}

/**
 * Sends a form with large files; the answer is JSON. fetch says nothing about how much was sent.
 * @param {string} url @param {FormData} form @param {(share: number) => void} sent is given how much of it was sent, from 0 to 1
 * @param {AbortSignal} signal @returns {Promise<any>}
 */
export function upload(url, form, sent, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => event.total && sent(event.loaded / event.total));
    request.addEventListener("error", () => reject(new Refused({ code: "UNAVAILABLE", message: t("No connection to the server.") }, 0)));
    request.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")));
    request.addEventListener("load", async () => {
      const response = new Response(request.responseText, { status: request.status });
      if (response.ok) resolve(response.json());
      else reject(await refusalOf(response));
    });
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

/** Sends a form (files too); the answer is JSON. @param {string} url @param {FormData} form */
export async function send(url, form) {
  const response = await ask(url, {
    method: "POST",
    headers: { "X-CSRFToken": csrfToken(), Accept: "application/json" },
    body: form,
  });
  if (!response.ok) throw await refusalOf(response);
  return response.json();
}
