"""Every address and every line, for every person: allowed and refused as the tables say."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from loom.access import get_actor
from loom.engine import registry
from loom.engine.registry import Command
from loom.people.models import User
from loom.permissions import OF_ROLE, ROLES
from loom.trees.models import Tree
from tests.interfaces.matrix import EVERYBODY, LIKE, LINES, OF_OWNERS, ROWS, TYPES_OF_OWNERS
from tests.interfaces.world import (
    counted,
    kept_world,  # noqa: F401 (a fixture)
    open_windows,
    person,
)

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
World = dict[str, str]
OUTSIDE_A_TURN = (
    "budget extend steps:5",
    "back",
    'use "weather.forecast" {"city": "Bern"}',
)
CODES = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}


def _routes(patterns: list[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """(method, address with {} for its names) of everything under api/."""
    for pattern in patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern) and address.startswith("api/"):
            route = "/".join(
                "{}" if part.startswith("<") else part for part in address[4:].split("/")
            )
            yield from ((method, route) for method in _methods(pattern.callback))


def _methods(view: Any) -> list[str]:
    cls = getattr(view, "cls", None)
    names = ("get", "post", "put", "patch", "delete")
    return [name.upper() for name in names if hasattr(cls, name)] if cls else ["GET"]


def test_every_method_of_every_address_has_a_row_and_every_row_an_address() -> None:
    routes = set(_routes(get_resolver().url_patterns))
    assert routes == {(row.method, row.route) for row in ROWS}


@pytest.mark.parametrize("name", EVERYBODY)
def test_each_person_gets_what_the_rows_say(name: str, world: World, api: Client) -> None:
    wrong = []
    client = api(person(name))
    signed_in = {key: cookie.value for key, cookie in client.cookies.items()}
    before = counted()  # each row is taken back
    for row in ROWS:
        status = row.status(name)
        point = transaction.savepoint()
        address, body = row.filled({**world, "me": name})
        client.cookies.load(signed_in)  # the row before may have signed out, which is taken back
        answer = getattr(client, row.method.lower())(address, body, format="json")
        if answer.status_code != status:
            wrong.append((row.method, row.address, answer.status_code, answer.content[:200]))
        elif status >= 400:
            _demand_error_body(answer, status)
            assert counted() == before, row
        transaction.savepoint_rollback(point)
    assert wrong == []


def _demand_error_body(answer: Any, status: int) -> None:
    body = answer.json()
    assert body["ok"] is False and body["message"] and isinstance(body["hint"], str)
    assert body["code"] == CODES.get(status, body["code"])
    assert isinstance(body["retryable"], bool)


def test_every_verb_of_the_registry_has_its_lines() -> None:
    assert set(LINES) == set(registry.verbs())
    assert all(len(LINES[verb]) <= len(registry.forms()[verb]) for verb in LINES)


def _lines(world: World) -> Iterator[tuple[Command, str]]:
    for verb, lines in LINES.items():
        for form, line in enumerate(lines):
            filled = line
            for name, value in world.items():
                filled = filled.replace("{" + name + "}", value)
            yield registry.find(verb, form), filled


@pytest.mark.parametrize("name", EVERYBODY)
def test_each_person_may_run_what_their_role_allows(name: str, world: World, api: Client) -> None:
    client = api(person(name))
    role = LIKE.get(name, name)
    if role in ("writer", "reader"):
        tree = Tree.objects.get(uid=world["tree"])
        user = User.objects.get(username=name)
        open_windows(get_actor(user, tree.grove), tree, world["marked"])
    before = counted()  # each line is taken back
    for command, line in _lines(world):
        point = transaction.savepoint()
        answer = client.post(f"/api/trees/{world['tree']}/commands", {"line": line}, format="json")
        body = answer.json()
        is_of_owners = command.verb in OF_OWNERS or line.startswith(TYPES_OF_OWNERS)
        is_refused = is_of_owners and role != "owner"
        if role in ROLES and command.permissions <= OF_ROLE[role] and not is_refused:
            lacking = {"search": "UNAVAILABLE", "commit": "INSUFFICIENT_QUANTITY"}.get(command.verb)
            assert body["ok"] or body["code"] in ("REJECTED", lacking), body
        else:
            expected = {"outsider": 404, "nobody": 401}.get(role, 403)
            assert (answer.status_code, body["code"]) == (expected, CODES[expected]), line
            assert counted() == before, line
        assert body["reply"].startswith("✓" if body["ok"] else "✗") or command.klass == "look"
        transaction.savepoint_rollback(point)


def test_nothing_is_written_in_an_archived_tree(world: World, api: Client) -> None:
    owner = api(person("owner"))
    owner.patch(f"/api/trees/{world['tree']}", {"archived": True}, format="json")
    before = counted()
    for command, line in _lines(world):
        point = transaction.savepoint()
        answer = owner.post(f"/api/trees/{world['tree']}/commands", {"line": line}, format="json")
        assert counted() == before, line
        transaction.savepoint_rollback(point)
        outcome = (answer.status_code, answer.json().get("code"))
        refused = command.world or command.verb == "sandbox" or line in OUTSIDE_A_TURN
        allowed = (503, "UNAVAILABLE") if command.verb == "search" else (200, None)
        assert outcome == ((409, "REJECTED") if refused else allowed), line


def test_an_agents_workspace_takes_lines_for_its_view_only(world: World, api: Client) -> None:
    address = f"/api/workspaces/{world['agents']}/commands"
    client = api(person("writer"))
    moved = client.post(address, {"line": f"switch to {world['node']}"}, format="json")
    assert moved.json()["position"] == world["node"]
    steps = client.get(f"/api/steps?workspace={world['agents']}").json()["results"]
    assert steps[-1]["actor"] == world["participant"]
    assert steps[-1]["on_behalf_of"] not in (None, world["participant"])
    for line in ('respond root "no"', f"prune {world['node']}", "continue", "undo"):
        refused = client.post(address, {"line": line}, format="json")
        assert refused.json()["code"] == "PERMISSION_DENIED", line
    assert Tree.objects.get(uid=world["tree"]).nodes.filter(text="no").count() == 0
