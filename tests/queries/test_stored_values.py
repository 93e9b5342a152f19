"""How SQLite stores instants, JSON and words."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.db.models.functions import ExtractHour, TruncDate

from loom.access import Actor
from loom.engine.models import Event
from loom.search.index import is_indexed
from loom.search.queries import find_in_tree
from loom.text.hashes import instant
from loom.trees.models import Tree
from loom.trees.queries.lookup import fetch, in_utc
from tests.queries.growing import chain

INSTANTS = [
    datetime(2026, 11, 26, 21, 30, 0, 5, tzinfo=UTC),
    datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1000, 2, 3, 4, 5, 6, 700_000, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]


@pytest.mark.parametrize("at", INSTANTS)
def test_an_instant_comes_back_as_it_was(tree: Tree, at: datetime) -> None:
    rows = Tree.objects.filter(pk=tree.pk)
    rows.update(touched_at=at)
    assert rows.get().touched_at == at
    assert rows.filter(touched_at=at).exists() and not rows.filter(touched_at__gt=at).exists()
    shown = fetch(f"SELECT {in_utc('touched_at')} FROM trees_tree WHERE id = %s", [tree.pk])
    assert shown == [(instant(at),)]


def test_the_day_and_hour_of_an_instant_are_asked_for(tree: Tree) -> None:
    rows = Tree.objects.filter(pk=tree.pk)
    rows.update(touched_at=INSTANTS[0])
    asked = rows.values_list(TruncDate("touched_at"), ExtractHour("touched_at"))
    assert list(asked) == [(date(2026, 11, 26), 21)]
    assert rows.filter(touched_at__year=2026, touched_at__date=date(2026, 11, 26)).exists()


@pytest.mark.sqlite
def test_json_is_stored_without_blanks_and_escapes(tree: Tree) -> None:
    for value, text in (
        ({"a": [1, "ü"]}, '{"a":[1,"ü"]}'),
        ({"a": "\ud800"}, '{"a":"\\ud800"}'),
    ):
        Tree.objects.filter(pk=tree.pk).update(imported=value)
        stored: Any = fetch("SELECT imported FROM trees_tree WHERE id = %s", [tree.pk])
        assert stored == [(text,)] and Tree.objects.get(pk=tree.pk).imported == value
    assert all('": ' not in row for (row,) in fetch("SELECT payload FROM engine_event"))
    assert Event.objects.exists()


@pytest.mark.sqlite
@pytest.mark.parametrize(
    "query",
    ['"quoted"', "it's", "→ view", "--flag=x", "be or not", "to be", "ÉTÉ", "日本語", "a\x01b"],
)
def test_words_with_signs_are_found_with_and_without_the_index(
    actor: Actor, tree: Tree, query: str
) -> None:
    (node,) = chain(tree, actor.participant, f"before {query.lower()} after")
    chain(tree, actor.participant, "something else")
    assert find_in_tree(actor, tree, None, query).every == (node.pk,)
    assert is_indexed(query) == (query not in ("to be", "a\x01b"))
