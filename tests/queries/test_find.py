"""Search: one meaning on both databases."""

import random

import pytest

from loom.access import Actor
from loom.errors import CommandError
from loom.people.models import Grove
from loom.search.index import fold
from loom.search.queries import find_in_grove, find_in_tree
from loom.trees.commands import node_writer
from loom.trees.models import Tree, VersionChoice
from tests.queries.growing import add, chain, flag, version


def _texts(actor: Actor, tree: Tree, query: str) -> list[str]:
    result = find_in_tree(actor, tree, None, query, limit=50)
    return sorted(hit.node.text for hit in result.hits if hit.node)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The harbour at night", "arb"),
        ("The harbour at night", "HARBOUR"),
        ("Die Straße nach ÄTHER", "äther"),
        ("Die Straße nach Äther", "STRAßE"),
        ("Ночь, улица, фонарь", "УЛИЦА"),
        ("ἐν ἀρχῇ ἦν ὁ ΛΌΓΟΣ", "λόγοσ"),
        ("海辺のカフカ", "のカフ"),
        ("海辺のカフカ", "海辺"),
        ("海", "海"),
        ("a → b", "→"),
        ("100% of_it", "0% of_i"),
        ('she said "no" twice', '"no" t'),
        ("C:\\temp\\x", "\\temp\\"),
        ("it's NEAR(x) AND y*", "near(x) and y*"),
        ("👩‍🚀 left", "👩‍🚀"),
        ("line one\nline two", "one\nline"),
        ("Ünder", "ü"),
        ("x K y kelvin", "K Y"),
    ],
)
def test_text_is_found_anywhere_in_a_word_and_in_every_script(
    actor: Actor, tree: Tree, text: str, query: str
) -> None:
    chain(tree, actor.participant, "something else entirely", text)
    assert _texts(actor, tree, query) == [text]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("1000 of it", "100%"),
        ("of it", "of_it"),
        ("ab", "a%b"),
        ("a b c", "abc"),
        ("x", "xx"),
        # A letter that SQLite's tables do not know matches in its own case on both.
        ("ᲐᲑᲒ", "აბგ"),
        ("a*", "a\\*"),
    ],
)
def test_a_query_is_taken_literally(actor: Actor, tree: Tree, text: str, query: str) -> None:
    chain(tree, actor.participant, text)
    assert _texts(actor, tree, query) == []


def test_the_best_hit_has_one_and_the_others_less(actor: Actor, tree: Tree) -> None:
    (often,) = chain(tree, actor.participant, "river river river")
    once = add(tree, actor.participant, "one river among many other words of a text", None)
    part = add(tree, actor.participant, "riverside", None)
    result = find_in_tree(actor, tree, None, "river")
    assert [hit.node.id for hit in result.hits if hit.node] == [often.pk, once.pk, part.pk]
    scores = [hit.score for hit in result.hits]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == 3
    assert [hit.times for hit in result.hits] == [3, 1, 1]
    assert [hit.at for hit in result.hits] == [0, 4, 0]


def test_only_so_many_are_given_but_all_are_counted(actor: Actor, tree: Tree) -> None:
    for number in range(7):
        add(tree, actor.participant, f"the river, {number}", None)
    result = find_in_tree(actor, tree, None, "river", limit=3)
    assert (len(result.hits), result.total) == (3, 7)


def test_what_is_hidden_is_not_found(actor: Actor, tree: Tree) -> None:
    a, _ = chain(tree, actor.participant, "upper river", "lower river")
    add(tree, actor.participant, "beside the river", None)
    flag(a, pruned=True)
    assert _texts(actor, tree, "river") == ["beside the river"]


def test_only_the_selected_version_is_found(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "the old river")
    version(actor.participant, a, "the new river")
    assert _texts(actor, tree, "river") == ["the new river"]
    workspace = node_writer.workspace_of(actor.participant, tree)
    VersionChoice.objects.create(workspace=workspace, slot=a, node=a)
    result = find_in_tree(actor, tree, workspace, "river")
    assert [hit.node.text for hit in result.hits if hit.node] == ["the old river"]


