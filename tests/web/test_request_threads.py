"""Threads of requests: none while an answer is sent, a bounded number at once, in order."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Grove, Participant
from loom.platform import handler
from loom.platform.fetched import FetchedResponse
from loom.platform.handler import Handler
from loom.platform.request_threads import Threads
from loom.transfer import exporting
from loom.transfer.exporting import FORMATS
from loom.trees.models import Image
from tests.patience import PATIENCE_S
from tests.transfer.planting import Plant, plant, wanted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(__name__)]
COUNT = 6
opened, begun = threading.Event(), threading.Semaphore(0)


def held(request: HttpRequest) -> HttpResponse:
    begun.release()
    opened.wait(PATIENCE_S)
    return HttpResponse(str(Grove.objects.count()))


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(Grove.objects.count()).encode() + b"x" * 200_000)


def streamed(request: HttpRequest) -> StreamingHttpResponse:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield str(await sync_to_async(Grove.objects.count)()).encode()

    return StreamingHttpResponse(pieces())


def fetched(request: HttpRequest) -> FetchedResponse:
    """Its bytes come when the test says so, or not at all."""

    async def fetch() -> bytes:
        begun.release()
        while not opened.is_set():  # noqa: ASYNC110 (an event of threads)
            await asyncio.sleep(0.01)
        return b"" if request.path == "/missing" else b"from elsewhere"

    def finish(raw: bytes) -> bytes:
        if not raw:
            raise CommandError("UNAVAILABLE", "The image is missing.", hint="try again")
        return raw + str(Grove.objects.count()).encode()

    kept = {"Cache-Control": "private, max-age=3600"}
    return FetchedResponse(fetch, finish, content_type="image/png", headers=kept)


urlpatterns = [
    path("held", held),
    path("plain", plain),
    path("streamed", streamed),
    path("fetched", fetched),
    path("missing", fetched),
]


class Client:
    """A client that takes a piece of its answer when it is told to."""

    def __init__(self, server: Handler, address: str) -> None:
        self.taken = asyncio.Event()
        self.pieces: list[Any] = []
        self._incoming: asyncio.Queue[Any] = asyncio.Queue()
        self._incoming.put_nowait({"type": "http.request", "body": b""})
        headers = [(b"host", b"127.0.0.1")]
        scope = {"type": "http", "method": "GET", "path": address, "headers": headers}
        self.done = asyncio.create_task(server(scope, self._incoming.get, self._send))

    async def _send(self, message: Any) -> None:
        self.pieces.append(message)
        await self.taken.wait()

    async def body(self) -> bytes:
        self.taken.set()
        await asyncio.wait_for(self.done, PATIENCE_S)
        return b"".join(piece.get("body", b"") for piece in self.pieces)

    def leave(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})


async def _until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not look():  # noqa: ASYNC110 (what is looked at has no event)
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "SENT_S", 0.01)
    opened.clear()
    while begun.acquire(blocking=False):
        pass


ANSWERS = [("/plain", b"0" + b"x" * 200_000), ("/streamed", b"000")]


@pytest.mark.parametrize(("address", "body"), ANSWERS)
async def test_who_reads_slowly_holds_no_thread(address: str, body: bytes) -> None:
    server = Handler()
    slow = [Client(server, address) for _ in range(COUNT)]
    await _until(lambda: all(client.pieces for client in slow))
    await _until(lambda: len(server.threads.idle) == server.threads.count)
    assert [await client.body() for client in slow] == [body] * COUNT
    await _until(lambda: len(server.threads.idle) == server.threads.count)


async def test_no_more_run_at_once_than_there_may_be_and_the_rest_wait_in_order() -> None:
    server = Handler()
    server.threads.most = 2
    clients = []
    for number in range(COUNT):
        clients.append(Client(server, "/held"))
        await _until(lambda: server.threads.count + server.threads.waiting > number)  # noqa: B023
    assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE_S)
    assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE_S)
    assert (server.threads.count, server.threads.waiting) == (2, COUNT - 2)
    clients[2].leave()
    opened.set()
    staying = [client for client in clients if client is not clients[2]]
    assert [await client.body() for client in staying] == [b"0"] * (COUNT - 1)
    await asyncio.wait_for(clients[2].done, PATIENCE_S)
    await _until(lambda: len(server.threads.idle) == server.threads.count == 2)
    assert server.threads.waiting == 0


async def test_a_quick_answer_stays_on_one_thread() -> None:
    server = Handler()
    wire = ApplicationCommunicator(
        server,
        {
            "type": "http",
            "method": "GET",
            "path": "/plain",
            "headers": [(b"host", b"127.0.0.1")],
        },
    )
    await wire.send_input({"type": "http.request", "body": b""})
    await wire.wait(PATIENCE_S)
    assert server.threads.count == 1


@pytest.mark.parametrize("name", FORMATS)
def test_no_export_keeps_a_cursor_from_one_piece_to_the_next(
    name: str, actor: Actor, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "PIECE", 1)
    texts: list[Plant] = [(number - 1, False, f"Text {number}. " * 40) for number in range(12)]
    tree, _ = plant(actor, muse, texts, mode="dialogue")
    execute_line(actor, tree, Request('think "A thought."'))
    for sha256 in ("a" * 64, "b" * 64):
        Image.objects.create(
            tree=tree,
            sha256=sha256,
            media_type="image/png",
            width=1,
            height=1,
            size=1,
            by=actor.participant,
        )
    asked, whole = wanted(actor, tree), b""
    expected = b"".join(FORMATS[name].pieces(asked))
    for piece in FORMATS[name].pieces(asked):
        whole += piece
        connection.close()  # what the next piece gets is the connection of another thread
    assert len(whole) == len(expected)


async def test_what_is_fetched_from_elsewhere_holds_no_thread_meanwhile() -> None:
    server = Handler()
    server.threads = Threads(1)
    clients = [Client(server, "/fetched") for _ in range(COUNT)]
    missing = Client(server, "/missing")
    for client in (*clients, missing):
        client.taken.set()
    await _until(lambda: begun._value == COUNT + 1)
    # All of them wait, and the only thread serves others.
    assert (await Client(server, "/plain").body()).endswith(b"x")
    assert not any(client.pieces for client in clients)
    opened.set()
    for client in clients:
        assert (await client.body()).startswith(b"from elsewhere")
        start = client.pieces[0]
        headers = {name.lower(): value for name, value in start["headers"]}
        assert (start["status"], headers[b"content-type"]) == (200, b"image/png")
        assert int(headers[b"content-length"]) == len(await client.body())
    assert b"The image is missing." in await missing.body()
    start = missing.pieces[0]
    headers = {name.lower(): value for name, value in start["headers"]}
    assert (start["status"], headers[b"cache-control"]) == (503, b"no-store")
