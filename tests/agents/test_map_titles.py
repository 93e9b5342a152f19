"""Titles of the regions of a map by a model: priced before, asked for, kept, and shown."""

import json
from typing import Any

import numpy as np
import pytest
from django.test import Client
from rest_framework.test import APIClient

from loom.access import Actor
from loom.embedding.embedders import embedded
from loom.errors import CommandError
from loom.landscape import asking, drawing, title_requests
from loom.landscape.model_titles import RegionTitle, give_titles, read_titles
from loom.landscape.models import Landscape
from loom.landscape.queries import trees_seen, view_of
from loom.landscape.regions import MapRegion
from loom.participants.prices import NANO
from loom.people.models import Participant, User
from loom.trees.commands.trees import NewTree, make_tree
from loom.trees.erased_texts import clear_elsewhere
from loom.trees.models import Node, Tree, TreeRight
from loom.turns.models import TITLES, Generation
from tests.agents.acting import run_lane
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.queries.growing import add, flag
from tests.two_groves import TwoGroves

in_database = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(embedded() is None, reason="wordllama is not installed"),
]
SEA = ("The ship left the harbour.", "Waves hit the ship.", "A storm broke the mast.")


def test_titles_are_read_line_by_line() -> None:
    answer = "Here they are:\n1: The old sea\n2. **Bread at dawn**\n 3 - “Night”\n9: none\n1: again"
    assert read_titles(answer, 3) == {0: "The old sea", 1: "Bread at dawn", 2: "Night"}
    assert read_titles("1: " + "word " * 90, 1)[0].count(" ") < 7
    assert read_titles("", 5) == {}


def test_a_title_goes_to_the_region_that_lies_there() -> None:
    none = np.zeros(0, np.int64)
    regions = [MapRegion(0, 100, 100, none, -1), MapRegion(0, 9_000, 100, none, -1)]
    far = MapRegion(1, 100, 100, none, 0)
    give_titles([*regions, far], [RegionTitle(0, 8_500, 100, "East"), RegionTitle(0, 1, 1, "West")])
    assert [region.title for region in regions] == ["West", "East"] and not far.title
    give_titles([far], [RegionTitle(1, 60_000, 100, "Gone")])
    assert not far.title


@pytest.fixture
def row(actor: Actor, tree: Tree, opening: str) -> Landscape:
    """The map of a tree with one region."""
    for at in range(24):
        add(tree, actor.participant, f"{SEA[at % 3]} Number {at}.", None)
    landscape = asking.ask(actor, tree.grove, tree)
    drawing.draw(landscape.uid)
    landscape.refresh_from_db()
    assert landscape.status == "done", landscape.said
    return landscape


def names(actor: Actor, row: Landscape) -> list[str]:
    """What the regions are called."""
    row.refresh_from_db()
    regions = view_of(actor, row, trees_seen(actor, row), below=None, find="").regions
    return [region.name for region in regions]


class TestAsking:
    """A model is asked once, for its price, and its titles stay with the map."""

    pytestmark = in_database

    def test_titles_are_asked_for_kept_and_shown(
        self,
        actor: Actor,
        tree: Tree,
        row: Landscape,
        model: Participant,
        provider: ScriptedProvider,
    ) -> None:
        model.prices = {"input": 10, "output": 20}
        model.save()
        words = names(actor, row)
        hidden = Node.objects.filter(tree=tree, text__startswith=SEA[0]).earliest("pk")
        flag(hidden, excluded=True)
        provider.script(says(*_lines("1: Storms at sea\n2: More storms\n3: Yet more")))
        view = view_of(actor, row, trees_seen(actor, row), below=None, find="")
        offer = title_requests.offer_of(model, view)
        assert offer.price.startswith("$")
        (title,) = title_requests.ask_titles(actor, row)
        row.refresh_from_db()
        assert title_requests.is_asked(row)
        with pytest.raises(CommandError, match="being made"):
            title_requests.ask_titles(actor, row)
        run_lane(title.lane)
        title.refresh_from_db()
        assert title.status == "done", title.error
        shown = names(actor, row)
        assert shown[0] == "Storms at sea" and shown[0] not in words
        sent = str(provider.seen[-1].body)
        assert "Region 1" in sent and hidden.text not in sent
        assert not title_requests.is_asked(row) and row.titled == 1
        # The price that was said before was not exceeded.
        assert title.spent is not None and 0 < title.spent <= offer.most
        # A map that is drawn again has other regions.
        asking.ask(actor, tree.grove, tree)
        drawing.draw(row.uid)
        assert "Storms at sea" not in names(actor, row)

    def test_titles_of_a_map_that_was_drawn_meanwhile_are_dropped(
        self,
        actor: Actor,
        tree: Tree,
        row: Landscape,
        model: Participant,
        provider: ScriptedProvider,
    ) -> None:
        (title,) = title_requests.ask_titles(actor, row)
        asking.ask(actor, tree.grove, tree)
        drawing.draw(row.uid)
        provider.script(says(*_lines("1: Storms at sea")))
        run_lane(title.lane)
        assert "Storms at sea" not in names(actor, row)

    def test_the_price_is_shown_before_and_asking_takes_a_writer(
        self, actor: Actor, tree: Tree, row: Landscape, model: Participant, reader: User
    ) -> None:
        view = view_of(actor, row, trees_seen(actor, row), below=None, find="")
        offer = title_requests.offer_of(model, view)
        assert offer.regions == len(view.regions) and offer.reading > 0
        client = Client()
        client.force_login(actor.user)
        page = client.get(f"/trees/{tree.uid}/landscape").content.decode()
        assert "Titles by a model" in page and f"about {offer.reading}" in page.replace(",", "")
        api = APIClient()
        api.force_authenticate(actor.user)
        body = api.get(f"/api/trees/{tree.uid}/landscape/titles").json()
        assert body["agent"] == model.uid and body["regions"] == offer.regions
        assert body["tokens"] == offer.reading
        assert body["usd"] == (offer.most / NANO if offer.most else None)
        client.force_login(reader)
        page = client.get(f"/trees/{tree.uid}/landscape").content.decode()
        assert "Titles by a model" not in page
        assert client.post(f"/trees/{tree.uid}/landscape", {"titles": "1"}).status_code == 403
        api.force_authenticate(reader)
        assert api.post(f"/api/trees/{tree.uid}/landscape/titles").status_code == 403
        assert not Generation.objects.filter(round=TITLES).exists()

    def test_a_failure_is_reported_and_nothing_is_lost(
        self,
        actor: Actor,
        tree: Tree,
        row: Landscape,
        model: Participant,
        provider: ScriptedProvider,
    ) -> None:
        words = names(actor, row)
        (title,) = title_requests.ask_titles(actor, row)
        Node.objects.filter(tree=tree, kind="text", parent_slot__isnull=False).update(excluded=True)
        run_lane(title.lane)
        row.refresh_from_db()
        assert title_requests.last_failure(row)
        assert names(actor, row) == words


