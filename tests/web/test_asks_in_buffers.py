"""The words that asked for a turn in a buffer, as the page sets them off from the story."""

import re

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.trees.models import Tree
from loom.turns import turn_lifecycle
from loom.turns.turn_lifecycle import TurnStartArgs
from tests.web.conftest import Visitor

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("mode", ["buffer", "dialogue"])
def test_the_page_sets_off_what_a_turn_was_asked_for_in_a_buffer(
    mode: str, actor: Actor, owner: User, tree: Tree, muse: Participant, visitor: Visitor
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode=mode)
    tree.refresh_from_db()
    muse.permissions = ["loom_aware", "loom_write"]
    muse.save()
    node = execute_line(actor, tree, Request('respond root "Who is Marie?"')).body["refs"][0]
    wanted = TurnStartArgs(participant=muse.uid, node=node, input="Go on in one sentence.")
    asked = turn_lifecycle.start(actor, tree, wanted).input_node
    assert asked is not None
    page = visitor(owner).get(f"/trees/{tree.uid}?node={asked.local_id}").content.decode()
    assert "Go on in one sentence." in page
    match = re.search(rf'class="([^"]*)" id="n-{asked.local_id}"', page)
    assert match is not None
    assert ("ask" in match[1].split(" ")) is (mode == "buffer")


def test_the_texts_of_a_buffer_name_what_was_asked(
    actor: Actor, owner: User, tree: Tree, muse: Participant, visitor: Visitor
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode="buffer")
    tree.refresh_from_db()
    muse.permissions = ["loom_aware", "loom_write"]
    muse.save()
    node = execute_line(actor, tree, Request('respond root "Who is Marie?"')).body["refs"][0]
    wanted = TurnStartArgs(participant=muse.uid, node=node, input="Go on in one sentence.")
    asked = turn_lifecycle.start(actor, tree, wanted).input_node
    assert asked is not None
    client = visitor(owner)
    for query in (f"node={asked.local_id}", f"ids={node},{asked.local_id}"):
        told = client.get(f"/trees/{tree.uid}/buffer?{query}").json()
        assert [told["ids"][place] for place in told["asks"]] == [asked.local_id]
