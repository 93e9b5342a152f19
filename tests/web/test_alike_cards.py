"""Candidates that are nearly the same share one card of the tree page."""

import re

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html

from loom.access import Actor
from loom.embedding.pieces import are_alike, groups_alike, pieces_of
from loom.people.models import Participant, User
from loom.reading.pages.candidates import Weave
from loom.trees.models import Node, Tree
from loom.turns.models import Generation
from tests.queries.growing import add

SHIP = "The old sailor steered his ship through the storm at night, and nobody saw him again."
BREAD = "She kneaded the dough and baked fresh bread at dawn."


def test_texts_are_alike_by_what_they_share() -> None:
    assert are_alike(pieces_of(SHIP), pieces_of(SHIP.upper() + "  "))
    assert not are_alike(pieces_of(SHIP), pieces_of(SHIP * 2 + BREAD * 2))
    assert groups_alike([SHIP, BREAD, SHIP.replace("again.", "again!")]) == [[0, 2], [1]]


def weave(owner: User, tree: Tree, node: Node) -> str:
    """The cards below a node, as markup."""
    client = Client(headers={"X-Part": "1"})
    client.force_login(owner)
    return client.get(f"/trees/{tree.uid}/weave", {"node": node.local_id}).content.decode()


@pytest.fixture
def point(tree: Tree, actor: Actor) -> Node:
    """A text below which there are candidates."""
    return add(tree, actor.participant, "What happened at sea?", None)


@pytest.mark.django_db
def test_near_duplicates_of_models_are_folded_and_counted_once(
    owner: User, actor: Actor, muse: Participant, tree: Tree, point: Node
) -> None:
    first = add(tree, muse, SHIP, point)
    other = add(tree, muse, SHIP.replace("again.", "again!"), point)
    same = add(tree, muse, SHIP, point)
    bread = add(tree, muse, BREAD, point)
    page = weave(owner, tree, point)
    assert page.count('<article class="card"') == 2
    assert ">2 alike<" in page and "identical" not in page
    assert f'id="card-{first.local_id}"' in page and f'id="card-{bread.local_id}"' in page
    for folded in (other, same):
        assert f'data-go="{folded.local_id}"' in page and f"card-{folded.local_id}" not in page
    assert 'data-keys="1 3 2"' in page and "again!" in page


@pytest.mark.django_db
def test_what_a_person_wrote_or_somebody_went_on_from_is_shown_by_itself(
    owner: User, actor: Actor, muse: Participant, tree: Tree, point: Node
) -> None:
    add(tree, muse, SHIP, point)
    mine = add(tree, actor.participant, SHIP.replace("again.", "more."), point)
    going = [add(tree, muse, SHIP.replace("again.", f"again{end}"), point) for end in ("!", "?")]
    for node in going:
        add(tree, actor.participant, "And then?", node)
    page = weave(owner, tree, point)
    for node in (mine, *going):
        assert f'id="card-{node.local_id}"' in page
    assert ">1 alike<" in page


@pytest.mark.django_db
def test_only_the_same_text_is_called_identical(
    owner: User, muse: Participant, tree: Tree, point: Node
) -> None:
    for _ in range(3):
        add(tree, muse, SHIP, point)
    assert "2 identical candidates" in weave(owner, tree, point)


@pytest.mark.django_db
def test_the_heading_counts_the_texts_after_the_last_card_too(
    owner: User, actor: Actor, tree: Tree, point: Node
) -> None:
    for number in range(65):
        add(tree, actor.participant, f"Answer {number}.", point)
    page = weave(owner, tree, point)
    assert page.count('<article class="card"') == 60
    assert "<h2>65 continuations</h2>" in page
    assert re.search(r'<button [^>]*data-act="outline">5 more; see the outline.</button>', page)


@pytest.mark.django_db
def test_a_failed_candidate_comes_last_without_a_shortcut_and_is_not_counted(
    owner: User, actor: Actor, muse: Participant, tree: Tree, point: Node
) -> None:
    Generation.objects.create(
        tree=tree,
        participant=muse,
        asked_by=actor.participant,
        point=point,
        batch="batch",
        index=0,
        status="failed",
        error={"message": "slow down"},
        ended_at=timezone.now(),
    )
    later = add(tree, muse, SHIP, point)
    page = weave(owner, tree, point)
    cards = html.fragment_fromstring(page).xpath("//article")
    assert [card.get("data-key") for card in cards] == ["1", None]
    assert cards[0].get("data-id") == later.local_id and "slow down" in cards[1].text_content()
    assert "<h2>1 continuation</h2>" in page


def test_more_continuations_than_are_counted_have_a_plus() -> None:
    assert Weave("a7x2", cards=(), total=1_001, coming=0, is_root=False).counted == "1000+"
