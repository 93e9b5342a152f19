// @ts-check
// The tree page's entry. The root comes first: the others ask it for what they share.

import { LoomBuffer } from "./js/elements/loom-buffer.js";
import { LoomCommand } from "./js/elements/loom-command.js";
import { LoomCompare } from "./js/elements/loom-compare.js";
import { LoomComposer } from "./js/elements/loom-composer.js";
import { LoomFilter } from "./js/elements/loom-filter.js";
import { LoomKeys } from "./js/elements/loom-keys.js";
import { LoomMap } from "./js/elements/loom-map.js";
import { LoomOutline } from "./js/elements/loom-outline.js";
import { LoomPanel } from "./js/elements/loom-panel.js";
import { LoomPast } from "./js/elements/loom-past.js";
import { LoomPath } from "./js/elements/loom-path.js";
import { LoomPresence } from "./js/elements/loom-presence.js";
import { LoomSamplers } from "./js/elements/loom-samplers.js";
import { LoomStatus } from "./js/elements/loom-status.js";
import { LoomTabs } from "./js/elements/loom-tabs.js";
import { LoomAct } from "./js/elements/loom-act.js";
import { LoomTurns } from "./js/elements/loom-turns.js";
import { LoomTree } from "./js/elements/loom-tree.js";
import { LoomWeave } from "./js/elements/loom-weave.js";

customElements.define("loom-tree", LoomTree);
customElements.define("loom-path", LoomPath);
customElements.define("loom-past", LoomPast);
customElements.define("loom-weave", LoomWeave);
customElements.define("loom-buffer", LoomBuffer);
customElements.define("loom-composer", LoomComposer);
customElements.define("loom-samplers", LoomSamplers);
customElements.define("loom-act", LoomAct);
customElements.define("loom-turns", LoomTurns);
customElements.define("loom-status", LoomStatus);
customElements.define("loom-presence", LoomPresence);
customElements.define("loom-tabs", LoomTabs);
customElements.define("loom-panel", LoomPanel);
customElements.define("loom-filter", LoomFilter);
customElements.define("loom-map", LoomMap);
customElements.define("loom-outline", LoomOutline);
customElements.define("loom-command", LoomCommand);
customElements.define("loom-keys", LoomKeys);
customElements.define("loom-compare", LoomCompare);