def test_annotations_are_found_thoughts_are_not(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a text")
    add(tree, actor.participant, "a note on rivers", a, kind="annotation", form="note")
    add(tree, actor.participant, "a thought on rivers", a, kind="thought")
    assert _texts(actor, tree, "rivers") == ["a note on rivers"]


def test_a_node_bounds_the_search_to_what_hangs_below(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "river a", "river b")
    c = add(tree, actor.participant, "river c", None)
    below = find_in_tree(actor, tree, None, "river", below=a)
    assert {hit.node.id for hit in below.hits if hit.node} == {a.pk, b.pk}
    assert find_in_tree(actor, tree, None, "ri", below=c).total == 1


def test_the_grove_is_its_trees_and_their_titles(
    actor: Actor, tree: Tree, buffer: Tree, outsider: object
) -> None:
    (a,) = chain(tree, actor.participant, "the house by the sea")
    chain(buffer, actor.participant, "nothing of it")
    other = Tree.objects.create(
        grove=Grove.objects.get(name="Elsewhere"),
        title="A house elsewhere",
        mode="dialogue",
        maker=actor.participant,
    )
    in_grove = find_in_grove(actor, "house", limit=10)
    assert {(hit.tree.pk, hit.node.id if hit.node else None) for hit in in_grove.hits} == {
        (tree.pk, a.pk),
        (buffer.pk, None),
    }
    assert other.pk not in {hit.tree.pk for hit in in_grove.hits}
    assert find_in_tree(actor, buffer, None, "house").total == 0


def test_another_tree_does_not_take_the_places_of_this_one(
    actor: Actor, tree: Tree, buffer: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.search.collecting.ENOUGH", 3)
    (a,) = chain(tree, actor.participant, "river")
    chain(buffer, actor.participant, *(f"river {number}" for number in range(5)))
    assert find_in_tree(actor, tree, None, "river").total == 1
    others = find_in_tree(actor, buffer, None, "river")
    assert others.total >= 3
    assert not others.is_all
    assert a.tree_id == tree.pk


@pytest.mark.parametrize(("query", "code"), [("", "INVALID_SYNTAX"), ("x" * 501, "LIMIT_EXCEEDED")])
def test_a_query_of_nothing_or_too_much_is_refused(
    actor: Actor, tree: Tree, query: str, code: str
) -> None:
    with pytest.raises(CommandError) as refused:
        find_in_tree(actor, tree, None, query)
    assert refused.value.code == code


PIECES = (
    "river Äther ÄTHER ß STRASSE straße Σ ς σ λόγος ΛΌΓΟΣ Ночь ночь 海辺 のカフカ → “x” % _ \\ '' "
    '"" * ( ) NEAR AND 1 22 333 İ ı K ſ Ა 👩‍🚀 é e\u0301 \n \t a b'
).split(" ")


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_what_a_plain_look_through_all_texts_finds(
    actor: Actor, tree: Tree, seed: int
) -> None:
    dice = random.Random(seed)
    texts = ["".join(dice.choices([*PIECES, " "], k=dice.randint(1, 9))) for _ in range(30)]
    texts = [text or "?" for text in texts]
    for text in texts:
        add(tree, actor.participant, text, None)
    for _ in range(60):
        text = dice.choice(texts)
        start = dice.randrange(len(text))
        query = text[start : start + dice.randint(1, 6)]
        query = dice.choice([query, query.upper(), query.lower()])
        if not query.strip():
            continue
        expected = sorted(text for text in texts if fold(query) in fold(text))
        assert _texts(actor, tree, query) == expected, (query, seed)


def test_texts_with_the_parts_of_a_query_do_not_take_the_places_of_those_with_all_of_it(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.search.collecting.ENOUGH", 3)
    chain(tree, actor.participant, "over The River", *["the rive he river"] * 5)
    result = find_in_tree(actor, tree, None, "the river")
    assert [hit.node.text for hit in result.hits if hit.node] == ["over The River"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("two \u212aelvin more", "KELVIN"),  # the sign for kelvin is a K of its own
        ("two kelvin more", "\u212aelvin"),
        ("50% of a_b\\c", "0% of A_B\\C"),
        ("ÄÖÜ und ß", "äöü UND"),
        ("a" * 300 + "b" + "c" * 300, "a" * 40 + "B" + "c" * 250),
    ],
)
def test_case_and_signs_of_patterns_are_no_matter_in_long_queries(
    actor: Actor, tree: Tree, text: str, query: str
) -> None:
    chain(tree, actor.participant, text, "another")
    assert find_in_tree(actor, tree, None, query).total == 1
