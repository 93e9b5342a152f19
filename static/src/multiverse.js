// @ts-check
// The entry of the page on which what could come next is opened token by token.

import { LoomMultiverse } from "./js/elements/loom-multiverse.js";

customElements.define("loom-multiverse", LoomMultiverse);
