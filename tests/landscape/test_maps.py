"""Maps by meaning: asked for, drawn, stopped; who sees what on them; new texts move nothing."""

import json
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from loom import access
from loom.access import Actor
from loom.embedding import embedders
from loom.embedding.embedders import embedded
from loom.engine import jobs
from loom.landscape import asking, drawing, layout, map_rows, placing, tasks
from loom.landscape.models import Landscape, LandscapeBlock
from loom.landscape.queries import View, trees_seen, view_of
from loom.meaning import indexing
from loom.people.models import Grove, Participant, User
from loom.trees import erasing
from loom.trees.commands import trees
from loom.trees.models import Node, Tree, TreeRight
from tests.commands.conftest import say  # noqa: F401 (a fixture)
from tests.meaning.answers import answered
from tests.queries.growing import add, chain, flag, version
from tests.rows_read import work_done
from tests.two_groves import PLAIN, SECRET, TwoGroves

Say = Callable[..., Any]
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(embedded() is None, reason="wordllama is not installed"),
]
SEA = ["The captain set sail at dawn.", "A storm broke the ship's mast.", "Waves hit the harbour."]
BREAD = ["The baker kneaded the dough.", "Fresh bread lay in the oven.", "Flour covered the table."]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps, and what is enqueued stays where it is."""
    monkeypatch.setattr(layout, "EARLY", 20)
    monkeypatch.setattr(layout, "LATE", 30)
    monkeypatch.setattr(jobs, "enqueue", lambda *_, **__: None)


def drawn(actor: Actor, tree: Tree | None, grove: Grove | None = None) -> Landscape:
    """The map of a tree or grove, drawn as a worker draws it."""
    of = grove or (tree.grove if tree is not None else actor.grove)
    row = asking.ask(actor, of, tree)
    drawing.draw(row.uid)
    row.refresh_from_db()
    assert row.status == "done", row.said
    return row


def seen(actor: Actor, row: Landscape, **asked: Any) -> View:
    """What somebody sees of a map."""
    own = trees_seen(actor, row)
    return view_of(actor, row, own, below=asked.get("below"), find=asked.get("find", ""))


def spots(row: Landscape) -> dict[int, tuple[int, int]]:
    """The places of all nodes of a map, by tree and ordinal."""
    places = {}
    for block in LandscapeBlock.objects.filter(landscape=row).order_by("tree_id", "number"):
        for spot in np.frombuffer(bytes(block.rows), map_rows.ROW):
            key = (block.tree_id << 32) + int(spot["ordinal"])
            assert key not in places
            places[key] = (int(spot["x"]), int(spot["y"]))
    return places


def test_a_map_shows_each_text_once_with_its_way(actor: Actor, tree: Tree) -> None:
    nodes = chain(tree, actor.participant, *SEA)
    side = add(tree, actor.participant, BREAD[0], nodes[0])
    view = seen(actor, drawn(actor, tree))
    assert view.names == [node.local_id for node in (*nodes, side)]
    assert view.ups.tolist() == [-1, 0, 1, 0]
    assert view.author.tolist() == [0] * 4 and view.people[0] == actor.participant
    assert [branch.node for branch in view.branches] == [nodes[1].local_id, side.local_id]
    assert view.branch.tolist() == [-1, 0, 0, 1]


def test_what_is_hidden_is_not_on_the_map(actor: Actor, tree: Tree, muse: Participant) -> None:
    one, two, three = chain(tree, actor.participant, *SEA)
    other = add(tree, actor.participant, BREAD[0], one)
    row = drawn(actor, tree)
    flag(two, pruned=True)
    assert seen(actor, row).names == [one.local_id, other.local_id]
    flag(two, pruned=False)
    flag(two, sandbox=True)
    assert seen(actor, row).names == [one.local_id, other.local_id]
    flag(two, sandbox=False)
    flag(two, excluded=True)
    assert len(seen(actor, row)) == 4
    from loom.access import acting_as, at_tree

    muse.permissions = ["loom_aware"]
    agent = at_tree(acting_as(actor, muse), tree)
    assert three.local_id in seen(agent, row).names
    assert two.local_id not in seen(agent, row).names


def test_the_selected_wording_is_on_the_map(
    actor: Actor,
    tree: Tree,
    say: Say,  # noqa: F811
) -> None:
    one, two = chain(tree, actor.participant, *SEA[:2])
    newer = version(actor.participant, two, BREAD[0])
    row = drawn(actor, tree)
    assert seen(actor, row).names == [one.local_id, newer.local_id]
    say(f"switch to {two.local_id}")
    assert seen(actor, row).names == [one.local_id, two.local_id]


def test_new_texts_find_their_place_and_no_old_one_moves(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_rows, "IN_BLOCK", 512)
    for at in range(30):
        add(tree, actor.participant, f"{SEA[at % 3]} Number {at}.", None)
        add(tree, actor.participant, f"{BREAD[at % 3]} Number {at}.", None)
    row = drawn(actor, tree)
    before = spots(row)
    root = Node.objects.filter(tree=tree).earliest("pk")
    newest = Node.objects.filter(tree=tree).latest("pk").pk
    Node.objects.bulk_create(
        Node(
            id=newest + 1 + at,
            tree=tree,
            local_id=f"z{at}",
            text=f"{(SEA if at % 2 else BREAD)[at % 3]} New {at}.",
            length=20,
            author=actor.participant,
            slot_id=newest + 1 + at,
            parent_slot=root,
            depth=1,
            hash=f"{at:064}",
            created_at=tree.created_at,
        )
        for at in range(1_000)
    )
    indexing.index_tree(tree.uid)
    assert placing.place(row.uid) == 1_000
    after = spots(row)
    assert len(after) == len(before) + 1_000
    assert sum(after[key] != place for key, place in before.items()) == 0  # old ones moved
    row.refresh_from_db()
    assert (row.placed, row.revision) == (1_000, 1)
    assert placing.place(row.uid) == 0
    view = seen(actor, row)
    assert len(view) == 1_060
    # They stand among their like.
    texts = dict(Node.objects.filter(tree=tree).values_list("pk", "text"))
    old = {key: at for key, at in before.items() if at[0]}
    right = 0
    for key in sorted(after.keys() - before.keys())[:200]:
        x, y = after[key]
        near = min(
            old, key=lambda neighbour: (old[neighbour][0] - x) ** 2 + (old[neighbour][1] - y) ** 2
        )
        right += any(words in texts[near] for words in SEA) == any(
            words in texts[key] for words in SEA
        )
    assert right > 190


def test_the_surprise_of_texts_is_the_providers(
    actor: Actor, tree: Tree, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(tree, actor.participant, *SEA)
    first = _scored(tree, actor, muse, ("The ship", -0.5), (" flew", -4.0))
    row = drawn(actor, tree)
    later = _scored(tree, actor, muse, ("The mast", -0.1), (" sang", -3.1), (" too", -0.4))
    indexing.index_tree(tree.uid)
    placing.place(row.uid)
    view = seen(actor, row)
    bits = {
        int(view.keys[at]): (int(view.surprise[at]) - 1) / map_rows.BIT for at in range(len(view))
    }
    assert abs(bits[first.pk] - 4.5 / 2 / math.log(2)) <= 0.5 / map_rows.BIT
    assert abs(bits[later.pk] - 3.6 / 3 / math.log(2)) <= 0.5 / map_rows.BIT
    assert sorted(bits.values())[: len(SEA)] == [-1 / map_rows.BIT] * len(SEA)  # people's: none


def _scored(tree: Tree, actor: Actor, muse: Participant, *tokens: tuple[str, float]) -> Node:
    """A text of a model with the probabilities of its tokens."""
    above = Node.objects.filter(tree=tree, text=SEA[0]).get()
    content = [{"token": text, "logprob": value, "top_logprobs": []} for text, value in tokens]
    message = {"content": "".join(text for text, _ in tokens)}
    body = {"choices": [{"index": 0, "message": message, "logprobs": {"content": content}}]}
    return answered(tree, actor, muse, above, message["content"], json.dumps(body).encode())


def test_a_text_that_is_not_indexed_yet_is_placed_later(actor: Actor, tree: Tree) -> None:
    chain(tree, actor.participant, *SEA)
    row = drawn(actor, tree)
    new = add(tree, actor.participant, BREAD[0], None)
    assert placing.place(row.uid) == 0
    indexing.index_tree(tree.uid)
    assert placing.place(row.uid) == 1
    assert new.local_id in seen(actor, row).names


def test_notes_and_texts_without_words_are_not_on_the_map(
    actor: Actor,
    tree: Tree,
    say: Say,  # noqa: F811
) -> None:
    node = add(tree, actor.participant, SEA[0], None)
    say(f'annotate {node.local_id} "A note about the captain."')
    row = drawn(actor, tree)
    assert seen(actor, row).names == [node.local_id]


def test_the_task_places_what_was_indexed(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(tree, actor.participant, *SEA)
    row = drawn(actor, tree)
    sent: list[Any] = []
    monkeypatch.setattr(jobs, "enqueue", lambda task, args, **_: sent.append((task, args)))
    from loom.meaning.tasks import index_tree

    add(tree, actor.participant, BREAD[0], None)
    index_tree(tree.uid)
    assert sent == [(placing.PLACE, [row.uid])]
    tasks.place(row.uid)
    row.refresh_from_db()
    assert row.placed == 1


def test_a_map_that_is_being_drawn_is_not_begun_again(actor: Actor, tree: Tree) -> None:
    chain(tree, actor.participant, *SEA)
    row = asking.ask(actor, tree.grove, tree)
    assert asking.ask(actor, tree.grove, tree).pk == row.pk
    Landscape.objects.filter(pk=row.pk).update(status="running")
    drawing.draw(row.uid)  # another worker draws it
    row.refresh_from_db()
    assert (row.status, row.revision) == ("running", 0)


def test_a_map_whose_worker_was_lost_is_taken_over(actor: Actor, tree: Tree) -> None:
    chain(tree, actor.participant, *SEA)
    row = asking.ask(actor, tree.grove, tree)
    long_ago = row.moved_at - timedelta(seconds=2 * asking.LOST_S)
    Landscape.objects.filter(pk=row.pk).update(status="running", moved_at=long_ago)
    assert asking.forgotten() == [row.uid]
    drawing.draw(row.uid)
    row.refresh_from_db()
    assert (row.status, row.revision) == ("done", 1)
    assert asking.forgotten() == []


def test_a_map_can_be_stopped_and_the_one_of_before_stays(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(tree, actor.participant, *SEA)
    row = drawn(actor, tree)
    before = spots(row)
    monkeypatch.setattr(drawing, "TOLD_S", 0.0)
    real = layout.lay_out

    def stopped(vectors: layout.Floats, tell: layout.Tell) -> layout.Floats:
        asking.stop(Landscape.objects.get(pk=row.pk))
        return real(vectors, tell)

    monkeypatch.setattr(layout, "lay_out", stopped)
    chain(tree, actor.participant, *BREAD)
    asking.ask(actor, tree.grove, tree)
    drawing.draw(row.uid)
    row.refresh_from_db()
    assert (row.status, row.revision) == ("stopped", 1)
    assert spots(row) == before
    monkeypatch.setattr(layout, "lay_out", real)
    assert drawn(actor, tree).revision == 2


def test_a_map_that_waits_is_stopped_at_once(actor: Actor, tree: Tree) -> None:
    row = asking.stop(asking.ask(actor, tree.grove, tree))
    assert row.status == "stopped"
    drawing.draw(row.uid)
    assert Landscape.objects.get(pk=row.pk).revision == 0


def test_a_failure_is_told(actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(layout, "lay_out", fails)
    row = asking.ask(actor, tree.grove, tree)
    drawing.draw(row.uid)
    row.refresh_from_db()
    assert (row.status, row.said) == ("failed", "ValueError")


def test_a_branch_and_a_search_are_lit(actor: Actor, tree: Tree) -> None:
    one, two = chain(tree, actor.participant, SEA[0], SEA[1])
    other = add(tree, actor.participant, BREAD[1], None)
    row = drawn(actor, tree)
    view = seen(actor, row, below=one)
    assert view.lit is not None and [
        name for name, is_lit in zip(view.names, view.lit, strict=True) if is_lit
    ] == [one.local_id, two.local_id]
    searched = seen(actor, row, find="bread")
    assert searched.lit is not None and searched.lit.tolist() == [False, False, True]
    assert other.local_id == searched.names[2]
    both = seen(actor, row, below=one, find="bread")
    assert both.lit is not None and not both.lit.any()


def test_ratings_are_ones_own(
    actor: Actor,
    tree: Tree,
    say: Say,  # noqa: F811
) -> None:
    two = chain(tree, actor.participant, *SEA[:2])[1]
    row = drawn(actor, tree)
    say(f"rate {two.local_id} plus")
    assert seen(actor, row).ratings == [(1, 1)]


def test_the_map_of_a_grove_has_all_its_trees(actor: Actor, tree: Tree) -> None:
    other = trees.new_tree(actor, title="Bread")
    chain(tree, actor.participant, *SEA)
    chain(other, actor.participant, *BREAD)
    row = drawn(actor, None)
    view = seen(actor, row)
    assert view.tree.tolist() == [0, 0, 0, 1, 1, 1]
    assert [branch.words for branch in view.branches] == ["Marie", "Bread"]
    assert view.ups.tolist() == [-1, 0, 1, -1, 3, 4]


def test_a_tree_that_is_hidden_from_somebody_is_not_on_their_map_of_the_grove(
    actor: Actor,
    tree: Tree,
    writer: User,
    owner: User,
    client: Client,
    api: Callable[[User], APIClient],
) -> None:
    other = trees.new_tree(actor, title="Bread")
    chain(tree, actor.participant, *SEA)
    chain(other, actor.participant, *BREAD)
    row = drawn(actor, None)
    theirs = access.get_actor(writer, actor.grove)
    assert len(seen(theirs, row)) == 6
    TreeRight.objects.create(tree=other, user=writer, right="hidden")
    assert [branch.words for branch in seen(theirs, row).branches] == ["Marie"]
    assert (len(seen(theirs, row)), len(seen(actor, row))) == (3, 6)
    address = f"groves/{actor.grove.uid}/landscape"
    body = api(writer).get(f"/api/{address}/points").content.decode()
    client.force_login(writer)
    page = client.get(f"/{address}").content.decode()
    assert "Bread" not in body and "Bread" not in page and other.uid not in body
    assert other.uid in api(owner).get(f"/api/{address}/points").content.decode()


def test_an_erased_tree_takes_its_places_with_it(actor: Actor, tree: Tree) -> None:
    other = trees.new_tree(actor, title="Bread")
    chain(tree, actor.participant, *SEA)
    chain(other, actor.participant, *BREAD)
    whole, own = drawn(actor, None), drawn(actor, other)
    Tree.objects.filter(pk=other.pk).update(erasing_at=other.created_at)
    assert len(seen(actor, whole)) == 3  # at once
    erasing.erase_rows(other.uid)
    assert not LandscapeBlock.objects.filter(tree=other.pk).exists()
    assert not Landscape.objects.filter(pk=own.pk).exists()
    assert len(seen(actor, whole)) == 3


def test_without_an_embedder_there_is_no_map(
    actor: Actor,
    tree: Tree,
    owner: User,
    api: Callable[..., APIClient],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedders, "embedded", lambda: None)
    answer = api(owner).post(f"/api/trees/{tree.uid}/landscape")
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
    assert api(owner).get(f"/api/trees/{tree.uid}/landscape").json()["status"] == "none"
    assert api(owner).get(f"/api/trees/{tree.uid}/landscape/points").json()["ids"] == []


def test_nobody_sees_texts_of_another_grove(two_groves: TwoGroves) -> None:
    rows = {}
    for side in (two_groves.left, two_groves.right):
        actor = side.actor(two_groves.both)
        rows[side.tree.uid] = (drawn(actor, side.tree), drawn(actor, None, side.grove))
    left, right = two_groves.left, two_groves.right
    for side in (left, right):
        for of in (f"trees/{side.tree.uid}", f"groves/{side.grove.uid}"):
            here = two_groves.client(two_groves.both).get(f"/api/{of}/landscape/points").json()
            assert here["ids"] == [side.text.local_id]
            page = two_groves.client(two_groves.both).get(f"/{of}/landscape").content.decode()
            assert "loom-landscape" in page
    for user in (two_groves.only_left, two_groves.nobody):
        client = two_groves.client(user)
        for of in (f"trees/{right.tree.uid}", f"groves/{right.grove.uid}"):
            for what in ("", "/points"):
                assert client.get(f"/api/{of}/landscape{what}").status_code == 404
            assert client.get(f"/{of}/landscape").status_code == 404
            assert client.post(f"/api/{of}/landscape").status_code == 404
            assert client.post(f"/api/{of}/landscape/stop").status_code == 404
    assert SECRET != PLAIN


def test_a_read_writes_nothing(
    actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    chain(tree, actor.participant, *SEA, *BREAD)
    drawn(actor, tree)
    client = api(owner)
    for ask in ("/api/trees/{}/landscape", "/api/trees/{}/landscape/points", "/trees/{}/landscape"):
        with CaptureQueriesContext(connection) as captured:
            assert client.get(ask.format(tree.uid)).status_code == 200
        verbs = {query["sql"].split()[0] for query in captured}
        assert verbs <= {"SELECT", "SAVEPOINT", "RELEASE"}, verbs


def test_opening_reads_no_more_rows_for_a_longer_log(
    actor: Actor,
    tree: Tree,
    say: Say,  # noqa: F811
) -> None:
    nodes = chain(tree, actor.participant, *SEA, *BREAD)
    row = drawn(actor, tree)
    view = seen(actor, row)
    with work_done() as first:
        seen(actor, row)
    for _ in range(40):
        say(f"switch {nodes[0].local_id}")
        say(f"switch {nodes[1].local_id}")
    with work_done() as later:
        again = seen(actor, row)
    assert again.names == view.names
    later.demand_no_more(first, rows=0)
