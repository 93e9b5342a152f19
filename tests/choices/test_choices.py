"""What was shown and taken: logged for the person alone, ordered, exported with consent."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.choices import commands, ordering, queries
from loom.choices.export import exported
from loom.choices.models import ChoiceSettings, Exposure
from loom.choices.queries import choices_of, is_unranked, learned_from
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.meaning.skimming import grid_of
from loom.people.models import Grove, User
from loom.trees.models import Node, Tree
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Say = Callable[[str], str]


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    """Runs a line; returns the first node that it made."""

    def run_line(line: str) -> str:
        return str(execute_line(actor, tree, Request(line)).body["refs"][0])

    return run_line


@pytest.fixture
def point(say: Say) -> str:
    return say('respond root "What happened?"')


@pytest.fixture
def cards(say: Say, point: str) -> list[str]:
    """Four candidates below the point."""
    return [say(f'respond {point} "Answer {number}, and more words."') for number in range(4)]


def _node(tree: Tree, local_id: str) -> Node:
    return Node.objects.get(tree=tree, local_id=local_id)


def _log(actor: Actor, tree: Tree, point: str, shown: list[str], order: str = "siblings") -> None:
    commands.log_shown(actor, tree, point, shown, where="tree", order=order)


def test_what_was_shown_is_logged_in_its_order(
    actor: Actor, tree: Tree, point: str, cards: list[str], api: Callable[..., APIClient]
) -> None:
    client = api(actor.user)
    body = {"point": point, "shown": [*cards[::-1], "zzzz"], "where": "grid", "order": "nearness"}
    at = f"/api/trees/{tree.uid}/exposures"
    assert client.post(at, body, format="json").json() == {"logged": True}
    client.post(at, body, format="json")  # drawn again, with nothing new
    row = Exposure.objects.get()
    assert row.shown == [_node(tree, card).pk for card in cards[::-1]]
    client.post(at, {"point": point, "opened": cards[1]}, format="json")
    client.post(at, {"point": point, "opened": cards[1]}, format="json")
    row.refresh_from_db()
    assert row.opened == [_node(tree, cards[1]).pk]


def test_nothing_is_logged_once_it_is_switched_off(
    actor: Actor, tree: Tree, point: str, cards: list[str]
) -> None:
    commands.change_settings(actor, logs=False)
    _log(actor, tree, point, cards)
    assert not Exposure.objects.exists()
    commands.change_settings(actor, logs=True)
    _log(actor, tree, point, cards)
    assert commands.forget(actor) == 1 and not Exposure.objects.exists()


def _aged(days: int) -> None:
    Exposure.objects.update(at=timezone.now() - timedelta(days=days))


def test_what_was_shown_is_deleted_after_the_days_that_the_person_chose(
    actor: Actor, writer: User, grove: Grove, tree: Tree, point: str, cards: list[str]
) -> None:
    other = get_actor(writer, grove)
    commands.change_settings(other, keep_days=30)
    for person in (actor, other):
        _log(person, tree, point, cards)
    for days, kept in ((29, 2), (31, 1), (366, 0)):
        _aged(days)
        cache.clear()
        commands.delete_old()
        assert Exposure.objects.count() == kept, days
    assert commands.delete_old() == 0  # it has looked already within this hour


def test_keeping_for_fewer_days_deletes_at_once(
    owner: User, grove: Grove, actor: Actor, tree: Tree, point: str, cards: list[str]
) -> None:
    _log(actor, tree, point, cards)
    _aged(100)
    client = Client()
    client.force_login(owner)
    at = f"/groves/{grove.uid}/choices"
    page = client.get(at).content.decode()
    assert "1 list of candidates is logged" in page and "The oldest is of" in page
    client.post(at, {"logs": "1", "keep_days": "90"})
    assert not Exposure.objects.exists()
    client.post(at, {"logs": "1", "keep_days": "7"})  # none of those that are offered
    assert ChoiceSettings.objects.get().keep_days == 90
    body = client.get(f"/api/groves/{grove.uid}/choices").json()
    assert (body["keep_days"], body["logged"], body["oldest"]) == (90, 0, None)


def test_only_the_newest_are_kept(
    actor: Actor, tree: Tree, point: str, cards: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "MOST_KEPT", 3)
    monkeypatch.setattr(commands, "TRIMMED_AFTER", 1)
    for number in range(6):
        _log(actor, tree, point, cards if number % 2 else cards[::-1])
    assert Exposure.objects.count() == 3
    assert Exposure.objects.latest("id").shown == [_node(tree, card).pk for card in cards]


def test_a_choice_is_the_first_text_that_one_went_on_from(
    actor: Actor, tree: Tree, say: Say, point: str, cards: list[str]
) -> None:
    say(f'respond {cards[3]} "before anything was shown"')
    _log(actor, tree, point, cards)
    assert choices_of(actor) == []
    say(f'respond {cards[2]} "on"')
    say(f'respond {cards[0]} "later"')
    (choice,) = choices_of(actor)
    assert choice.taken == _node(tree, cards[2]).pk
    _log(actor, tree, point, cards[::-1])
    say(f'respond {cards[1]} "another day"')
    assert [choice.taken for choice in choices_of(actor)] == [
        _node(tree, cards[2]).pk,
        _node(tree, cards[1]).pk,
    ]


def test_nobody_reads_the_choices_of_another(
    actor: Actor, writer: User, grove: Grove, tree: Tree, say: Say, point: str, cards: list[str]
) -> None:
    _log(actor, tree, point, cards)
    say(f'respond {cards[2]} "on"')
    other = get_actor(writer, grove)
    assert choices_of(other) == [] and learned_from(other).n == 0
    assert exported(other, "preference").rows == []


def _choices_of_short_ones(actor: Actor, tree: Tree, say: Say, count: int) -> None:
    """Somebody who always goes on from the shortest text, wherever it is."""
    for number in range(count):
        at = say(f'respond root "Scene {number}."')
        texts = ["word " * (5 + 12 * ((number + place) % 4)) for place in range(4)]
        shown = [say(f'respond {at} "{text}{number}."') for text in texts]
        _log(actor, tree, at, shown)
        say(f'respond {shown[texts.index(min(texts, key=len))]} "on"')


def test_candidates_are_ordered_as_one_chooses_and_it_says_why(
    actor: Actor, tree: Tree, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that length alone tells these texts apart.
    monkeypatch.setattr(queries, "vectors_of", lambda *_: None)
    _choices_of_short_ones(actor, tree, say, 24)
    at = say('respond root "And then?"')
    while is_unranked(actor.participant, _node(tree, at)):
        at = say('respond root "And then?"')
    for size, word in ((40, "ship"), (8, "bread"), (20, "quarrel")):
        say(f'respond {at} "{" ".join(f"{word}{number}" for number in range(size))}."')
    point = _node(tree, at)
    plain = grid_of(actor, point, None, order="taste")
    assert plain.order != "taste"  # it is off until it is switched on
    commands.change_settings(actor, orders=True)
    cache.clear()
    grid = grid_of(actor, point, None, order="taste")
    sizes = [len(cell.candidate.text.split()) for cell in grid.cells]
    assert grid.order == "taste" and sizes == sorted(sizes), grid.why
    assert "shorter" in grid.why and "n = " in grid.why
    assert len(grid.cells) == len(plain.cells)  # nothing is hidden


def test_one_place_in_five_stays_as_it_is(
    actor: Actor, tree: Tree, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    _choices_of_short_ones(actor, tree, say, 21)
    commands.change_settings(actor, orders=True)
    points = Node.objects.filter(tree=tree, kind="text")
    share = sum(is_unranked(actor.participant, shown) for shown in points) / points.count()
    assert 0.1 < share < 0.3
    monkeypatch.setattr(ordering, "is_unranked", lambda *_: True)
    point = _node(tree, say('respond root "And then?"'))
    for text in ("one thing", "another"):
        say(f'respond {point.local_id} "{text}"')
    grid = grid_of(actor, point, None, order="taste")
    assert grid.order == "nearness" and "fair" in grid.why


def test_the_page_says_what_is_known_and_takes_decisions(
    owner: User, grove: Grove, tree: Tree, actor: Actor, say: Say
) -> None:
    client = Client()
    client.force_login(owner)
    at = f"/groves/{grove.uid}/choices"
    assert "too few choices" in client.get(at).content.decode()
    _choices_of_short_ones(actor, tree, say, 40)
    page = client.get(at).content.decode()
    assert "40 choices so far" in page and "The first shown" in page and "shorter" in page
    client.post(at, {"orders": "1"})
    row = ChoiceSettings.objects.get()
    assert (row.logs, row.orders, row.consents) == (False, True, False)
    client.post(at, {"forget": "1"})
    assert not Exposure.objects.exists()


@pytest.mark.usefixtures("broker_away")
def test_choices_are_read_while_the_broker_is_away(
    actor: Actor, tree: Tree, point: str, cards: list[str], client: Client
) -> None:
    _log(actor, tree, point, cards)
    client.force_login(actor.user)
    assert client.get(f"/groves/{tree.grove.uid}/choices").status_code == 200
    assert client.get(f"/api/groves/{tree.grove.uid}/choices").status_code == 200
    assert learned_from(actor).n == 0


def test_the_export_has_the_usual_columns_and_its_source(
    actor: Actor, tree: Tree, say: Say, point: str, cards: list[str], api: Callable[..., APIClient]
) -> None:
    _log(actor, tree, point, cards)
    say(f'respond {cards[2]} "on"')
    for line in (f"rate {cards[0]} minus", f"prune {cards[3]}"):
        execute_line(actor, tree, Request(line))
    client = api(actor.user)
    at = f"/api/groves/{actor.grove.uid}/choices/export"

    def rows(form: str) -> list[dict[str, object]]:
        answer = client.get(at, {"format": form})
        return [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]  # type: ignore[attr-defined]

    pairs = rows("preference")
    assert len(pairs) == 2  # the pruned one is sent nowhere
    assert pairs[0].keys() == {"prompt", "chosen", "rejected", "provenance"}
    assert pairs[0]["prompt"] == "What happened?"
    assert pairs[0]["chosen"] == "Answer 2, and more words."
    source = pairs[0]["provenance"]
    assert isinstance(source, dict) and source["nodes"][0]["id"] == cards[2]
    labels = {str(row["completion"])[:8]: row["label"] for row in rows("unpaired")}
    assert labels == {"Answer 2": True, "Answer 0": False}
    steps = rows("stepwise")
    assert [row["labels"] for row in steps] == [[True], [False], [False]]
    assert client.get(at, {"format": "x"}).status_code == 400


def test_words_of_others_need_their_consent(
    actor: Actor, writer: User, grove: Grove, tree: Tree, say: Say, point: str
) -> None:
    other = get_actor(writer, grove)
    theirs = str(execute_line(other, tree, Request(f'respond {point} "Hers."')).body["refs"][0])
    own = say(f'respond {point} "Mine."')
    _log(actor, tree, point, [theirs, own])
    say(f'respond {own} "on"')
    export = exported(actor, "preference")
    assert (export.rows, export.left_out) == ([], 1)
    commands.change_settings(other, consents=True)
    (row,) = exported(actor, "preference").rows
    assert (row["chosen"], row["rejected"]) == ("Mine.", "Hers.")


def test_choices_stay_in_their_grove(two_groves: TwoGroves) -> None:
    there = two_groves.right
    at = there.text.local_id
    for text in ("one", "two"):
        there.run(two_groves.both, f'respond {at} "{text}"')
    shown = list(
        Node.objects.filter(parent_slot=there.text.slot).values_list("local_id", flat=True)
    )
    _log(there.actor(two_groves.both), there.tree, at, shown)
    there.run(two_groves.both, f'respond {shown[0]} "on"')
    assert len(choices_of(there.actor(two_groves.both))) == 1
    assert choices_of(two_groves.left.actor(two_groves.both)) == []
    for user, status in ((two_groves.only_left, 404), (two_groves.nobody, 404)):
        client = two_groves.client(user)
        body = {"point": at, "shown": shown}
        assert (
            client.post(f"/api/trees/{there.tree.uid}/exposures", body, format="json").status_code
            == status
        )
        for address in ("choices", "choices/export"):
            assert client.get(f"/api/groves/{there.grove.uid}/{address}").status_code == status
    assert Exposure.objects.count() == 1


def test_a_hundred_times_more_choices_take_no_more_queries(
    actor: Actor, tree: Tree, say: Say, django_assert_num_queries: Callable[..., object]
) -> None:
    for count in (2, 8):
        _choices_of_short_ones(actor, tree, say, count)
        with django_assert_num_queries(4):  # type: ignore[attr-defined]
            choices_of(actor)
