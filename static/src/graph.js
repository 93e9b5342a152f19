// @ts-check
// The graph page's entry.

import { LoomGraph } from "./js/elements/loom-graph.js";

customElements.define("loom-graph", LoomGraph);
