"""What changes for a person reaches their open sockets at once."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from loom.access import Actor
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import ApiKey, User, UserSession
from loom.trees.commands import trees
from loom.trees.models import Tree
from tests.live.conftest import ORIGIN, Opener, bearer, connect, in_db  # noqa: F401 (a fixture)

pytestmark = pytest.mark.django_db(transaction=True)


def _browser(user: User) -> tuple[Client, list[tuple[bytes, bytes]]]:
    """A browser that signed in by its form, and its headers for a socket."""
    client = Client()
    client.post("/signin", {"username": user.username, "password": f"{user.username}-password"})
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    cookie = f"{settings.SESSION_COOKIE_NAME}={key}".encode()
    return client, [(b"cookie", cookie), (b"origin", ORIGIN.encode())]


async def _ends(connect: Opener, tree: Tree, headers: Any, action: Callable[[], Any]) -> int:  # noqa: F811
    """The code with which an action closes an open socket."""
    line = await connect(tree, headers)
    await line.until("heartbeat")
    await in_db(action)()
    return await line.closed()


async def test_a_revoked_key_closes_its_sockets(
    connect: Opener,  # noqa: F811
    writer: User,
    tree: Tree,
) -> None:
    headers = await in_db(bearer)(writer)
    key = await in_db(ApiKey.objects.get)()
    assert await _ends(connect, tree, headers, lambda: people.revoke_key(writer, key.uid)) == 4401


async def test_a_session_that_is_ended_closes_its_sockets(
    connect: Opener,  # noqa: F811
    writer: User,
    tree: Tree,
) -> None:
    _, headers = await in_db(_browser)(writer)
    uid = (await in_db(UserSession.objects.get)()).uid
    assert await _ends(connect, tree, headers, lambda: people.end_session(writer, uid)) == 4401


async def test_signing_out_closes_the_browsers_sockets(
    connect: Opener,  # noqa: F811
    writer: User,
    tree: Tree,
) -> None:
    client, headers = await in_db(_browser)(writer)
    assert await _ends(connect, tree, headers, lambda: client.post("/signout")) == 4401


async def test_who_is_removed_receives_nothing_more(
    connect: Opener,  # noqa: F811
    actor: Actor,
    writer: User,
    tree: Tree,
) -> None:
    headers = await in_db(bearer)(writer)
    action = lambda: groves.remove_member(actor, "writer")  # noqa: E731
    assert await _ends(connect, tree, headers, action) == 4404


async def test_an_erased_tree_has_no_sockets(
    connect: Opener,  # noqa: F811
    actor: Actor,
    writer: User,
    tree: Tree,
) -> None:
    headers = await in_db(bearer)(writer)

    def erase() -> None:
        trees.change_tree(actor, tree, {"archived": True})
        trees.erase(actor, tree, "Marie")

    assert await _ends(connect, tree, headers, erase) == 4404
