"""The log only grows, nodes never change; the search index follows the nodes."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from loom.access import Actor
from loom.engine.models import Event, Stream
from loom.people.models import Participant
from loom.search.queries import find_in_tree
from loom.trees.models import Node, Tree
from tests.queries.growing import chain
from tests.triggers import triggers_aside


def test_an_event_is_never_changed(actor: Actor, tree: Tree) -> None:
    event = Event.objects.latest("seq")
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Event.objects.filter(pk=event.pk).update(kind="node.flagged")
    event.refresh_from_db()
    assert event.kind == "node.added"


def test_an_event_is_deleted_only_where_its_stream_is_erasing(
    actor: Actor, tree: Tree, buffer: Tree
) -> None:
    with pytest.raises(IntegrityError, match="being erased"), transaction.atomic():
        Event.objects.all().delete()
    gone = Stream.objects.get(name=f"tree:{tree.uid}")
    Stream.objects.filter(pk=gone.pk).update(erasing=True)
    Event.objects.filter(stream=gone).delete()
    assert not Event.objects.filter(stream=gone).exists()
    assert Event.objects.filter(stream__name=f"tree:{buffer.uid}").count() == 2


CHANGES: dict[str, Any] = {
    "text": "other words",
    "blocks": [{"type": "text", "text": "other words"}],
    "length": 1,
    "kind": "annotation",
    "author": "muse",
    "parent_slot": None,
    "depth": 7,
    "hash": "0" * 64,
    "parent_hash": "0" * 64,
    "finish": "interrupted:stopped",
    "call_uid": "x",
    "created_at": datetime(2020, 1, 1, tzinfo=UTC),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_content_of_a_node_is_never_changed(
    actor: Actor, tree: Tree, muse: Participant, name: str
) -> None:
    (node,) = chain(tree, actor.participant, "the river")
    value = muse if name == "author" else CHANGES[name]
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Node.objects.filter(pk=node.pk).update(**{name: value})


def test_flags_and_the_summary_of_a_node_may_change(actor: Actor, tree: Tree) -> None:
    (node,) = chain(tree, actor.participant, "the river")
    node.pruned = node.excluded = node.version_pruned = node.sandbox = True
    node.summary, node.resolved_at = "short", datetime(2020, 1, 1, tzinfo=UTC)
    node.save()  # which writes every column, the content as it was
    assert Node.objects.get(pk=node.pk).summary == "short"


def test_a_node_that_is_erased_leaves_the_index(actor: Actor, tree: Tree) -> None:
    _, b = chain(tree, actor.participant, "the river", "the sea")
    Node.objects.filter(pk=b.pk)._raw_delete("default")
    assert find_in_tree(actor, tree, None, "the sea").total == 0
    assert find_in_tree(actor, tree, None, "the river").total == 1
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO trees_node_fts(trees_node_fts) VALUES ('integrity-check')")


@pytest.mark.parametrize("table", ["engine_event", "trees_node"])
def test_no_migration_has_lost_a_trigger(db: None, table: str) -> None:
    expected = {
        ("sqlite", "engine_event"): {"engine_event_no_update", "engine_event_no_delete"},
        ("sqlite", "trees_node"): {
            "trees_node_no_change",
            *(f"trees_node_fts_{w}" for w in ("insert", "delete", "update")),
        },
        ("postgresql", "engine_event"): {"engine_event_append_only"},
        ("postgresql", "trees_node"): {"trees_node_no_change"},
    }
    sql = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
        "postgresql": """SELECT tgname FROM pg_trigger
            WHERE tgrelid = %s::regclass AND NOT tgisinternal""",
    }
    with connection.cursor() as cursor:
        cursor.execute(sql[connection.vendor], [table])
        names = {row[0] for row in cursor.fetchall()}
    assert names == expected[connection.vendor, table]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", [1, 2])
def test_tests_with_real_transactions_may_clear_the_log(
    actor: Actor, tree: Tree, turn: int
) -> None:
    assert Event.objects.filter(stream__name=f"tree:{tree.uid}").count() == 2
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.all().delete()


@pytest.mark.django_db(transaction=True)
def test_the_triggers_come_back_after_they_stood_aside(actor: Actor, tree: Tree) -> None:
    with triggers_aside(connection):
        pass
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.update(kind="x")
