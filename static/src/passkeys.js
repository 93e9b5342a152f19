// @ts-check
// The entry of pages on which passkeys are used or added.

import { LoomPasskey } from "./js/elements/loom-passkey.js";

if (!customElements.get("loom-passkey")) customElements.define("loom-passkey", LoomPasskey);
