// @ts-check
// A form whose answer the browser gives: its button asks the server what is wanted, has the browser
// use a passkey or make one, and sends the form with what came of it.

import { json, Refused, told } from "../live/api.js";
import { t } from "../t.js";

/** Bytes as WebAuthn writes them in JSON. @param {ArrayBuffer} bytes */
export function written(bytes) {
  const letters = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} text */
export function read(text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

/** @param {{id: string}[] | undefined} known */
function listed(known) {
  return known?.map((credential) => ({ ...credential, id: read(credential.id) }));
}

/** Why the browser gave no passkey. @param {unknown} error */
function reason(error) {
  if (error instanceof Refused) return told(error);
  const name = error instanceof DOMException ? error.name : "";
  if (name === "InvalidStateError") return t("This device has a passkey for you already.");
  if (name === "SecurityError") return t("Browsers use passkeys only at an address with a name and https.");
  if (name === "NotAllowedError" || name === "AbortError") return t("No passkey was used. Try again, or sign in in another way.");
  return t("The browser could not use a passkey.");
}

export class LoomPasskey extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.hidden = false;
    this.form().addEventListener("submit", (event) => this.send(event), { signal });
    if (window.PublicKeyCredential) return;
    for (const button of this.form().querySelectorAll("button")) button.disabled = true;
    this.say(t("This browser can't use passkeys here. They need https."));
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  form() {
    return /** @type {HTMLFormElement} */ (this.querySelector("form"));
  }

  /** @param {string} words */
  say(words) {
    const box = /** @type {HTMLElement} */ (this.querySelector("[role=alert]"));
    box.hidden = !words;
    box.textContent = words;
  }

  /** @param {Event} event */
  async send(event) {
    event.preventDefault();
    if (this.isBusy) return;
    this.isBusy = true;
    this.say("");
    try {
      const asked = await json(this.dataset.options ?? "", { method: "POST" });
      const answer = /** @type {HTMLInputElement} */ (this.querySelector("[name=answer]"));
      answer.value = JSON.stringify(asked.user ? await this.make(asked) : await this.use(asked));
      this.form().submit();
    } catch (error) {
      this.say(reason(error));
    } finally {
      this.isBusy = false;
    }
  }

  /** A new passkey. @param {any} asked */
  async make(asked) {
    const publicKey = {
      ...asked,
      challenge: read(asked.challenge),
      user: { ...asked.user, id: read(asked.user.id) },
      excludeCredentials: listed(asked.excludeCredentials),
    };
    const credential = /** @type {PublicKeyCredential} */ (await navigator.credentials.create({ publicKey }));
    const response = /** @type {AuthenticatorAttestationResponse} */ (credential.response);
    return this.answered(credential, { attestationObject: written(response.attestationObject) });
  }

  /** What a passkey signs. @param {any} asked */
  async use(asked) {
    const publicKey = { ...asked, challenge: read(asked.challenge), allowCredentials: listed(asked.allowCredentials) };
    const used = /** @type {PublicKeyCredential} */ (await navigator.credentials.get({ publicKey }));
    const response = /** @type {AuthenticatorAssertionResponse} */ (used.response);
    const { userHandle } = response;
    return this.answered(used, {
      authenticatorData: written(response.authenticatorData),
      signature: written(response.signature),
      ...(userHandle ? { userHandle: written(userHandle) } : {}),
    });
  }

  /** @param {PublicKeyCredential} credential @param {Record<string, string>} response */
  answered(credential, response) {
    const rawId = written(credential.rawId);
    const clientDataJSON = written(credential.response.clientDataJSON);
    return { id: rawId, rawId, type: credential.type, response: { clientDataJSON, ...response } };
  }
}
