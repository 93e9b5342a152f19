"""A migration changes rows in batches, between which others write."""

import time
from typing import Any

import pytest
from django.db import connection, models, transaction
from django.db.migrations.state import ProjectState
from django.db.transaction import TransactionManagementError

from loom.access import Actor
from loom.platform import batched_migrations
from loom.platform.batched_migrations import AddIndexAside, change_rows
from loom.trees.models import Node, Tree
from tests.queries.growing import chain

SAY = """UPDATE trees_node SET summary = 'said' WHERE id > %s AND id <= %s AND summary = ''"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of three rows."""
    for name in ("FEWEST", "FIRST", "MOST"):
        monkeypatch.setattr(batched_migrations, name, 3)
    monkeypatch.setattr(time, "sleep", lambda _: None)


@pytest.mark.django_db(transaction=True)
def test_all_rows_are_changed_in_batches(actor: Actor, tree: Tree, small: None) -> None:
    chain(tree, actor.participant, *"abcdefg")
    count = Node.objects.count()
    done = change_rows("default", "trees_node", SAY)
    assert (done.rows, done.batches) == (count, -(-count // 3))
    assert Node.objects.filter(summary="said").count() == count
    assert done.longest_s > 0


@pytest.mark.django_db(transaction=True)
def test_one_that_was_stopped_goes_on(
    actor: Actor, tree: Tree, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(tree, actor.participant, *"abcdefg")
    rests: list[float] = []

    def stop(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        change_rows("default", "trees_node", SAY)
    assert Node.objects.filter(summary="said").count() == 6
    change_rows("default", "trees_node", SAY)
    assert not Node.objects.filter(summary="").exists()


@pytest.mark.django_db(transaction=True)
def test_an_empty_table_has_no_batch(small: None) -> None:
    assert change_rows("default", "trees_chain", "SELECT %s, %s").batches == 0


def test_within_a_transaction_nothing_is_changed(db: None) -> None:
    with transaction.atomic(), pytest.raises(TransactionManagementError, match="atomic = False"):
        change_rows("default", "trees_node", SAY)


@pytest.mark.django_db(transaction=True)
def test_an_index_is_added_aside(db: None) -> None:
    index = models.Index(fields=["summary"], name="node_by_summary_tried")
    operation = AddIndexAside("node", index)
    state = ProjectState.from_apps(_apps())
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("trees", editor, state, state)
    try:
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, "trees_node")
        assert found["node_by_summary_tried"]["columns"] == ["summary"]
    finally:
        with connection.schema_editor(atomic=False) as editor:
            editor.remove_index(Node, index)


def _apps() -> Any:
    from django.apps import apps

    return apps