class TestGrove:
    """The map of a grove is given titles by texts that all its members may see."""

    pytestmark = in_database

    @pytest.fixture
    def map_(self, actor: Actor, reader: User, tree: Tree, opening: str) -> Landscape:
        """The map of a grove with the texts of three trees; two are hidden from some."""
        closed = make_tree(actor, NewTree(title="Closed", mode="dialogue"))
        Tree.objects.filter(pk=closed.pk).update(reader_right="hidden")
        barred = make_tree(actor, NewTree(title="Barred", mode="dialogue"))
        TreeRight.objects.create(tree=barred, user=reader, right="hidden")
        for at in range(24):
            add(tree, actor.participant, f"{SEA[at % 3]} Number {at}.", None)
            add(barred, actor.participant, f"A secret as well: {SEA[at % 3]} {at}.", None)
            add(closed, actor.participant, f"A secret about {SEA[at % 3]} {at}.", None)
        landscape = asking.ask(actor, tree.grove, None)
        drawing.draw(landscape.uid)
        landscape.refresh_from_db()
        assert landscape.status == "done", landscape.said
        return landscape

    def test_titles_are_asked_for_and_nothing_closed_is_read(
        self,
        actor: Actor,
        tree: Tree,
        map_: Landscape,
        model: Participant,
        provider: ScriptedProvider,
    ) -> None:
        provider.script(says(*_lines("1: Storms at sea\n2: More storms\n3: Yet more")))
        api = APIClient()
        api.force_authenticate(actor.user)
        at = f"/api/groves/{tree.grove.uid}/landscape/titles"
        offer = api.get(at).json()
        assert offer["agent"] == model.uid and offer["tokens"] > 0 and not offer["going"]
        answer = api.post(at)
        assert answer.status_code == 202 and answer.json()["going"]
        assert api.post(at).status_code == 409
        generation = Generation.objects.get(round=TITLES)
        assert generation.tree == tree
        run_lane(generation.lane)
        sent = str(provider.seen[-1].body)
        assert "Region 1" in sent and "secret" not in sent
        assert "Storms at sea" in names(actor, map_)
        client = Client()
        client.force_login(actor.user)
        page = client.get(f"/groves/{tree.grove.uid}/landscape").content.decode()
        assert "Storms at sea" in page and "Titles by a model" in page

    def test_an_erased_tree_takes_them_along(
        self,
        actor: Actor,
        tree: Tree,
        map_: Landscape,
        model: Participant,
        provider: ScriptedProvider,
    ) -> None:
        other = make_tree(actor, NewTree(title="Other", mode="dialogue"))
        provider.script(says(*_lines("1: Storms at sea")))
        (title,) = title_requests.ask_titles(actor, map_)
        run_lane(title.lane)
        title.refresh_from_db()
        assert title.call is not None and "Region 1" in str(title.call.request)
        clear_elsewhere(other)
        map_.refresh_from_db()
        title.call.refresh_from_db()
        assert map_.titles == [] and "Region 1" not in str(title.call.request)

    def test_a_reader_asks_for_none(
        self, map_: Landscape, reader: User, model: Participant
    ) -> None:
        client = Client()
        client.force_login(reader)
        at = f"/groves/{map_.grove.uid}/landscape"
        assert "Titles by a model" not in client.get(at).content.decode()
        assert client.post(at, {"titles": "1"}).status_code == 403


def _lines(text: str) -> list[bytes]:
    """The events of an answer."""
    events: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": text}}]}]
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events]


@pytest.mark.django_db
def test_nobody_asks_for_titles_in_another_grove(two_groves: TwoGroves) -> None:
    address = f"/api/trees/{two_groves.right.tree.uid}/landscape/titles"
    for user, status in ((two_groves.only_left, 404), (two_groves.nobody, 404)):
        api = two_groves.client(user)
        assert api.get(address).status_code == status
        assert api.post(address).status_code == status
    assert two_groves.client(two_groves.both).get(address).status_code == 200
