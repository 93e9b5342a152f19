"""Tokens and money over the API and on the page of a grove."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.money.days import today
from loom.people.models import Grove, Participant, User
from loom.trees.models import Tree
from loom.turns import generation_lifecycle
from loom.turns.models import Call, Generation

pytestmark = pytest.mark.django_db(transaction=True)
Api = Callable[..., APIClient]


@pytest.fixture
def muse(muse: Participant) -> Participant:
    """The model, with prices: a dollar for a thousand tokens."""
    muse.prices = {"input": 1000, "output": 1000, "cached": 100}
    muse.save()
    return muse


def answered(actor: Actor, tree: Tree, line: str, text: str, **usage: int) -> str:
    """The node of one candidate that read and wrote so much."""
    uid = execute_line(actor, tree, Request(line)).body["generations"][0]
    row = generation_lifecycle.take(uid, lease="x", seconds=60)
    assert row is not None
    call = Call(tree=tree, participant=row.participant, provider="p")
    generation_lifecycle.begin_calls([(call, [row])])
    node = generation_lifecycle.end_generation(
        uid, lease="x", text=text, chunk=1, finish="complete", usage=dict(usage)
    )
    assert node is not None
    return str(node.local_id)


@pytest.fixture
def two(actor: Actor, tree: Tree, muse: Participant) -> tuple[str, str]:
    """One node below another, of 30 and of 60 tokens; half of what the second read cached."""
    first = answered(actor, tree, "continue from root", "a", prompt_tokens=10, completion_tokens=20)
    usage = {"prompt_tokens": 40, "completion_tokens": 20, "cached_tokens": 20}
    return first, answered(actor, tree, f"continue from {first}", "b", **usage)


def test_a_tree_reports_what_it_came_to_and_a_node_its_path(
    api: Api, owner: User, tree: Tree, two: tuple[str, str], muse: Participant
) -> None:
    body = api(owner).get(f"/api/trees/{tree.uid}/usage?node={two[1]}").json()
    assert body["node"] == {
        "generations": 1,
        "tokens_in": 40,
        "tokens_out": 20,
        "tokens_cached": 20,
        "usd": pytest.approx(0.042),
    }
    assert body["path"]["usd"] == body["tree"]["usd"] == pytest.approx(0.072)
    assert body["participants"][0]["participant"] == muse.uid
    assert body["people"][0]["name"] == "Owner"
    first = api(owner).get(f"/api/trees/{tree.uid}/usage?node={two[0]}").json()
    assert first["path"]["usd"] == pytest.approx(0.03)


def test_a_grove_reports_who_spent_what_on_what(
    api: Api, owner: User, grove: Grove, tree: Tree, two: tuple[str, str]
) -> None:
    body = api(owner).get(f"/api/groves/{grove.uid}/usage?day={today()}").json()
    assert body["limit_usd"] == 1
    assert body["shares"][0]["person_name"] == "Owner"
    assert body["shares"][0]["participant_name"] == "Muse"
    assert body["trees"][0]["tree"] == tree.uid
    person = body["people"][0]
    assert person["usd"] == pytest.approx(0.072)
    assert person["today"]["left_usd"] == pytest.approx(1 - 0.072)
    none = api(owner).get(f"/api/groves/{grove.uid}/usage?day=2020-01-01").json()
    assert none["total"]["usd"] is None
    assert api(owner).get(f"/api/groves/{grove.uid}/usage?day=soon").status_code == 400


def test_what_asking_would_cost_is_known_before(
    api: Api, owner: User, actor: Actor, tree: Tree, muse: Participant
) -> None:
    execute_line(actor, tree, Request(f'respond "{"Marie waits. " * 40}"'))
    Participant.objects.create(
        grove=actor.grove, kind="model", name="Four", model_ref="openai:gpt-4o-mini"
    )
    body = api(owner).get(f"/api/trees/{tree.uid}/estimate").json()
    own, four = body["participants"]
    assert (own["tokens"], own["how"], own["length"]) == (130, "estimated", 60)
    assert own["prices"] == {"input": 1000, "output": 1000, "cached": 100}
    assert four["how"] == "counted"
    assert 80 < four["tokens"] < 180
    assert four["prices"] == {"input": 0.15, "output": 0.6, "cached": 0.075}
    assert four["caches_from"] == 1024
    assert body["money"]["left_usd"] == 1


def test_the_page_shows_it_to_every_member(
    owner: User, reader: User, grove: Grove, two: tuple[str, str]
) -> None:
    client = Client()
    client.force_login(owner)
    page = client.get(f"/groves/{grove.uid}/money?span=week").content.decode()
    assert "$0.072" in page
    assert "Muse" in page
    assert "Each member can spend $1.00 per day" in page
    assert 'value="1" placeholder' in client.get(f"/groves/{grove.uid}/settings").content.decode()
    client.force_login(reader)
    assert client.get(f"/groves/{grove.uid}/money").status_code == 200
    # What is behind the bars is folded: the numbers, and what a million tokens cost.
    assert page.count("<details") == 2 and page.index("</details>") < page.index("Left today")
    assert "per million tokens" in page


def test_erasing_a_tree_leaves_what_was_spent_in_the_purse(
    api: Api, owner: User, grove: Grove, tree: Tree, two: tuple[str, str]
) -> None:
    Generation.objects.filter(tree=tree).delete()
    body: dict[str, Any] = api(owner).get(f"/api/groves/{grove.uid}/usage").json()
    assert body["total"]["usd"] is None
    assert body["people"][0]["usd"] == pytest.approx(0.072)


def test_an_owners_prices_and_places_are_kept_and_bad_ones_refused(
    api: Api, owner: User, muse: Participant
) -> None:
    client = api(owner)
    address = f"/api/participants/{muse.uid}"
    body = {"prices": {"input": 1, "output": 2.5}, "parallel": 3}
    answer = client.patch(address, body, format="json")
    assert (answer.json()["prices"], answer.json()["parallel"]) == (body["prices"], 3)
    for bad in ({"input": 1}, {"input": -1, "output": 1}, {"in": 1}):
        assert client.patch(address, {"prices": bad}, format="json").status_code == 400
    assert client.patch(address, {"parallel": 0}, format="json").status_code == 400


def test_the_same_key_at_the_same_address_is_one_lane(api: Api, owner: User, grove: Grove) -> None:
    def lane(name: str, key: str, host: str) -> str:
        body = {"name": name, "model_ref": "openai:x", "base_url": host, "api_key": key}
        model = api(owner).post("/api/participants", body, format="json").json()
        return Participant.objects.get(uid=model["id"]).lane

    own_lane = lane("A", "sk-1", "https://models.example.com/v1")
    assert own_lane == lane("B", "sk-1", "https://models.example.com/v1/")
    assert own_lane != lane("C", "sk-2", "https://models.example.com/v1")
    assert own_lane != lane("D", "sk-1", "https://other.example.com/v1")
    assert "sk-1" not in own_lane


def test_the_price_and_the_context_count_the_same_tokens(
    api: Api, owner: User, actor: Actor, tree: Tree, muse: Participant
) -> None:
    for text in ("One.", "Two and more.", "Three."):
        execute_line(actor, tree, Request(f'respond "{text}"'))
    client = api(owner)
    own = client.get(f"/api/trees/{tree.uid}/estimate").json()["participants"][0]
    workspace = client.get(f"/api/trees/{tree.uid}").json()["workspace"]["id"]
    place = f"/api/workspaces/{workspace}/context?participant={muse.uid}&how=continue"
    assert client.get(place).json()["tokens"] == own["tokens"]
