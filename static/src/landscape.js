// @ts-check
// The entry of the page of a map by meaning.

import { LoomLandscape } from "./js/elements/loom-landscape.js";

customElements.define("loom-landscape", LoomLandscape);
