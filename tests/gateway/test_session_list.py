"""The list of the sessions of a person's programs, on the page and over the API."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from agents.gateway.keys import make_key
from agents.gateway.models import GatewayKey, GatewayRequest, GatewaySession
from agents.gateway.queries import other_trees
from loom.access import Actor
from loom.people.models import Participant
from loom.trees.commands.trees import new_tree
from loom.trees.models import Tree
from loom.trees.queries.lookup import root_of
from loom.turns.models import Call
from tests.rows_read import work_done

pytestmark = pytest.mark.django_db


@pytest.fixture
def sessions(actor: Actor, tree: Tree, participant: Participant) -> list[GatewaySession]:
    """Fifty sessions of a program in one tree, the first was used last and began last."""
    make_key(actor.user, participant.uid, name="program")
    key, now = GatewayKey.objects.get(), timezone.now()
    rows = [
        GatewaySession(key=key, name=f"s{number:02}", tree=tree, program=f"program {number:02}")
        for number in reversed(range(50))
    ]
    stored = GatewaySession.objects.bulk_create(rows)[::-1]
    for number, session in enumerate(stored):
        session.seen_at = now - timedelta(hours=number)
    GatewaySession.objects.bulk_update(stored, ["seen_at"])
    return stored


@pytest.fixture
def participant(actor: Actor) -> Participant:
    """A model of the grove."""
    return Participant.objects.create(
        grove=actor.grove, kind="model", name="Echo", model_ref="openai:echo-1"
    )


def _called(session: GatewaySession, count: int) -> None:
    """So many requests of a session."""
    point, model = root_of(session.tree), session.key.participant
    for _ in range(count):
        call = Call.objects.create(tree=session.tree, participant=model, purpose="gateway")
        GatewayRequest.objects.create(session=session, call=call, shape="chat", point=point)


def test_the_page_begins_with_the_last_used_and_leads_to_all(
    actor: Actor, sessions: list[GatewaySession]
) -> None:
    client = Client()
    client.force_login(actor.user)
    seen: list[str] = []
    for offset in ("", "?offset=20", "?offset=40"):
        page = client.get(f"/settings/gateway{offset}").content.decode()
        seen += re.findall(r"program \d\d", page)
        older = re.search(r'href="\?offset=(\d+)#sessions">Older', page)
        assert (older and older[1]) == {"": "20", "?offset=20": "40", "?offset=40": None}[offset]
        assert ("Newer" in page) is bool(offset)
    assert seen == [f"program {number:02}" for number in range(50)]


def test_the_api_begins_with_the_last_used_and_counts_requests(
    api: Callable[..., APIClient], actor: Actor, sessions: list[GatewaySession]
) -> None:
    _called(sessions[1], 3)
    body = api(actor.user).get("/api/sessions?limit=3").json()
    assert body["count"] == 50
    assert [(row["name"], row["requests"]) for row in body["results"]] == [
        ("s00", 0),
        ("s01", 3),
        ("s02", 0),
    ]


def test_the_workspaces_that_are_offered_are_those_of_the_last_used(
    actor: Actor, sessions: list[GatewaySession]
) -> None:
    trees = [new_tree(actor, title=f"{number}") for number in range(49)]
    for session, tree in zip(sessions[1:], trees, strict=True):
        session.tree = tree
    GatewaySession.objects.bulk_update(sessions, ["tree"])
    offered = other_trees(actor.user, sessions[0])
    assert [tree.title for tree in offered] == [f"{number}" for number in range(20)]


def test_a_page_counts_the_requests_of_its_sessions_alone(
    actor: Actor, sessions: list[GatewaySession]
) -> None:
    client = Client()
    client.force_login(actor.user)
    client.get("/settings/gateway")
    with work_done() as small:
        client.get("/settings/gateway")
    for session in sessions[25:]:
        _called(session, 20)
    with work_done() as large:
        client.get("/settings/gateway")
    large.demand_no_more(small)
