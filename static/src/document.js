// @ts-check
// The document page's entry.

import { LoomDocument } from "./js/elements/loom-document.js";

customElements.define("loom-document", LoomDocument);
