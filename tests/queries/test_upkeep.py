"""SQLite gets statistics, and gives back the room of what was deleted, without an operator."""

import pytest
from django.db import connection

from loom.access import Actor
from loom.platform.upkeep import keep_database
from loom.trees.models import Node, Tree
from tests.queries.growing import add, plant

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]


def _pragma(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return int(cursor.fetchone()[0])


def test_statistics_are_there_after_the_first_look(actor: Actor, tree: Tree) -> None:
    plant(tree, actor.participant, [-1] * 300)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS sqlite_stat4")
        cursor.execute("ANALYZE sqlite_schema")
        keep_database()
        cursor.execute("SELECT idx FROM sqlite_stat1 WHERE tbl = 'trees_node'")
        known = {name for (name,) in cursor.fetchall()}
    assert {"node_versions", "node_by_author", "node_seen_below"} <= known


def test_the_room_of_what_was_deleted_is_given_back(actor: Actor, tree: Tree) -> None:
    assert (_pragma("auto_vacuum"), _pragma("page_size")) == (2, 8192)
    long = [add(tree, actor.participant, "word " * 20_000, None) for _ in range(30)]
    rows = Node.objects.filter(pk__in=[node.pk for node in long])
    rows._raw_delete("default")  # as erasing does, without asking what is protected
    assert _pragma("freelist_count") > 300
    before = _pragma("page_count")
    assert keep_database() < 50
    assert _pragma("page_count") < before - 250
