"""The tree that a page keeps by events is the one that a fresh read gives, after every event."""

import json

import pytest
from rest_framework.test import APIClient

from loom.access import get_actor
from loom.engine.event_kinds import kinds_of
from loom.notes.commands.marks import remove_tag
from loom.people.models import Grove, User
from loom.trees.models import Tree
from tests.interfaces.matrix import LINES, ROWS, filled
from tests.interfaces.world import world  # noqa: F401 (a fixture)
from tests.stores import Followed

pytestmark = pytest.mark.django_db(transaction=True)
OF_THE_TREE = ("trees/{tree}", "turns/{turn}", "generations/", "groves/{grove}/tags")
# What a worker writes (tests/agents/test_page_store.py), and what comes before a page can be open.
OTHERS = {
    *("generation.ended", "call.sealed", "turn.ended", "node.summarised"),
    *("tree.created", "import.finished"),
    *("token.changed", "commitment.added", "commitment.vetoed"),  # no skeleton shows them
    "exploration.changed",  # its texts come as nodes do
}

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


def test_the_store_of_a_page_agrees_with_a_fresh_read_after_every_event(
    world: dict[str, str],  # noqa: F811
    owner: User,
    grove: Grove,
    tree: Tree,
) -> None:
    followed = Followed(get_actor(owner, grove), tree)
    every = [*(line for many in LINES.values() for line in many), *MORE]
    for line in every:
        command = line.replace("{last}", str(tree.nodes.latest("id").local_id))
        followed.say(filled(command, world))
    api = APIClient()
    api.force_login(owner)
    for row in ROWS:  # what has no line: settings, tags, turns, the tree itself
        if row.method != "GET" and row.address.startswith(OF_THE_TREE):
            address, body = row.filled(world)
            body = {**body, "settings": {"seed": 6}} if "settings" in address else body
            api.generic(row.method, address, json.dumps(body), content_type="application/json")
            followed.note(f"{row.method} {address}")
    remove_tag(followed.actor, "first")
    followed.note("a tag is removed everywhere")
    assert kinds_of("tree") - followed.kinds() == OTHERS
    third = followed.steps[len(every) - len(MORE) + 3]
    assert third["fresh"]["flags"][-1] == 2, "a version of an excluded slot"
    followed.check()
