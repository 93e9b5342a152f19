"""Tables that many rows are copied into have the same indexes and foreign keys afterwards."""

import pytest
from django.db import IntegrityError, connection, transaction

from loom.access import Actor
from loom.platform.bulk_loading import indexed_afterwards
from loom.trees.models import Node, Tree
from tests.queries.growing import add

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
TABLES = ["trees_node", "engine_event"]


def kept() -> tuple[dict[str, str], dict[str, str]]:
    """The indexes and the constraints of the tables, by name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s)", [TABLES]
        )
        indexes = dict(cursor.fetchall())
        cursor.execute(
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid = ANY(%s::regclass[])",
            [TABLES],
        )
        return indexes, dict(cursor.fetchall())


def test_indexes_and_foreign_keys_are_made_again(actor: Actor, tree: Tree) -> None:
    before = kept()
    add(tree, actor.participant, "words that are indexed later", None)
    with (
        transaction.atomic(),
        connection.cursor() as cursor,
        indexed_afterwards(cursor, TABLES),
    ):
        indexes, constraints = kept()
        assert len(indexes) < 6 < len(before[0])
        assert not any("FOREIGN KEY" in text for text in constraints.values())
    assert kept() == before
    assert Node.objects.filter(text__icontains="indexed later").count() == 1


def test_a_row_that_does_not_fit_changes_nothing(actor: Actor, tree: Tree) -> None:
    before, node = kept(), add(tree, actor.participant, "a text", None)
    unfit = Node(pk=node.pk + 1, tree=tree, local_id="zz9", author_id=10**9, depth=2, length=0)
    unfit.slot_id, unfit.parent_slot_id, unfit.created_at = unfit.pk, node.pk, node.created_at
    with (
        pytest.raises(IntegrityError),
        transaction.atomic(),
        connection.cursor() as cursor,
        indexed_afterwards(cursor, TABLES),
    ):
        Node.objects.bulk_create([unfit])
    assert kept() == before
    assert list(tree.nodes.filter(depth__gt=0)) == [node]
