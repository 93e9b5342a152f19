import assert from "node:assert/strict";
import { test } from "node:test";
import { freshPage, place } from "../testing/dom.js";
import { LoomPasskey, read, written } from "./loom-passkey.js";

customElements.define("loom-passkey", LoomPasskey);

const FORM = '<form><input type="hidden" name="answer"><button>Sign in with a passkey</button><p role="alert" hidden></p></form>';
const bytes = (...given) => Uint8Array.from(given).buffer;

function form(options, get) {
  freshPage("", () => options);
  globalThis.window.PublicKeyCredential = get && class {};
  const value = { credentials: { get, create: get } };
  Object.defineProperty(globalThis, "navigator", { value, configurable: true, writable: true });
  const element = place(LoomPasskey, { markup: FORM, options: "/passkeys/options" });
  const sent = [];
  element.form().submit = () => sent.push(JSON.parse(element.querySelector("[name=answer]").value));
  return { element, sent, alert: element.querySelector("[role=alert]") };
}

test("bytes are written as WebAuthn writes them, and read again", () => {
  const given = bytes(251, 255, 254, 0, 1);
  assert.equal(written(given), "-__-AAE");
  assert.deepEqual(read("-__-AAE"), new Uint8Array(given));
});

test("what the browser signs is sent with the form", async () => {
  const asked = [];
  const { element, sent } = form({ challenge: "AQID", rpId: "localhost", allowCredentials: [{ type: "public-key", id: "BA" }] }, async (options) => {
    asked.push(options.publicKey);
    const response = { clientDataJSON: bytes(1), authenticatorData: bytes(2), signature: bytes(3), userHandle: bytes(4) };
    return { rawId: bytes(5), type: "public-key", response };
  });
  await element.send(new Event("submit"));
  assert.deepEqual([...asked[0].challenge], [1, 2, 3]);
  assert.deepEqual([...asked[0].allowCredentials[0].id], [4]);
  const response = { clientDataJSON: "AQ", authenticatorData: "Ag", signature: "Aw", userHandle: "BA" };
  assert.deepEqual(sent, [{ id: "BQ", rawId: "BQ", type: "public-key", response }]);
});

test("a browser that gives no passkey leaves the form, and says why", async () => {
  const { element, sent, alert } = form({ challenge: "AQID" }, async () => {
    throw new DOMException("no", "NotAllowedError");
  });
  await element.send(new Event("submit"));
  assert.equal(sent.length, 0);
  assert.equal(alert.hidden, false);
  assert.match(alert.textContent, /^No passkey was used/);
});

test("a refusal of the server is shown", async () => {
  const refusal = new Response(JSON.stringify({ message: "Passkeys do not work at this address.", hint: "Open http://localhost:8000 instead." }), { status: 409 });
  const { element, sent, alert } = form(refusal, async () => null);
  await element.send(new Event("submit"));
  assert.equal(sent.length, 0);
  assert.match(alert.textContent, /Open http:\/\/localhost:8000 instead\./);
});

test("a browser without passkeys says so at once", () => {
  const { element, alert } = form({}, undefined);
  assert.equal(element.querySelector("button").disabled, true);
  assert.match(alert.textContent, /They need https/);
});
