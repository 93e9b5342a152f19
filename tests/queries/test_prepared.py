"""Prepared queries give what the plain ones give, each time with the values of that time."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from loom.access import Actor
from loom.engine.models import Event
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.commands import trees
from loom.trees.models import Node, Tree

pytestmark = pytest.mark.django_db

TREE = PreparedQuery(lambda: Tree.objects.select_related("grove", "maker").filter(uid=Given("uid")))
EVENTS = PreparedQuery(
    lambda: (
        Event.objects.filter(stream__name=Given("stream"), seq__gt=Given("seq"))
        .order_by("-seq")
        .values_list("seq", "payload", "at")[:2]
    )
)
NODES = PreparedQuery(lambda: Node.objects.select_related("edited_from").filter(tree=Given("tree")))


def _fields(row: Tree | Node) -> dict[str, object]:
    return {key: value for key, value in vars(row).items() if key != "_state"}


def test_rows_and_what_they_name_are_those_of_the_plain_query(actor: Actor, tree: Tree) -> None:
    for title in ("Ink", "Salt"):
        new_tree = trees.new_tree(actor, title=title)
        TREE.first(uid=new_tree.uid)
        with CaptureQueriesContext(connection) as asked:
            row = TREE.first(uid=new_tree.uid)
            assert row is not None
            names = (row.title, row.grove.name, row.maker.name)
        plain = Tree.objects.get(uid=new_tree.uid)
        assert len(asked) == 1
        assert _fields(row) == _fields(plain)
        assert names == (title, plain.grove.name, plain.maker.name)
        assert not row._state.adding


def test_an_unknown_value_gives_no_row(actor: Actor, tree: Tree) -> None:
    assert TREE.first(uid="nobody") is None
    assert TREE.all(uid="nobody") == []


def test_tuples_come_converted_and_in_order(actor: Actor, tree: Tree) -> None:
    stream = f"tree:{tree.uid}"
    plain = Event.objects.filter(stream__name=stream).order_by("-seq")
    expected = list(plain.values_list("seq", "payload", "at")[:2])
    assert expected
    assert EVENTS.all(stream=stream, seq=0) == expected
    assert EVENTS.all(stream=stream, seq=expected[0][0]) == []


def test_a_join_that_finds_nothing_gives_none(actor: Actor, tree: Tree) -> None:
    root = NODES.all(tree=tree.pk)[0]
    assert root.edited_from is None


def test_values_are_values_whatever_they_say(actor: Actor, tree: Tree) -> None:
    assert TREE.all(uid="' OR ''='") == []


def test_an_instant_is_given_as_the_database_keeps_it(actor: Actor, tree: Tree) -> None:
    newest = Event.objects.latest("pk")
    later = PreparedQuery(lambda: Event.objects.filter(pk=Given("pk"), at__gte=Given("since")))
    assert later.first(pk=newest.pk, since=newest.at) == newest
    assert later.first(pk=newest.pk, since=newest.at + timedelta(microseconds=1)) is None


def test_constants_are_texts_and_not_patterns_of_values(actor: Actor, tree: Tree) -> None:
    titled = PreparedQuery(
        lambda: Tree.objects.filter(uid=Given("uid"), title__contains="100 % of 'it'")
    )
    new_tree = trees.new_tree(actor, title="All: 100 % of 'it'.")
    assert titled.first(uid=new_tree.uid) == new_tree
    assert titled.first(uid=tree.uid) is None


@pytest.mark.postgres
def test_postgresql_plans_it_once_and_sees_its_constants(actor: Actor, tree: Tree) -> None:
    dialogues = PreparedQuery(lambda: Tree.objects.filter(uid=Given("uid"), mode="dialogue"))
    for _ in range(3):
        assert dialogues.first(uid=tree.uid) == tree
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT statement FROM pg_prepared_statements
            WHERE statement LIKE '%%"mode" = ''dialogue''%%' AND statement LIKE '%%$1%%'"""
        )
        assert len(cursor.fetchall()) == 1
