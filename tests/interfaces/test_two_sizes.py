"""Whatever reads a text of somebody's takes work that grows with it and not faster: each route and
command of bench.attacks at two sizes, four times apart, counted in lines of Python.

A reader that takes the square takes sixteen times as much. What a route lacks here, the test of
rows in tests/house/test_attacks.py says.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client as Browser
from rest_framework.test import APIClient

from bench.attacks import Attack, attacks
from loom.access import get_actor
from loom.documents import actions as documents
from loom.documents.models import Document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove
from loom.site import markdown
from loom.trees.models import Tree
from tests.interfaces.world import (
    kept_world,  # noqa: F401 (a fixture)
    person,
)
from tests.steps import steps

pytestmark = pytest.mark.django_db
SMALL, TIMES = 600, 4
LINEAR = TIMES * 1.5
NOISE = 3_000  # lines of what happens now and then: caches, translations, first imports
PIECES = {"headings": "# a\n", "embeds": "![[root]]\n", "newlines": "\n", "items": "- [[root]] a\n"}
World = dict[str, str]
# What waits for others, or hashes on purpose.
LEFT_OUT = re.compile(r"/events\?wait|me/password|/signin|/signout|/offline|/probe$|models/")


@pytest.fixture(autouse=True)
def many_requests(settings: Any) -> None:
    """No limit of requests, which would answer instead."""
    settings.REQUESTS_A_MINUTE = 1_000_000


@pytest.fixture
def client() -> APIClient:
    """The owner's."""
    client = APIClient()
    client.force_authenticate(person("owner"))
    return client


def _work(run: Callable[[], object], *, count: Callable[[Callable[[], object]], int]) -> int:
    """What is counted of a request, which is taken back."""
    point = transaction.savepoint()
    # What was drawn before is kept, which would hide the work of drawing it.
    markdown._rendered.cache_clear()
    cache.clear()
    try:
        return count(run)
    finally:
        transaction.savepoint_rollback(point)


def _nothing(run: Callable[[], object]) -> int:
    """Only runs it: to count its lines takes several times as long."""
    run()
    return 0


def _grows(small: Callable[[], object], large: Callable[[], object]) -> str:
    """How the work grows, if that is too much; "" otherwise."""
    _work(small, count=_nothing)  # what happens once in a process
    few, many = _work(small, count=steps), _work(large, count=steps)
    return f"{few:,} → {many:,}" if many > LINEAR * few + NOISE else ""


def _heavy(kind: str, size: int) -> Iterator[Attack]:
    for row in attacks(size):
        if row.kind == kind and row.body and row.worst in ("newlines", "headings", "quotes"):
            yield row


@pytest.mark.parametrize("kind", ["api", "line"])
@pytest.mark.parametrize("part", range(3))
def test_what_is_sent_is_read_in_linear_work(
    kind: str, part: int, client: APIClient, world: World
) -> None:
    wrong = {}
    # A line may be a quarter of the rows' size.
    pairs = list(zip(_heavy(kind, 4 * SMALL), _heavy(kind, 4 * SMALL * TIMES), strict=True))
    assert len(pairs) > 60
    for small, large in pairs[part::3]:
        if LEFT_OUT.search(small.address):
            continue

        def send(row: Attack) -> Callable[[], object]:
            address, body = row.filled({**world, "me": "owner"})
            content = (body or b"").decode()
            return lambda: client.generic(row.method, address, content, "application/json")

        if grown := _grows(send(small), send(large)):
            wrong[small.name] = grown
    assert wrong == {}


def _stored(world: World, text: str) -> World:
    """The world with a node and a document of this text."""
    grove, tree = Grove.objects.get(uid=world["grove"]), Tree.objects.get(uid=world["tree"])
    user = person("owner")
    assert user is not None
    actor = get_actor(user, grove)
    answer = execute_line(actor, tree, Request(f"respond {world['node']}\n{text}x\n←"))
    node = str(answer.body["refs"][0])
    title = f"Of {len(text)}"
    document = documents.make_document(actor, title=title, text=text).uid
    documents.write_document(actor, Document.objects.get(uid=document), append="\nMore.")
    names = {"node": node, "marked": node, "end": node, "worst": node, "document": document}
    return {**world, **names, "secret": "x" * 16, "long": "a", "me": "owner"}


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("kind", ["api", "page"])
def test_what_is_stored_is_shown_in_linear_work(
    kind: str, piece: str, client: APIClient, world: World
) -> None:
    browser = Browser()
    user = person("owner")
    assert user is not None
    browser.force_login(user)
    sends = client if kind == "api" else browser
    small, large = (
        _stored(world, PIECES[piece] * (size // len(PIECES[piece])))
        for size in (SMALL, SMALL * TIMES)
    )
    wrong, seen = {}, 0
    for row in attacks(80):
        shows = re.search(r"\{(node|end|worst|document|marked)\}", row.address)
        if row.kind != kind or row.method != "GET" or not shows or LEFT_OUT.search(row.address):
            continue
        seen += 1
        one, other = (row.filled(names)[0] for names in (small, large))
        if grown := _grows(lambda: sends.get(one), lambda: sends.get(other)):  # noqa: B023
            wrong[row.name] = grown
    assert seen > 8
    assert wrong == {}
