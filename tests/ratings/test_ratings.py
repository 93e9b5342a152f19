"""Ratings: + and − on texts, blind comparisons, and what became of candidates."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.notes.models import Mark
from loom.people.models import Grove, Participant, User
from loom.ratings.queries.blind_pairs import blind_pair
from loom.ratings.queries.candidate_counts import counts_in
from loom.ratings.queries.ratings import ratings_in
from loom.trees.models import Node, Tree
from loom.turns.models import Generation
from tests.queries.growing import add
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Say = Callable[[str], str]


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    def run(line: str) -> str:
        return str(execute_line(actor, tree, Request(line)).body["reply"])

    return run


@pytest.fixture
def wren(grove: Grove) -> Participant:
    """Another model than Muse."""
    return Participant.objects.create(
        grove=grove, kind="model", name="Wren", model_ref="openai:echo-2"
    )


def candidate(tree: Tree, model: Participant, above: Node | None, text: str) -> Node:
    """A candidate as a generation leaves it."""
    return add(tree, model, text, above, generation_uid=f"g{len(text)}{model.pk}")


def test_a_rating_is_ones_own_replaces_the_last_and_is_undone(
    say: Say, tree: Tree, actor: Actor, writer: User
) -> None:
    node = add(tree, actor.participant, "A lamp.", None).local_id
    assert say(f"rate {node} plus") == f"✓ rated [{node}] +"
    say(f"rate {node} minus")
    assert ratings_in(actor, tree) == {node: "minus"}
    other = get_actor(writer, actor.grove)
    execute_line(other, tree, Request(f"rate {node} plus"))
    assert ratings_in(other, tree) == {node: "plus"}
    say("undo")
    assert ratings_in(actor, tree) == {node: "plus"}
    say(f"rate {node} none")
    assert ratings_in(actor, tree) == {}
    say("undo")
    assert ratings_in(actor, tree) == {node: "plus"}
    assert Mark.objects.filter(kind="plus", removed_at=None).count() == 2


def test_only_texts_are_rated_and_never_twice_the_same(say: Say, tree: Tree, actor: Actor) -> None:
    node = add(tree, actor.participant, "A lamp.", None).local_id
    say(f"rate {node} plus")
    for line in ("rate root plus", f"rate {node} plus"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "REJECTED"


def test_what_was_gone_on_from_counts_as_accepted_by_samplers(
    say: Say, tree: Tree, actor: Actor, muse: Participant, wren: Participant
) -> None:
    start = add(tree, actor.participant, "Once.", None)
    taken = candidate(tree, muse, start, "One lamp.")
    candidate(tree, muse, start, "Two lamps.")
    candidate(tree, wren, start, "A dark house.")
    Generation.objects.create(
        uid=taken.generation_uid,
        tree=tree,
        participant=muse,
        asked_by=actor.participant,
        batch="b",
        index=0,
        point=start,
        temperature=0.7,
    )
    add(tree, actor.participant, "And on.", taken)
    say(f"rate {taken.local_id} plus")
    rows = [
        (row.model.name, row.samplers, row.candidates, row.accepted, row.plus, row.minus)
        for row in counts_in(actor)
    ]
    assert sorted(rows) == [
        ("Muse", "", 1, 0, 0, 0),
        ("Muse", "temperature=0.7", 1, 1, 1, 0),
        ("Wren", "", 1, 0, 0, 0),
    ]


def test_a_pair_is_judged_without_names_and_comes_once(
    tree: Tree, actor: Actor, muse: Participant, wren: Participant, client: Client, owner: User
) -> None:
    start = add(tree, actor.participant, "Once there was a house.", None)
    one = candidate(tree, muse, start, "One lamp burned.")
    two = candidate(tree, wren, start, "It was dark.")
    client.force_login(owner)
    address = f"/groves/{actor.grove.uid}/ratings"
    page = client.get(address).content.decode().split("<h2>")[0]
    assert "One lamp burned." in page and "It was dark." in page
    assert "Once there was a house." in page and "Muse" not in page and "Wren" not in page
    sent = {"tree": tree.uid, "better": two.local_id, "worse": one.local_id}
    page = client.post(address, sent).content.decode()
    assert "You chose Wren over Muse." in page and "blind-pair" not in page
    assert ratings_in(actor, tree) == {two.local_id: "plus", one.local_id: "minus"}
    assert blind_pair(actor) is None
    execute_line(actor, tree, Request("undo"))  # both are one act
    assert ratings_in(actor, tree) == {}


def test_readers_see_what_is_accepted_and_judge_nothing(
    tree: Tree, actor: Actor, muse: Participant, wren: Participant, client: Client, reader: User
) -> None:
    start = add(tree, actor.participant, "Once.", None)
    one, two = (candidate(tree, who, start, who.name) for who in (muse, wren))
    client.force_login(reader)
    address = f"/groves/{actor.grove.uid}/ratings"
    assert "blind-pair" not in client.get(address).content.decode()
    sent = {"tree": tree.uid, "better": two.local_id, "worse": one.local_id}
    assert "refused" in client.post(address, sent).content.decode()
    assert not Mark.objects.filter(kind="plus").exists()


def test_ratings_stay_in_their_grove(two_groves: TwoGroves) -> None:
    two = two_groves
    side = two.right
    model = two.agent(side, name="Kestrel model")
    candidate(side.tree, model, side.text, "Kestrel text.")
    assert side.run(two.both, f"rate {side.text.local_id} plus").startswith("✓")
    for address in (f"trees/{side.tree.uid}/ratings", f"groves/{side.grove.uid}/acceptance"):
        assert two.client(two.only_left).get(f"/api/{address}").status_code == 404
        assert two.client(two.both).get(f"/api/{address}").status_code == 200
    page = Client()
    page.force_login(two.only_left)
    assert page.get(f"/groves/{side.grove.uid}/ratings").status_code == 404
    left = page.get(f"/groves/{two.left.grove.uid}/ratings").content.decode()
    assert not re.search("kestrel", left, re.I)
    both = Client()
    both.force_login(two.both)
    sent = {"tree": side.tree.uid, "better": side.text.local_id, "worse": side.text.local_id}
    answer = both.post(f"/groves/{two.left.grove.uid}/ratings", sent)
    assert "Kestrel" not in answer.content.decode()
