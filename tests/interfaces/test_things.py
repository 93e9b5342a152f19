"""Groves, members, invitations, participants and trees over the API, as docs/model.md §14 has
them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser
from rest_framework.test import APIClient

from loom.people.models import Grove, Invitation, Participant, User
from loom.trees import erasing
from loom.trees.models import Tree, Workspace

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


@pytest.fixture
def mine(owner: User, api: Client) -> APIClient:
    """The owner's client."""
    return api(owner)


def sent(answer: Any, status: int = 200) -> Any:
    """The body of an answer that went well."""
    assert answer.status_code == status, answer.content
    return answer.json()


def test_an_invitation_leads_somebody_new_into_the_grove(mine: APIClient, grove: Grove) -> None:
    address = f"/api/groves/{grove.uid}/invitations"
    invitation = sent(mine.post(address, {"role": "writer", "uses": 2}, format="json"), 201)
    assert invitation["link"].startswith("http://testserver/invitations/")
    (listed,) = sent(mine.get(address))["results"]
    assert "link" not in listed and listed["uses_left"] == 2
    browser = Browser()
    form = {"username": "ada", "password": "glade-of-birches"}
    browser.post(invitation["link"].removeprefix("http://testserver"), form)
    assert sent(browser.get("/api/me"))["groves"][0]["role"] == "writer"
    assert sent(mine.get(address))["results"][0]["uses_left"] == 1
    members = sent(mine.get(f"/api/groves/{grove.uid}/members"))["results"]
    assert [member["user"] for member in members] == ["owner", "ada"]


@pytest.mark.parametrize(
    ("until", "status"),
    [
        ("2999-01-01T00:00:00Z", 429),
        ("2001-01-01T00:00:00Z", 400),
        ("2030-01-01T00:00:00", 400),
        ("soon", 400),
        (1, 400),
    ],
)
def test_an_invitation_ends_at_a_time_that_can_be(
    until: Any, status: int, mine: APIClient, grove: Grove
) -> None:
    body = {"role": "reader", "expires_at": until}
    answer = mine.post(f"/api/groves/{grove.uid}/invitations", body, format="json")
    assert answer.status_code == status
    assert not Invitation.objects.exists()


