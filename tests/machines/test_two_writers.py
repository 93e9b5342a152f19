"""Two people at once, in real threads: the lock orders them, and nothing is lost or doubled."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Receipt
from loom.errors import CommandError
from loom.people.models import Grove, User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.machines.replay import replayed, stored

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 25


@pytest.fixture
def two(owner: User, writer: User, grove: Grove) -> tuple[Actor, Actor]:
    return get_actor(owner, grove), get_actor(writer, grove)


def _together(
    two: tuple[Actor, Actor], tree: Tree, lines: tuple[str, str], **sent: str
) -> list[str]:
    """Both say their line TIMES times at once; the outcomes, "ok" or a code."""
    barrier = Barrier(2)

    def say(actor: Actor, line: str) -> list[str]:
        barrier.wait()
        outcomes = []
        try:
            for number in range(TIMES):
                key = sent.get("key", "").format(number=number)
                try:
                    execute_line(actor, tree, Request(line, key=key))
                    outcomes.append("ok")
                except CommandError as refused:
                    outcomes.append(refused.code)
        finally:
            connection.close()
        return outcomes

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(say, actor, line) for actor, line in zip(two, lines, strict=True)]
        return [outcome for future in done for outcome in future.result()]


def test_both_write_and_every_acknowledged_text_is_there(two: tuple[Actor, Actor]) -> None:
    tree = trees.new_tree(two[0])
    outcomes = _together(two, tree, ('respond root "a"', 'respond root "b"'))
    assert outcomes == ["ok"] * (2 * TIMES)
    assert Node.objects.filter(tree=tree).count() == 2 * TIMES + 1
    assert len(set(Node.objects.filter(tree=tree).values_list("local_id", flat=True))) == 51
    assert replayed(tree) == stored(tree)


def test_prune_and_restore_against_each_other_stay_told_by_events(
    two: tuple[Actor, Actor],
) -> None:
    tree = trees.new_tree(two[0])
    a = execute_line(two[0], tree, Request('respond root "a"')).body["refs"][0]
    outcomes = _together(two, tree, (f"prune {a}", f"restore {a}"))
    assert set(outcomes) <= {"ok", "REJECTED"}
    flips = Event.objects.filter(stream__name=f"tree:{tree.uid}", kind="node.flagged")
    values = [event.payload["value"] for event in flips.order_by("seq")]
    assert values == [bool(i % 2 == 0) for i in range(len(values))]
    assert replayed(tree) == stored(tree)


def test_one_version_is_built_on_each_observation(two: tuple[Actor, Actor]) -> None:
    tree = trees.new_tree(two[0])
    a = execute_line(two[0], tree, Request('respond root "a"')).body["refs"][0]
    line = f'edit {a} "b" as:version'
    outcomes = _together(two, tree, (line, line))
    assert outcomes.count("ok") == 1
    assert set(outcomes) == {"ok", "CONFLICT"}


def test_the_same_key_at_once_makes_one_node(two: tuple[Actor, Actor]) -> None:
    tree = trees.new_tree(two[0])
    same = (two[0], two[0])
    line = 'respond root "a"'
    assert set(_together(same, tree, (line, line), key="k{number}")) == {"ok"}
    assert Node.objects.filter(tree=tree).count() == TIMES + 1
    assert Receipt.objects.count() == TIMES
