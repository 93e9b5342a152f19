"""SQLite gets statistics, and gives back the room of what was deleted, without an operator."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

from loom import tasks
from loom.access import Actor
from loom.errors import CommandError
from loom.people.models import User
from loom.platform import upkeep
from loom.platform.broker import BrokerAwayError
from loom.platform.upkeep import empty_log, keep_database
from loom.transfer import importing
from loom.transfer.tree_builder import TreeBuilder
from loom.trees import erasing
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.queries.growing import add, plant
from tests.rows_read import work_done
from tests.transfer.conftest import file_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]


def _pragma(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return int(cursor.fetchone()[0])


def _counted() -> set[str]:
    """The tables that have statistics."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT tbl FROM sqlite_stat1")
        return {name for (name,) in cursor.fetchall()}


def test_a_large_table_has_statistics_after_the_first_look(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "COUNTED", 1_000)
    plant(tree, actor.participant, [-1] * 1_100)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("DELETE FROM sqlite_stat1")
        keep_database()
        assert _counted() == {"trees_node"}
        cursor.execute("UPDATE sqlite_stat1 SET stat = '9 9 9' WHERE idx = 'node_below'")
        keep_database()
        cursor.execute("SELECT stat FROM sqlite_stat1 WHERE idx = 'node_below'")
        assert cursor.fetchone() == ("9 9 9",), "it has not changed much"


def test_statistics_of_small_tables_do_not_mislead_when_they_grow(
    actor: Actor, owner: User, client: Client
) -> None:
    client.force_login(owner)
    plant(trees.new_tree(actor, title="First"), actor.participant, [-1] * 5)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as older versions of the program did, of few nodes
    keep_database()
    assert not _counted()
    connection.close()  # which otherwise keeps the statistics that it opened with
    works = []
    for size in (200, 4_000):
        tree = trees.new_tree(actor, title=f"{size}")
        end = plant(tree, actor.participant, range(-1, size - 1))[-1]
        address = f"/trees/{tree.uid}?node={end.local_id}"
        client.get(address)
        with work_done() as work:
            assert client.get(address).status_code == 200
        works.append(work)
    works[1].demand_no_more(works[0])


def test_the_room_of_what_was_deleted_is_given_back(actor: Actor, tree: Tree) -> None:
    assert (_pragma("auto_vacuum"), _pragma("page_size")) == (2, 8192)
    long = [add(tree, actor.participant, "word " * 20_000, None) for _ in range(30)]
    rows = Node.objects.filter(pk__in=[node.pk for node in long])
    rows._raw_delete("default")  # as erasing does, without asking what is protected
    assert _pragma("freelist_count") > 300
    before = _pragma("page_count")
    assert keep_database() < 50
    assert _pragma("page_count") < before - 250


WORDS = "the words of nobody else"


def _is_stored() -> bool:
    """Whether the words are in a file of the database."""
    path = Path(connection.settings_dict["NAME"])
    files = [path, path.with_name(f"{path.name}-wal")]
    return any(WORDS.encode() in file.read_bytes() for file in files if file.exists())


@contextmanager
def _reading() -> Iterator[None]:
    """Somebody reads, from before what is deleted then."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
        other.isolation_level = None
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM trees_node").fetchone()
        yield


def test_words_of_an_erased_tree_are_in_no_file_of_the_database(actor: Actor, tree: Tree) -> None:
    add(tree, actor.participant, WORDS, None)
    assert _is_stored()
    trees.change_tree(actor, tree, {"archived": True})
    trees.erase(actor, tree, "Marie")
    tasks.erase_tree(tree.uid)
    assert not _is_stored()
    assert "secure_delete=ON" in connection.settings_dict["OPTIONS"]["init_command"]


def test_the_log_is_emptied_later_if_it_is_being_read(actor: Actor, tree: Tree) -> None:
    cache.clear()
    add(tree, actor.participant, WORDS, None)
    trees.change_tree(actor, tree, {"archived": True})
    trees.erase(actor, tree, "Marie")
    with _reading():
        tasks.erase_tree(tree.uid)
        assert _is_stored()
        assert not empty_log() and erasing.empty_log_again() == 0
        trees.new_tree(actor, title="Others write meanwhile")
        assert _pragma("busy_timeout") == 20_000
    assert erasing.empty_log_again() == 1
    assert not _is_stored()
    assert erasing.empty_log_again() == 0


def _erased(actor: Actor, tree: Tree) -> None:
    add(tree, actor.participant, WORDS, None)
    trees.change_tree(actor, tree, {"archived": True})
    trees.erase(actor, tree, tree.title)
    tasks.erase_tree(tree.uid)


def test_erasing_ends_while_the_broker_is_away(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away, _reading():
        for name in ("get", "set", "delete", "delete_many"):
            away.setattr(cache, name, _broken)
        _erased(actor, tree)
        assert erasing.empty_log_again() == 0
    assert not Tree.objects.filter(pk=tree.pk).exists()


def _broken(*_: object) -> None:
    raise BrokerAwayError


def test_an_erasing_that_ends_while_the_log_is_emptied_is_not_forgotten(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    with _reading():
        _erased(actor, tree)

    def while_another_ends() -> bool:
        monkeypatch.undo()
        other = trees.new_tree(actor, title="Other")
        with _reading():
            _erased(actor, other)
        return True

    monkeypatch.setattr(erasing, "empty_log", while_another_ends)
    assert erasing.empty_log_again() == 1
    assert erasing.empty_log_again() == 1, "for the other one"
    assert not _is_stored()


def test_words_of_an_import_that_failed_are_in_no_file_of_the_database(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = file_of(actor, {"text": "", "children": [{"text": WORDS, "children": []}] * 2})
    add_batch, written = TreeBuilder.add, []

    def fail_later(self: TreeBuilder, *args: Any) -> None:
        if _is_stored():
            written.append(True)
            raise CommandError("REJECTED", "It is damaged.", hint="")
        add_batch(self, *args)

    monkeypatch.setattr(importing, "BATCH", 1)
    monkeypatch.setattr(TreeBuilder, "add", fail_later)
    importing.run(row.uid)
    row.refresh_from_db()
    assert (row.status, written) == ("failed", [True])
    assert not _is_stored()
