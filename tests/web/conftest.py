"""Browsers without scripts: Django's client, signed in as somebody."""

from collections.abc import Callable

import pytest
from django.test import Client

from loom.people.models import User

Visitor = Callable[..., Client]


@pytest.fixture
def visitor() -> Visitor:
    """A browser of a user (None: nobody)."""

    def come(user: User | None = None) -> Client:
        client = Client(headers={"host": "testserver"})
        if user is not None:
            client.force_login(user)
        return client

    return come