def test_the_last_owner_is_told_why_they_stay(mine: APIClient, grove: Grove) -> None:
    address = f"/api/groves/{grove.uid}/members"
    for answer in (
        mine.patch(address, {"user": "owner", "role": "reader"}, format="json"),
        mine.delete(address, {"user": "owner"}, format="json"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "REJECTED")


def test_grove_events_come_by_seq_and_hide_invitations_from_members(
    mine: APIClient, grove: Grove, reader: User, api: Client
) -> None:
    mine.patch(f"/api/groves/{grove.uid}", {"name": "Wood"}, format="json")
    mine.post(f"/api/groves/{grove.uid}/invitations", {"role": "reader"}, format="json")
    owners = sent(mine.get(f"/api/groves/{grove.uid}/events?since=0"))
    assert [event["kind"] for event in owners["events"]] == ["grove.changed", "invitation.added"]
    readers = sent(api(reader).get(f"/api/groves/{grove.uid}/events?since=1"))
    assert readers == {"events": [{"seq": 2, "kind": "hidden"}], "head": 2}
    assert sent(mine.get(f"/api/groves/{grove.uid}"))["seq"] == 2


def test_a_model_in_the_words_of_the_model(mine: APIClient, grove: Grove) -> None:
    given = {
        "name": "  Muse  ",
        "model_ref": "test:scripted",
        "base_url": "https://models.example/v1",
        "endpoint": "completion",
        "capabilities": ["prefill"],
        "persona": "  be kind \n",
        "temperature": 0.5,
        "max_tokens": 80,
        "stop": ["\n\n"],
        "context_limit": 2048,
        "provider_tools": [{"type": "web_search", "name": "web_search", "max_uses": 5}],
    }
    model = sent(mine.post("/api/participants", {**given, "api_key": "sk-1"}, format="json"), 201)
    assert {name: model[name] for name in given} == given
    assert (model["grove"], model["kind"], model["has_key"]) == (grove.uid, "model", True)
    assert (model["loom_aware"], model["permissions"]) == (False, [])
    address = f"/api/participants/{model['id']}"
    assert sent(mine.get(address)) == model
    unknown = sent(mine.patch(address, {"capabilities": ["telepathy"]}, format="json"), 400)
    assert (unknown["code"], "telepathy" in unknown["message"]) == ("INVALID_SYNTAX", True)
    assert "prefill" in unknown["hint"]
    changed = sent(mine.patch(address, {"temperature": None, "loom_aware": True}, format="json"))
    assert (changed["temperature"], changed["permissions"]) == (None, ["loom_aware"])
    assert sent(mine.patch(address, {"api_key": None}, format="json"))["has_key"] is False
    tools = [{"type": "code_execution_20250825", "name": "code_execution"}]
    for value in (tools, []):
        assert sent(mine.patch(address, {"provider_tools": value}, format="json"))[
            "provider_tools"
        ] == (value)
        assert sent(mine.get(address))["provider_tools"] == value
    gone = sent(mine.delete(address))
    assert gone["archived_at"] is not None
    everybody = sent(mine.get(f"/api/participants?grove={grove.uid}"))["results"]
    assert model["id"] not in [participant["id"] for participant in everybody]
    left = sent(mine.get(f"/api/participants?grove={grove.uid}&archived=true"))
    assert [result["id"] for result in left["results"]] == [model["id"]]
    assert sent(mine.patch(address, {"archived": False}, format="json"))["archived_at"] is None


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"kind": "human"}, 400, "INVALID_SYNTAX"),
        ({"loom_aware": True, "permissions": []}, 400, "INVALID_SYNTAX"),
        ({"permissions": ["loom_write"]}, 400, "INVALID_SYNTAX"),
        ({"base_url": "http://127.0.0.1:1/v1"}, 409, "REJECTED"),
        ({"name": "owner"}, 409, "CONFLICT"),
        ({"temperature": 3}, 429, "LIMIT_EXCEEDED"),
        ({"stop": [""]}, 400, "INVALID_SYNTAX"),
        ({"persona": None}, 400, "INVALID_SYNTAX"),
        ({"provider_tools": None}, 400, "INVALID_SYNTAX"),
        ({"provider_tools": [{"name": "web_search"}]}, 400, "INVALID_SYNTAX"),
        ({"provider_tools": [{"type": "function"}]}, 400, "INVALID_SYNTAX"),
        ({"provider_tools": [{"type": "a"}] * 17}, 413, "LIMIT_EXCEEDED"),
        ({"provider_tools": [{"type": "a", "b": "c" * 9000}]}, 413, "LIMIT_EXCEEDED"),
        ({"has_key": True}, 400, "INVALID_SYNTAX"),
    ],
)
def test_a_model_that_cannot_be_is_refused(
    given: dict[str, Any], status: int, code: str, mine: APIClient, grove: Grove
) -> None:
    body = {"name": "Muse", "model_ref": "test:x", **given}
    answer = mine.post("/api/participants", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not Participant.objects.filter(kind="model").exists()


def test_a_person_shows_what_their_role_allows(mine: APIClient, reader: User, grove: Grove) -> None:
    listed = sent(mine.get("/api/participants"))["results"]
    shown = {member["user"]: member["permissions"] for member in listed}
    assert shown["reader"] == ["loom_aware", "doc_read", "cross_tree"]
    assert "loom_write" in shown["owner"]


def test_a_new_tree_has_one_node_one_branch_and_depth_0(mine: APIClient, grove: Grove) -> None:
    tree = sent(mine.post("/api/trees", {"mode": "buffer", "title": "  x "}, format="json"), 201)
    assert (tree["grove"], tree["title"], tree["mode"]) == (grove.uid, "  x ", "buffer")
    assert (tree["node_count"], tree["branch_count"], tree["depth"]) == (1, 1, 0)
    assert tree["workspace"]["position"] == tree["root"]
    assert sent(mine.get(f"/api/trees/{tree['id']}")) == tree
    for given in ({}, {"mode": "prose"}, {"mode": "buffer", "grove": "nothing"}):
        assert mine.post("/api/trees", given, format="json").status_code in (400, 404)


def test_a_tree_without_a_title_takes_the_first_words(mine: APIClient, grove: Grove) -> None:
    tree = sent(mine.post("/api/trees", {"mode": "dialogue"}, format="json"), 201)
    text = "It was a dark and stormy night; the rain fell in torrents."
    mine.post(f"/api/trees/{tree['id']}/commands", {"line": f'respond "{text}"'}, format="json")
    assert sent(mine.get(f"/api/trees/{tree['id']}"))["title"] == text[:50]


def test_trees_are_listed_and_archived_ones_apart(
    mine: APIClient, tree: Tree, buffer: Tree, grove: Grove
) -> None:
    assert sent(mine.patch(f"/api/trees/{tree.uid}", {"archived": True}, format="json"))
    names = [result["id"] for result in sent(mine.get("/api/trees"))["results"]]
    assert names == [buffer.uid]
    apart = sent(mine.get(f"/api/trees?archived=true&grove={grove.uid}"))
    assert [result["id"] for result in apart["results"]] == [tree.uid]
    assert apart["results"][0]["archived_at"] is not None
    refused = mine.patch(f"/api/trees/{tree.uid}", {"title": "x"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "REJECTED")
    assert sent(mine.patch(f"/api/trees/{tree.uid}", {"archived": False}, format="json"))
    page = sent(mine.get("/api/trees?limit=1&offset=1"))
    assert (page["count"], len(page["results"])) == (2, 1)
    for fixed in ({"mode": "buffer"}, {"grove": grove.uid}, {"node_count": 3}):
        assert mine.patch(f"/api/trees/{tree.uid}", fixed, format="json").status_code == 400


def test_looking_at_a_list_makes_no_workspace(reader: User, tree: Tree, api: Client) -> None:
    before = Workspace.objects.count()
    (listed,) = sent(api(reader).get("/api/trees"))["results"]
    assert listed["workspace"] is None
    assert Workspace.objects.count() == before


def test_an_erased_tree_is_gone_at_once_from_every_address(
    mine: APIClient, tree: Tree, grove: Grove
) -> None:
    workspace = sent(mine.get(f"/api/workspaces?tree={tree.uid}"))["id"]
    address = f"/api/trees/{tree.uid}"
    wrong = mine.delete(address, {"title": "Marie"}, format="json")
    assert (wrong.status_code, wrong.json()["code"]) == (409, "REJECTED")
    mine.patch(address, {"archived": True}, format="json")
    assert mine.delete(address, {"title": "marie"}, format="json").status_code == 409
    assert sent(mine.delete(address, {"title": "Marie"}, format="json")) == {"ok": True}
    for rest in ("", "/nodes", "/path", "/skeleton", "/events", "/verify", "/export"):
        assert mine.get(address + rest).status_code == 404, rest
    for other in (f"workspaces?tree={tree.uid}", f"workspaces/{workspace}"):
        assert mine.get(f"/api/{other}").status_code == 404
    line = mine.post(f"{address}/commands", {"line": "tree"}, format="json")
    assert line.status_code == 404
    for archived in ("true", "false"):
        assert sent(mine.get(f"/api/trees?archived={archived}"))["count"] == 0
    erasing.erase_rows(tree.uid)
    (left,) = sent(mine.get(f"/api/groves/{grove.uid}/events"))["events"]
    assert (left["kind"], left["payload"]["title"]) == ("tree.erased", "Marie")
