"""A person's own settings over the API."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.people.models import User

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


def test_settings_are_read_and_what_is_not_sent_stays(api: Client, owner: User) -> None:
    client = api(owner)
    first = client.get("/api/settings").json()
    assert first["theme"] == "system" and first["languages"][0] == "en" and first["keys"] == {}
    sent = {"theme": "dark", "size": "large", "keys": {"edit": "i"}, "name": "Olga"}
    changed = client.patch("/api/settings", sent, format="json").json()
    assert changed == {**first, **sent}
    assert client.patch("/api/settings", {"language": "en"}, format="json").status_code == 200
    assert client.get("/api/settings").json() == {**changed, "language": "en"}


def test_settings_are_ones_own(api: Client, owner: User, writer: User) -> None:
    api(owner).patch("/api/settings", {"theme": "dark"}, format="json")
    assert api(writer).get("/api/settings").json()["theme"] == "system"


@pytest.mark.parametrize(
    "sent",
    [
        {"theme": "pink"},
        {"language": "tlh"},
        {"temperature": 3},
        {"size": 4},
        {"keys": {"edit": "a"}},
        {"keys": {"nothing": "a"}},
        {"unknown": 1},
        {"name": "n" * 81},
    ],
)
def test_what_there_is_not_is_refused_and_changes_nothing(
    api: Client, owner: User, sent: dict[str, Any]
) -> None:
    client = api(owner)
    before = client.get("/api/settings").json()
    answer = client.patch("/api/settings", {"theme": "dark", **sent}, format="json")
    assert answer.status_code in (400, 404, 409, 413, 422, 429)
    assert answer.json()["hint"]
    assert client.get("/api/settings").json() == before
