"""A name of which nothing is seen is refused wherever a name is chosen."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db(transaction=True)
UNSEEN = ["\u202e", "\u200b", "\u202e\u200b", "\u2800", "   "]


@pytest.fixture
def client(api: Callable[..., APIClient], actor: Actor) -> APIClient:
    """The API as the owner."""
    return api(actor.user)


@pytest.mark.parametrize("name", UNSEEN, ids=ascii)
@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("documents", {"title": "NAME", "text": "One."}),
        ("checks", {"name": "NAME", "kind": "max_words", "parameters": {"n": 5}}),
        ("pipes", {"name": "NAME", "lines": 'find "tower"'}),
    ],
)
def test_a_name_that_nobody_could_see_is_refused(
    client: APIClient, tree: Tree, address: str, body: dict[str, Any], name: str
) -> None:
    sent = {key: name if value == "NAME" else value for key, value in body.items()}
    answer = client.post(f"/api/{address}", {"grove": tree.grove.uid, **sent}, format="json")
    assert answer.status_code == 400, answer.content
    assert "something to be seen" in answer.json()["message"]
