"""Where a person is in a tree is stored, and read by every browser and program of theirs."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.people.models import User
from loom.trees.models import Tree
from tests.two_groves import TwoGroves


def told(client: APIClient, tree: Tree, node: object) -> int:
    """The status of the answer to telling where one is."""
    return int(client.post(f"/trees/{tree.uid}/place", {"node": node}, format="json").status_code)


@pytest.mark.django_db(transaction=True)
def test_a_tree_opens_where_its_reader_was_last(
    actor: Actor, owner: User, writer: User, tree: Tree, api: Callable[[User], APIClient]
) -> None:
    first = execute_line(actor, tree, Request('respond root "One."')).body["refs"][0]
    second = execute_line(actor, tree, Request(f'respond {first} "Two."')).body["refs"][0]
    steps, events = Step.objects.count(), Event.objects.count()
    mine, hers = api(owner), api(writer)
    assert told(mine, tree, first) == 204
    assert mine.get(f"/api/trees/{tree.uid}").json()["workspace"]["position"] == first
    assert f'"node": "{first}"' in mine.get(f"/trees/{tree.uid}").content.decode()
    assert told(hers, tree, second) == 204
    assert mine.get(f"/api/trees/{tree.uid}").json()["workspace"]["position"] == first
    assert (Step.objects.count(), Event.objects.count()) == (steps, events)


@pytest.mark.django_db(transaction=True)
def test_a_pruned_place_opens_above_it(
    actor: Actor, owner: User, tree: Tree, api: Callable[[User], APIClient]
) -> None:
    first = execute_line(actor, tree, Request('respond root "One."')).body["refs"][0]
    second = execute_line(actor, tree, Request(f'respond {first} "Two."')).body["refs"][0]
    execute_line(actor, tree, Request(f"prune {second}"))
    assert told(api(owner), tree, second) == 204
    assert f'"node": "{first}"' in api(owner).get(f"/trees/{tree.uid}").content.decode()


@pytest.mark.django_db(transaction=True)
def test_only_a_text_of_a_tree_that_one_may_read_is_a_place(
    actor: Actor, owner: User, tree: Tree, api: Callable[[User], APIClient], two_groves: TwoGroves
) -> None:
    text = execute_line(actor, tree, Request('respond root "One."')).body["refs"][0]
    note = execute_line(actor, tree, Request(f'annotate {text} "A note."')).body["refs"][0]
    for rubbish in (None, 7, "", "zzzz", "no id\x00", "x" * 9_000, ["a"]):
        assert told(api(owner), tree, rubbish) in (400, 404), rubbish
    assert told(api(owner), tree, note) == 409
    right = two_groves.right
    left = two_groves.client(two_groves.only_left)
    assert told(left, right.tree, right.text.local_id) == 404
