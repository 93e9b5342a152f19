// @ts-check
// The manuscript page's entry.

import { LoomManuscript } from "./js/elements/loom-manuscript.js";

customElements.define("loom-manuscript", LoomManuscript);
