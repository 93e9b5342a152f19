// @ts-check
// The entry of the page on which candidates are skimmed.

import { LoomSkim } from "./js/elements/loom-skim.js";

customElements.define("loom-skim", LoomSkim);
