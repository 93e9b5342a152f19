"""The tree that a page keeps by events, held against the one that a fresh read gives."""

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.trees.models import Tree
from loom.trees.queries.event_log import events_since
from loom.trees.queries.trees import skeleton
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
# Reads steps from stdin: each the events of a line and what a fresh read gives after them.
CHECK = """
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";
const { TreeStore } = await import(process.argv[1]);
const shape = (store) => ({
  ids: store.ids, parents: store.parents, slots: store.slots, kinds: store.kinds,
  authors: store.authors, flags: store.flags, lengths: store.lengths,
  below: [...store.below].sort((a, b) => a[0] - b[0]),
  versions: [...store.versions].sort((a, b) => a[0] - b[0]),
  notes: [...store.notes].sort((a, b) => a[0] - b[0]),
  standing: store.ids.map((_, place) => store.selected(store.slots[place])),
  paths: store.ids.map((id) => store.pathTo(id)), size: store.size(),
});
const { first, steps } = JSON.parse(readFileSync(0, "utf8"));
const kept = new TreeStore(structuredClone(first));
for (const { line, events, fresh } of steps) {
  for (const event of events) kept.apply(event);
  assert.deepEqual(shape(kept), shape(new TreeStore(fresh)), line);
}
"""


class Followed:
    """A tree whose events a page follows from now on. `steps`: what was done, the events of it,
    and the tree afterwards."""

    def __init__(self, actor: Actor, tree: Tree) -> None:
        self.actor, self.tree = actor, tree
        self.first = skeleton(actor, tree)
        self.steps: list[dict[str, Any]] = []

    def say(self, line: str) -> None:
        """Runs a line; one that is refused changes nothing."""
        with suppress(CommandError):
            execute_line(self.actor, self.tree, Request(line))
        self.note(line)

    def note(self, what: str) -> None:
        """Keeps what has happened since the step before."""
        since = (self.steps[-1]["fresh"] if self.steps else self.first)["seq"]
        events = events_since(self.actor, f"tree:{self.tree.uid}", since=since)["events"]
        fresh = skeleton(self.actor, self.tree)
        self.steps.append({"line": what, "events": events, "fresh": fresh})

    def kinds(self) -> set[str]:
        """The kinds of the events that came."""
        return {event["kind"] for step in self.steps for event in step["events"]}

    def check(self) -> None:
        """Has the page's own store take each event, and compares it after each step."""
        node = shutil.which("node")
        assert node, "Node.js is needed, as for script/build.mjs"
        ran = subprocess.run(
            [node, "--input-type=module", "-e", CHECK, str(ROOT / "static/src/js/tree/store.js")],
            input=json.dumps({"first": self.first, "steps": self.steps}),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
