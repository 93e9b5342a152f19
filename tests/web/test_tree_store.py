"""The tree that a page keeps by events is the one that a fresh read gives, after every event."""

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom import commands
from loom.access import Actor, get_actor
from loom.commands.context import Request
from loom.commands.execute import execute_line
from loom.models import Grove, Tree, User
from loom.queries.event_log import events_since
from loom.queries.trees import skeleton
from loom.rules.errors import CommandError
from tests.interfaces.matrix import LINES, ROWS, filled
from tests.interfaces.world import world  # noqa: F401 (a fixture)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)
commands.load()
OF_THE_TREE = ("trees/{tree}", "turns/{turn}", "generations/", "groves/{grove}/tags")
ROOT = Path(__file__).parents[2]

# Besides one line of each verb: versions of versions, flags on slots with several versions,
# replies, and all of it taken back and done again.
MORE = [
    'respond root "first words"',
    'edit {last} "second words" as:version',
    "exclude {last}",
    'edit {last} "third words" as:version',
    'respond {last} "below"',
    'annotate {note} "a reply"',
    "resolve {note}",
    "prune here version",
    "prune {marked}",
    "restore {marked}",
    'respond root "astral 😀 text"',
    "include {node}",
    *["undo"] * 8,
    *["redo"] * 4,
    "tag {node} #kept",
]
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


def test_the_store_of_a_page_agrees_with_a_fresh_read_after_every_event(
    world: dict[str, str],  # noqa: F811
    owner: User,
    grove: Grove,
    tree: Tree,
) -> None:
    node = shutil.which("node")
    assert node, "Node.js is needed, as for script/build.mjs"
    actor = get_actor(owner, grove)
    first = skeleton(actor, tree)
    steps: list[dict[str, Any]] = []
    every = [*(line for many in LINES.values() for line in many), *MORE]
    for line in every:
        said = line.replace("{last}", str(tree.nodes.latest("id").local_id))
        steps.append(_step(actor, tree, filled(said, world), since=_seq(steps, first)))
    api = APIClient()
    api.force_login(owner)
    for row in ROWS:  # what has no line: settings, tags, turns, the tree itself
        if row.method != "GET" and row.address.startswith(OF_THE_TREE):
            address, body = row.filled(world)
            body = {**body, "settings": {"seed": 6}} if "settings" in address else body
            api.generic(row.method, address, json.dumps(body), content_type="application/json")
            steps.append(_step(actor, tree, "", since=_seq(steps, first)))
    kinds = {event["kind"] for one in steps for event in one["events"]}
    assert {"tree.changed", "settings.pinned", "tag.renamed", "turn.started"} <= kinds
    assert {"node.added", "node.flagged", "annotation.resolved", "annotation.reopened"} <= kinds
    third = steps[len(every) - len(MORE) + 3]
    assert third["fresh"]["flags"][-1] == 2, "a version of an excluded slot"
    assert {"link.added", "mark.added", "generation.started"} <= kinds
    ran = subprocess.run(
        [node, "--input-type=module", "-e", CHECK, str(ROOT / "static/src/js/tree/store.js")],
        input=json.dumps({"first": first, "steps": steps}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


def _seq(steps: list[dict[str, Any]], first: dict[str, Any]) -> int:
    return int(steps[-1]["fresh"]["seq"] if steps else first["seq"])


def _step(actor: Actor, tree: Tree, line: str, *, since: int) -> dict[str, Any]:
    """What a line changed, and the tree after it; a refused line changes nothing."""
    if line:
        with suppress(CommandError):
            execute_line(actor, tree, Request(line))
    events = events_since(actor, f"tree:{tree.uid}", since=since)["events"]
    return {"line": line, "events": events, "fresh": skeleton(actor, tree)}
