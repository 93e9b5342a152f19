"""Finding by meaning: blended with words, by itself, and who finds what."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.embedding import embedders
from loom.embedding.embedders import embedded
from loom.errors import CommandError
from loom.meaning import indexing, queries
from loom.people.models import Grove, Participant, User
from loom.search import blending, nearest
from loom.search.blending import fused
from loom.search.queries import find_in_tree
from loom.trees.models import Tree
from tests.commands.conftest import say, write  # noqa: F401 (fixtures)
from tests.queries.growing import add, chain, flag, version
from tests.two_groves import SECRET, TwoGroves

Say = Callable[..., Any]
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(embedded() is None, reason="wordllama is not installed"),
]
BOAT = "The old sailor steered his ship through the storm."
BAKER = "She kneaded the dough and baked fresh bread at dawn."
COURT = "The judge sentenced the thief to two years in prison."


@pytest.fixture
def texts(actor: Actor, tree: Tree) -> dict[str, str]:
    """Three texts, indexed; their local ids."""
    ids = {text: add(tree, actor.participant, text, None).local_id for text in (BOAT, BAKER, COURT)}
    indexing.index_tree(tree.uid)
    return ids


def test_a_text_is_found_by_its_meaning(say: Say, texts: dict[str, str]) -> None:  # noqa: F811
    answer = say('find "a captain on a boat at sea" by:meaning max:1')
    assert answer.body["refs"] == [texts[BOAT]]
    assert answer.reply.startswith('0 hits for "a captain on a boat at sea" · ')
    assert "near in meaning" in answer.reply and "[" + texts[BOAT] + "]" in answer.reply


def test_words_and_meaning_are_blended(say: Say, texts: dict[str, str]) -> None:  # noqa: F811
    reply = say('find "fresh bread"').reply
    assert reply.splitlines()[1].startswith(f"● 1.00 [{texts[BAKER]}]")
    assert say('find "fresh bread" by:words').reply.startswith('1 hit for "fresh bread"\n')
    near = say('find "a captain on a boat"').reply
    assert near.startswith('0 hits for "a captain on a boat" · ') and texts[BOAT] in near
    assert say('find "a captain on a boat" by:words').reply == '0 hits for "a captain on a boat"'


def test_what_has_the_words_is_above_what_is_only_near(
    say: Say,  # noqa: F811
    texts: dict[str, str],
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = {text: tree.nodes.get(local_id=local_id).pk for text, local_id in texts.items()}
    near = {keys[BOAT]: 0.9, keys[BAKER]: 0.8}
    monkeypatch.setattr(blending, "_near", lambda *_, **__: near)
    say('write doc:"Law" new "They sentenced the thief."')
    found = say('find "sentenced the thief" in:grove').reply.splitlines()
    assert found[0] == '2 hits for "sentenced the thief" · 2 texts near in meaning'
    assert found[1].startswith(f"● 1.00 [{texts[COURT]}]")
    assert found[2].startswith('● doc:"Law"')
    assert f"[{texts[BOAT]}]" in found[3] and f"[{texts[BAKER]}]" in found[4]
    assert not found[3].startswith("● 1.00")
    answer = say('find "sentenced the thief" max:1')
    assert answer.body["refs"][0] == texts[COURT]


def test_one_word_is_looked_for_as_it_is(say: Say, texts: dict[str, str]) -> None:  # noqa: F811
    assert say('find "vessel"').reply == '0 hits for "vessel"'
    assert texts[BOAT] in say('find "vessel" by:meaning').reply


def test_an_author_is_still_named_in_quotes(say: Say, texts: dict[str, str]) -> None:  # noqa: F811
    assert say('find "bread" by:"Owner"').reply.startswith('1 hit for "bread"')
    with pytest.raises(CommandError) as refused:
        say('find "bread" by:feeling')
    assert refused.value.code == "INVALID_SYNTAX"


def test_what_is_pruned_or_not_selected_is_not_found(
    actor: Actor, tree: Tree, texts: dict[str, str]
) -> None:
    boat = tree.nodes.get(local_id=texts[BOAT])
    newer = version(actor.participant, boat, "The old sailor stayed at home in his garden.")
    indexing.index_tree(tree.uid)
    asked: dict[str, Any] = {"by": "meaning", "limit": 50}
    hits = find_in_tree(actor, tree, None, "sailor on a ship", **asked).every
    assert newer.pk in hits and boat.pk not in hits
    flag(boat, pruned=True)
    hits = find_in_tree(actor, tree, None, "sailor on a ship", **asked).every
    assert newer.pk not in hits and boat.pk not in hits and len(hits) == 2


def test_filters_and_branches_hold_for_meaning(
    actor: Actor, muse: Participant, tree: Tree, texts: dict[str, str]
) -> None:
    below = tree.nodes.get(local_id=texts[BAKER])
    loaf = add(tree, muse, "A captain ate a loaf on his boat.", below)
    indexing.index_tree(tree.uid)
    asked: dict[str, Any] = {"by": "meaning", "limit": 50}
    every = find_in_tree(actor, tree, None, "captain of a ship", below=below, **asked).every
    assert set(every) == {below.pk, loaf.pk} and every[0] == loaf.pk
    from loom.search.filters import Filters

    only = Filters(author=muse.uid)
    assert find_in_tree(actor, tree, None, "bread", only=only, **asked).every == (loaf.pk,)


def test_a_model_is_not_shown_what_is_excluded(
    actor: Actor, muse: Participant, tree: Tree, texts: dict[str, str]
) -> None:
    from loom.access import acting_as

    model = acting_as(actor, muse)
    flag(tree.nodes.get(local_id=texts[BOAT]), excluded=True)
    asked: dict[str, Any] = {"by": "meaning", "limit": 50}
    assert len(find_in_tree(actor, tree, None, "sailor", **asked).every) == 3
    assert len(find_in_tree(model, tree, None, "sailor", **asked).every) == 2


def test_similar_texts_are_listed(say: Say, actor: Actor, tree: Tree) -> None:  # noqa: F811
    boat, other, far = (
        add(tree, actor.participant, text, None)
        for text in (BOAT, "A ship in a storm, steered by a sailor.", BAKER)
    )
    indexing.index_tree(tree.uid)
    reply = say(f"list {boat.local_id} similar").reply
    lines = reply.splitlines()
    assert lines[0] == f"[{boat.local_id}] → 1 similar text:"
    assert lines[1].startswith("  ● 0.") and f"[{other.local_id}]" in lines[1]
    assert far.local_id not in reply
    say(f"link {boat.local_id} to {far.local_id} as:similar")
    assert say(f"list {boat.local_id} similar").reply.endswith("· linked")
    flag(other, pruned=True)
    assert other.local_id not in say(f"list {boat.local_id} similar").reply


def test_a_text_that_is_not_indexed_yet_has_similar_ones(
    say: Say,  # noqa: F811
    actor: Actor,
    tree: Tree,
    texts: dict[str, str],
) -> None:
    new = add(tree, actor.participant, "A sailor steered a ship through a storm.", None)
    assert texts[BOAT] in say(f"list {new.local_id} similar").reply


def test_without_an_embedder_words_are_found_and_the_rest_says_why(
    say: Say,  # noqa: F811
    texts: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queries, "embedder_of", lambda grove: None)
    assert say('find "fresh bread"').reply.startswith('1 hit for "fresh bread"')
    for line in ('find "bread" by:meaning', f"list {texts[BOAT]} similar"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "UNAVAILABLE" and "no embedder" in refused.value.message


def test_without_the_feature_a_search_is_by_words(
    actor: Actor, tree: Tree, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "_nearest", [])
    assert find_in_tree(actor, tree, None, "fresh bread").near == 0
    with pytest.raises(CommandError) as refused:
        find_in_tree(actor, tree, None, "fresh bread", by="meaning")
    assert refused.value.code == "UNAVAILABLE"


def test_nothing_of_another_grove_is_near(two_groves: TwoGroves) -> None:
    """`both` belongs to both groves: a search in one finds nothing of the other."""
    for side in (two_groves.left, two_groves.right):
        indexing.index_tree(side.tree.uid)
    there = "/api/groves/{}/search"
    ask = {"q": SECRET, "by": "meaning"}
    for user, side, count in (
        (two_groves.both, two_groves.left, 0),
        (two_groves.both, two_groves.right, 1),
        (two_groves.only_right, two_groves.right, 1),
    ):
        answer = two_groves.client(user).get(there.format(side.grove.uid), ask).json()
        assert sum(SECRET in result["text"] for result in answer["results"]) == count
    refused = two_groves.client(two_groves.only_left).get(
        there.format(two_groves.right.grove.uid), ask
    )
    assert refused.status_code == 404
    reply = two_groves.left.run(two_groves.both, f'find "{SECRET}" by:meaning in:grove')
    assert SECRET.split()[1] not in reply.split("\n", 1)[1]


def test_the_api_says_what_is_near(
    owner: User, grove: Grove, texts: dict[str, str], api: Callable[..., APIClient]
) -> None:
    at = f"/api/groves/{grove.uid}/search"
    results = api(owner).get(at, {"q": "a captain on a boat"}).json()["results"]
    assert results[0]["node"] == texts[BOAT] and results[0]["near"] is True
    assert api(owner).get(at, {"q": "fresh bread"}).json()["results"][0]["near"] is False
    assert api(owner).get(at, {"q": "a captain", "by": "words"}).json()["results"] == []
    assert api(owner).get(at, {"q": "x", "by": "taste"}).status_code == 400


def test_a_search_reads_blocks_and_not_texts(
    actor: Actor, tree: Tree, django_assert_num_queries: Any
) -> None:
    chain(tree, actor.participant, *(f"{BOAT} {number}" for number in range(60)))
    indexing.index_tree(tree.uid)
    with django_assert_num_queries(2):
        queries.nearest_to_query("a captain", tree.grove, [tree.pk], 20, True)


def test_high_in_both_orders_comes_first() -> None:
    scores = fused([1, 2, 3], [3, 2, 9])
    assert sorted(scores, key=lambda key: (-scores[key], key))[:2] in ([2, 3], [3, 2])
    assert scores[9] < scores[1] < scores[2]
    assert fused([5, 6], []) == {5: 1 / 61, 6: 1 / 62}


def test_a_long_text_is_read_in_part(tree: Tree) -> None:
    table = embedders.embedded()
    assert table is not None
    size = embedders.MOST_READ
    one, other = table.vectors(["a b " * (size // 4), "a b " * size])
    assert (one == other).all()
    assert not table.vectors([""]).any()
