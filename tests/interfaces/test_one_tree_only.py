"""An agent without cross_tree is shown nothing of another tree of its grove, whatever leads there
from the tree in which it acts: links, trails, evidence, sources, portals.

Each text and title of the other tree holds the word KESTREL.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from agents.generation_requests import assembled
from agents.next_request import next_place
from loom.access import Actor, acting_as, get_actor_in
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.permissions import CROSS_TREE, Permission
from loom.trees.commands import node_writer
from tests.interfaces.matrix import LINES, filled
from tests.interfaces.test_hidden_trees import House
from tests.interfaces.test_two_groves import KESTREL
from tests.kept import kept
from tests.two_groves import make_two_groves

pytestmark = pytest.mark.django_db
# What leads from the tree to the other one; {far} is a text there.
LEADING = (
    'cite {far} for {claim} words:"opening kestrel"',
    "switch to {node}",
    "expand supports of {node}",
    'trail save "far"',
    'trail share "far"',
    'annotate {node} "see ![[{far}]] and @[supports -> {far}]"',
)
LOOKS = (
    "list {node} links",
    "list {node} supports",
    "list {claim} evidence",
    "expand supports of {node} inline",
    "expand supports of {node}",
    "expand mentions of {node} inline",
    "open {node} with:supports",
    "open {claim} evidence",
    "graph {node}",
    "view {node} full with-annotations",
    "view {claim} full",
    "list {node} annotations",
    "list {node} sources",
    'trail show "far"',
    'trail show "far" as:markdown',
    'view trail:"far"',
    'trail replay "far"',
    'augment store a/b from trail:"far"',
    'find "sleeps"',
    "digest",
    "since",
    "view root",
)


class Beside:
    """A house whose tree leads to the other in every way, and an agent that may do everything in
    one tree."""

    def __init__(self) -> None:
        self.house = House(make_two_groves())
        house, side = self.house, self.house.two.left
        far = f"tree:{house.hidden.uid} node:{house.there['node']}"
        for line in LEADING:
            house.say(line.format(**house.here, far=far), side.tree)
        every = [permission.value for permission in Permission if permission != CROSS_TREE]
        self.agent = house.two.agent(side, name="Low", permissions=every)

    @property
    def actor(self) -> Actor:
        """The agent, invited by an owner, who sees both trees."""
        house = self.house
        return acting_as(get_actor_in(house.owner.user, house.two.left.tree.pk), self.agent)


@pytest.fixture(name="beside", scope="module")
def _beside(django_db_setup: None, django_db_blocker: Any) -> Iterator[Beside]:
    with kept(Beside, blocker=django_db_blocker) as beside:
        yield beside


def test_no_line_shows_an_agent_another_tree(beside: Beside) -> None:
    house = beside.house
    tree, every = house.two.left.tree, [line for lines in LINES.values() for line in lines]
    looks = [look.format(**house.here) for look in LOOKS]
    shown = []
    for line in [*looks, *(filled(line, house.here) for line in every)]:
        point = transaction.savepoint()
        try:
            reply = str(execute_line(beside.actor, tree, Request(line)).body)
        except CommandError as why:
            assert line not in looks or why.code != "INVALID_SYNTAX", (line, why)
            reply = f"{why.message} {why.hint}"
        transaction.savepoint_rollback(point)
        if KESTREL in reply.lower().replace(line.lower(), ""):
            shown.append((line, reply))
    assert shown == [], "\n".join(map(str, shown))


def test_no_request_holds_another_tree(beside: Beside) -> None:
    house = beside.house
    tree = house.two.left.tree
    view = node_writer.workspace_of(beside.agent, tree)
    for line in ("open {claim} evidence", "open {node} with:supports", "switch to {node}"):
        point = transaction.savepoint()
        execute_line(beside.actor, tree, Request(line.format(**house.here)))
        member = get_actor_in(house.owner.user, tree.pk)
        view.refresh_from_db()
        request = assembled(next_place(member, view))
        transaction.savepoint_rollback(point)
        assert KESTREL not in str(request).lower(), line
