"""Requests end with their time limit and with their client, and their threads are free again."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from loom.people.models import Grove
from loom.platform import deadlines, handler
from loom.platform.deadlines import Deadline, OverTimeError
from loom.platform.handler import Handler
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(__name__)]
ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) FROM t"
entered, left = threading.Event(), threading.Event()


def _statement() -> None:
    with connection.cursor() as cursor:
        cursor.execute(ENDLESS)


def _statements() -> None:
    while True:
        Grove.objects.exists()


def _loop() -> None:
    while True:
        deadlines.check()


def _writing() -> None:
    with transaction.atomic():
        Grove.objects.create(name="never kept")
        _statement()


WAYS: dict[str, Callable[[], None]] = {
    "statement": _statement,
    "statements": _statements,
    "loop": _loop,
    "writing": _writing,
}


@api_view(["GET", "POST"])
@permission_classes([AllowAny])
def slow(request: Request, way: str) -> Response:
    entered.set()
    try:
        WAYS[way]()
    finally:
        left.set()
    return Response({})


@api_view(["GET", "POST"])
@permission_classes([AllowAny])
def brief(request: Request) -> Response:
    """Waits until its client has left, then reads and writes."""
    entered.set()
    deadline = deadlines.current.get()
    assert deadline is not None
    while not deadline.is_client_gone:
        pass
    for _ in range(20):
        Grove.objects.exists()
    Grove.objects.create(name="kept")
    left.set()
    return Response({})


def streamed(request: HttpRequest) -> StreamingHttpResponse:
    async def pieces() -> AsyncIterator[bytes]:
        deadline = deadlines.current.get()
        assert deadline is not None
        yield str((deadline.is_running, deadline.is_over)).encode()

    return StreamingHttpResponse(pieces())


def quick(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(Grove.objects.count()))


urlpatterns = [
    path("slow/<str:way>", slow),
    path("brief", brief),
    path("streamed", streamed),
    path("quick", quick),
]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    entered.clear()
    left.clear()


async def _begun(server: Handler, address: str, method: str = "GET") -> ApplicationCommunicator:
    scope = {
        "type": "http",
        "method": method,
        "path": address,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }
    wire = ApplicationCommunicator(server, scope)
    await wire.send_input({"type": "http.request", "body": b"", "more_body": False})
    return wire


async def _answer(server: Handler, address: str) -> tuple[int, bytes]:
    wire = await _begun(server, address)
    start = await wire.receive_output(PATIENCE_S)
    body, more = b"", True
    while more:
        piece = await wire.receive_output(PATIENCE_S)
        body, more = body + piece.get("body", b""), piece.get("more_body", False)
    await wire.wait(PATIENCE_S)
    return start["status"], body


async def _until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not look():  # noqa: ASYNC110 (what is looked at has no event)
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", WAYS)
async def test_a_view_that_takes_too_long_is_ended(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Handler()
    monkeypatch.setattr(handler, "REQUEST_S", 0.2)
    status, body = await _answer(server, f"/slow/{way}")
    assert (status, json.loads(body)) == (
        503,
        {
            "ok": False,
            "code": "UNAVAILABLE",
            "message": "This took too long and was stopped.",
            "hint": "ask for less at once, such as a smaller part or a lower limit",
            "retryable": False,
        },
    )
    await _until(lambda: len(server.threads.idle) == 1)  # the same thread serves the next one
    monkeypatch.setattr(handler, "REQUEST_S", 60.0)
    assert await _answer(server, "/quick") == (200, b"0")
    assert len(server.threads.idle) <= 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_view_ends_when_its_client_has_left(way: str) -> None:
    server = Handler()
    wire = await _begun(server, f"/slow/{way}")
    await _until(entered.is_set)
    await wire.send_input({"type": "http.disconnect"})
    await _until(left.is_set)
    await _until(lambda: len(server.threads.idle) == 1)
    assert await _answer(server, "/quick") == (200, b"0")


async def test_what_writes_may_finish_after_its_client_has_left() -> None:
    server = Handler()
    wire = await _begun(server, "/brief", "POST")
    await _until(entered.is_set)
    await wire.send_input({"type": "http.disconnect"})
    await _until(lambda: len(server.threads.idle) == 1)
    assert left.is_set()
    assert await _answer(server, "/quick") == (200, b"1")


async def test_but_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "FINISH_S", 0.1)
    server = Handler()
    wire = await _begun(server, "/slow/writing", "POST")
    await _until(entered.is_set)
    await wire.send_input({"type": "http.disconnect"})
    await _until(left.is_set)
    await _until(lambda: len(server.threads.idle) == 1)
    assert await _answer(server, "/quick") == (200, b"0")


async def test_what_is_sent_in_pieces_has_no_limit() -> None:
    assert await _answer(Handler(), "/streamed") == (200, b"(False, False)")


def test_outside_of_requests_nothing_is_stopped() -> None:
    assert deadlines.current.get() is None
    assert not deadlines.interrupts()
    deadlines.check()
    with deadlines.kept():
        deadlines.check()


@pytest.mark.parametrize("is_safe", [True, False])
def test_a_write_that_took_too_long_can_be_sent_again(is_safe: bool) -> None:
    deadline = Deadline(0, is_safe=is_safe)
    deadline.begin()
    with pytest.raises(OverTimeError) as refused:
        deadline.check()
    assert refused.value.retryable is not is_safe
    assert ("send it again" in refused.value.hint) is not is_safe
