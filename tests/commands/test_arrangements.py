"""Arrangements of windows: kept by name, opened again in any tree, as far as who asks may see."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kept(owner: User, tree: Tree, api: Callable[..., APIClient]) -> Callable[..., Any]:
    """Sends a body to what the owner keeps, and returns status and answer."""
    url = f"/api/groves/{tree.grove.uid}/saved"

    def send(method: str, body: dict[str, Any] | None = None) -> Any:
        client = api(owner)
        if method == "get":
            return client.get(f"{url}?kind=windows").json()["results"]
        return getattr(client, method)(url, body, format="json")

    return send


def test_an_arrangement_is_kept_renamed_opened_in_another_tree_and_removed(
    say: Say, kept: Callable[..., Any], actor: Actor, tree: Tree
) -> None:
    node = say('respond root "A lamp stood there."').body["refs"][0]
    say('write doc:"notes" new "The lamp is brass."')
    lines = [
        f"open tree:{tree.uid} node:{node} keep",
        'open doc:"notes" keep',
        'find "brass" in:doc:"notes" open',
    ]
    body = {"kind": "windows", "name": "Lamps", "body": {"lines": lines}}
    answer = kept("post", body)
    assert answer.status_code == 201
    uid = answer.json()["id"]
    assert kept("patch", {"id": uid, "name": "Lights"}).json()["name"] == "Lights"
    (arrangement,) = kept("get")
    assert (arrangement["name"], arrangement["body"]) == ("Lights", {"lines": lines})
    other = trees.new_tree(actor, title="Elsewhere")
    for line in arrangement["body"]["lines"]:
        assert say(line, into=other).reply.startswith("✓ opened")
    assert kept("delete", {"id": uid}).status_code == 200
    assert kept("get") == []


def test_names_of_arrangements_are_ones_own_and_differ(
    kept: Callable[..., Any], writer: User, tree: Tree, api: Callable[..., APIClient]
) -> None:
    for name in ("One", "Two"):
        body = {"kind": "windows", "name": name, "body": {"lines": ["open root keep"]}}
        kept("post", body)
    one, two = kept("get")
    assert kept("patch", {"id": one["id"], "name": two["name"]}).status_code == 409
    url = f"/api/groves/{tree.grove.uid}/saved"
    assert api(writer).get(f"{url}?kind=windows").json()["results"] == []
    renamed = api(writer).patch(url, {"id": one["id"], "name": "Mine"}, format="json")
    assert renamed.status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"lines": []},
        {"lines": "open here"},
        {"lines": ["prune here"]},
        {"lines": ["hide all"]},
        {"lines": ["find clear"]},
        {"lines": ["nonsense"]},
        {"lines": [3]},
        {"lines": ["open here"] * 41},
        {"lines": ["open here"], "also": 1},
    ],
)
def test_only_lines_that_open_windows_are_kept(
    kept: Callable[..., Any], body: dict[str, Any]
) -> None:
    answer = kept("post", {"kind": "windows", "name": "One", "body": body})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_SYNTAX")
