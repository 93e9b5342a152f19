"""The limits of the web process, seen from a client over real connections."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from config import http
from config.env import ROOT
from tests.patience import PATIENCE_S, pass_time

OK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def _application(scope: Any, receive: Any, send: Any) -> None:
    message = {"more_body": True}
    while message.get("more_body"):
        message = await receive()
    body = str(scope["client"][0] + " " + scope["scheme"]).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def _serving() -> AsyncIterator[int]:
    config = uvicorn.Config(
        _application, port=0, http="config.http:LimitedProtocol", log_level="error", lifespan="off",
        proxy_headers=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def _answer(port: int, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
        return await asyncio.wait_for(reader.read(400), PATIENCE_S)
    finally:
        writer.close()


async def _until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not look():  # noqa: ASYNC110 (what is looked at has no event)
            await asyncio.sleep(0.01)


@pytest.fixture
def protocols(monkeypatch: pytest.MonkeyPatch) -> list[http.LimitedProtocol]:
    """The connections that the server has accepted."""
    connections, accept = [], http.LimitedProtocol.connection_made

    def accepted(self: http.LimitedProtocol, transport: Any) -> None:
        accept(self, transport)
        connections.append(self)

    monkeypatch.setattr(http.LimitedProtocol, "connection_made", accepted)
    return connections


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_headers_that_never_come_end_the_connection(
    sent: bytes, protocols: list[http.LimitedProtocol]
) -> None:
    async with _serving() as port:
        answer = asyncio.create_task(_answer(port, sent))
        await _until(lambda: bool(protocols))
        pass_time(http.HEADERS_S + 1)
        assert await answer == b""  # closed, not only silent
        assert b"200 OK" in await _answer(port, OK)


async def test_a_body_may_take_longer_than_headers(protocols: list[http.LimitedProtocol]) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"
    async with _serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        await _until(lambda: bool(protocols) and protocols[0].cycle is not None)
        for piece in (b"a", b"b"):
            pass_time(http.HEADERS_S + 1)
            await asyncio.sleep(0)  # what is due happens
            writer.write(piece)
        assert b"200 OK" in await asyncio.wait_for(reader.read(400), PATIENCE_S)
        writer.close()


@pytest.mark.parametrize(
    "head", [b"Content-Length: 1000\r\n\r\na", b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"]
)
async def test_a_body_that_stops_ends_the_connection(
    head: bytes, protocols: list[http.LimitedProtocol]
) -> None:
    async with _serving() as port:
        answer = asyncio.create_task(_answer(port, b"POST / HTTP/1.1\r\nHost: x\r\n" + head))
        await _until(lambda: bool(protocols) and protocols[0].cycle is not None)
        pass_time(http.BODY_S + 1)
        assert await answer == b""
        assert b"200 OK" in await _answer(port, OK)


def _has_moved(protocol: http.LimitedProtocol, since: float) -> bool:
    return protocol._moved_at >= since


async def test_a_body_that_moves_goes_on(protocols: list[http.LimitedProtocol]) -> None:
    async with _serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
        await _until(lambda: bool(protocols) and protocols[0].cycle is not None)
        for _ in range(5):
            pass_time(http.BODY_S - 1)
            await asyncio.sleep(0)  # what is due happens
            due = protocols[0].loop.time()
            writer.write(b"a")
            await _until(partial(_has_moved, protocols[0], due))
        assert b"200 OK" in await asyncio.wait_for(reader.read(400), PATIENCE_S)
        writer.close()


async def test_an_answer_may_take_longer_than_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    is_read, may_answer = asyncio.Event(), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        is_read.set()
        await may_answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"late"})

    monkeypatch.setattr(sys.modules[__name__], "_application", slow)
    async with _serving() as port:
        answer = asyncio.create_task(_answer(port, OK))
        await is_read.wait()
        pass_time(http.BODY_S + 1)
        await asyncio.sleep(0)
        may_answer.set()
        assert b"200 OK" in await answer


async def test_who_takes_nothing_of_an_answer_is_given_up(
    monkeypatch: pytest.MonkeyPatch, protocols: list[http.LimitedProtocol]
) -> None:
    async def long(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(64):
            await send({"type": "http.response.body", "body": b"a" * 2**20, "more_body": True})

    monkeypatch.setattr(sys.modules[__name__], "_application", long)
    async with _serving() as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(OK)
        await _until(lambda: bool(protocols) and protocols[0].flow.write_paused)
        pass_time(http.UNREAD_S - 1)
        await asyncio.sleep(0.05)
        assert protocols[0] in protocols[0].connections
        pass_time(2)
        await _until(lambda: protocols[0] not in protocols[0].connections)
        writer.close()


async def test_a_connection_makes_room_in_its_own_network_once(
    monkeypatch: pytest.MonkeyPatch, protocols: list[http.LimitedProtocol]
) -> None:
    monkeypatch.setattr(http, "CONNECTIONS_FROM", 2)
    monkeypatch.setattr(http, "_is_trusted", lambda host: False)
    async with _serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(OK)
        assert b"200 OK" in await asyncio.wait_for(reader.read(400), PATIENCE_S)
        others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        await _until(lambda: len(protocols) == 3)
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""  # closed for the third
        assert protocols[0].idle_s == 0.0
        assert await _answer(port, b"") == b""
        for _, each in (*others, (reader, writer)):
            each.close()


async def test_headers_without_end_are_refused() -> None:
    long = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"x" * 70_000 + b"\r\n\r\n"
    many = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Many: abc\r\n" * 8_000 + b"\r\n"
    async with _serving() as port:
        for sent in (long, many):
            assert b"400" in await _answer(port, sent)


async def test_too_many_connections_are_closed(
    settings: Any, monkeypatch: pytest.MonkeyPatch, protocols: list[http.LimitedProtocol]
) -> None:
    monkeypatch.setattr(http, "ROOM", 1)
    settings.SOCKETS = 2
    async with _serving() as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await _until(lambda: len(protocols) == 3)
        assert await _answer(port, b"") == b""
        for _, writer in held:
            writer.close()
        while b"200 OK" not in await _answer(port, OK):  # it has not seen the end of them yet
            pass


async def test_a_connection_that_waits_for_another_request_makes_room(
    settings: Any, monkeypatch: pytest.MonkeyPatch, protocols: list[http.LimitedProtocol]
) -> None:
    monkeypatch.setattr(http, "ROOM", 1)
    settings.SOCKETS = 1
    async with _serving() as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        reader, writer = held[0]
        writer.write(OK)
        assert b"200 OK" in await asyncio.wait_for(reader.read(400), PATIENCE_S)
        assert b"200 OK" in await _answer(port, OK)
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""  # closed for it
        for _, held_writer in held:
            held_writer.close()


async def test_a_request_that_does_not_move_makes_room(
    settings: Any, monkeypatch: pytest.MonkeyPatch, protocols: list[http.LimitedProtocol]
) -> None:
    monkeypatch.setattr(http, "ROOM", 1)
    settings.SOCKETS = 1
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na"
    async with _serving() as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in held:
            writer.write(half)
        await _until(lambda: len(protocols) == 2 and all(p.cycle for p in protocols))
        assert await _answer(port, b"") == b""  # they may still move
        pass_time(http.STALLED_S + 1)
        assert b"200 OK" in await _answer(port, OK)
        for _, writer in held:
            writer.close()


def test_the_process_may_open_as_many_files_as_its_connections_need() -> None:
    """In a process of its own, with the limit that most systems give."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096));"
        "import config.asgi; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "(1200, 4096)"


async def test_one_address_takes_not_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "CONNECTIONS_FROM", 2)
    async with _serving() as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        assert b"200 OK" in await _answer(port, OK)  # this machine has no limit
        monkeypatch.setattr(http, "_is_trusted", lambda host: False)
        assert await _answer(port, b"") == b""
        for _, writer in held:
            writer.close()


def test_one_network_of_ipv6_takes_not_all_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "CONNECTIONS_FROM", 2)
    monkeypatch.setattr(http, "_is_trusted", lambda host: False)
    monkeypatch.setattr(http.LimitedProtocol, "idle_s", 0.0)  # none makes room
    hosts = ("2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:3::1", "2001:db8:1:2:ffff::3")
    held: set[Any] = set()
    are_too_many = []
    for host in hosts:
        protocol = http.LimitedProtocol.__new__(http.LimitedProtocol)
        protocol.client, protocol.connections = (host, 1), held
        held.add(protocol)
        are_too_many.append(protocol._has_too_many())
    assert are_too_many == [False, False, False, True]


async def test_only_named_proxies_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    from config import asgi

    seen: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["client"][0], scope["scheme"]))

    forwarded = [(b"x-forwarded-for", b"198.51.100.7"), (b"x-forwarded-proto", b"https")]
    asked = {"type": "http", "scheme": "http", "headers": forwarded}
    proxied = ProxyHeadersMiddleware(inner, trusted_hosts=["10.0.0.5"])
    await proxied({**asked, "client": ("10.0.0.5", 1)}, None, None)  # type: ignore[arg-type]
    await proxied({**asked, "client": ("10.0.0.6", 1)}, None, None)  # type: ignore[arg-type]
    assert seen == [("198.51.100.7", "https"), ("10.0.0.6", "http")]
    # No proxy is named here.
    monkeypatch.setattr(asgi.proxied, "app", inner)
    await asgi.proxied({**asked, "client": ("10.0.0.5", 1)}, None, None)
    assert seen[2:] == [("10.0.0.5", "http")]


PRINTS = """
import django
django.setup()
from django.test import Client
for secure in (True, False):
    answer = Client().get("/signin", secure=secure, headers={"host": "loom.example"})
    print(answer.status_code, answer.get("Strict-Transport-Security", "none"))
"""


def test_browsers_are_told_to_stay_with_tls_where_it_is_served(tmp_path: Path) -> None:
    env = {"HEDDLE_ORIGINS": "https://loom.example", "HEDDLE_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PRINTS],
        env={**env, "PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["200 max-age=31536000", "200 none"]


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
WEBSOCKET = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the method, the names of some headers and the body."""
    body, message = b"", {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    names = [name for name, _ in scope["headers"] if name in (b"upgrade", b"http2-settings", b"x")]
    said = b" ".join([scope["method"].encode(), scope["path"].encode(), *names, body])
    headers = [(b"content-length", str(len(said)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})


def _request(head: bytes, body: bytes = b"", *, method: bytes = b"POST") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return method + b" /a%20b HTTP/1.1\r\nHost: x\r\nX: \r\n" + head + length + b"\r\n" + body


@pytest.mark.parametrize(
    "head",
    [
        H2C,
        b"Upgrade: foo\r\nConnection: Upgrade\r\n",
        b"Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: TLS/1.0, HTTP/2.0\r\n",
        b"Connection: upgrade\r\nConnection: keep-alive\r\nUpgrade: h2c\r\n",
        WEBSOCKET,
    ],
)
@pytest.mark.parametrize("cut", ["whole", "head first", "byte by byte"])
async def test_a_request_for_another_protocol_keeps_its_body(
    head: bytes, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "_application", _echo)
    sent = _request(head, b'{"mode":"dialogue"}')
    at = sent.index(b"\r\n\r\n") + 4
    pieces = {
        "whole": [sent],
        "head first": [sent[:at], sent[at:]],
        "byte by byte": [sent[i : i + 1] for i in range(len(sent))],
    }[cut]
    async with _serving() as port:
        answer = await _answer(port, *pieces)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'POST /a b x {"mode":"dialogue"}')


async def test_many_requests_for_another_protocol_at_once_are_all_answered() -> None:
    many = sys.getrecursionlimit() + 1
    request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    async with _serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(many * request)
        for _ in range(many):
            answer = await asyncio.wait_for(reader.readuntil(b"http"), PATIENCE_S)
            assert b"HTTP/1.1 200" in answer
        writer.close()


async def test_what_follows_a_request_for_another_protocol_is_another_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "_application", _echo)
    chunked = b"Transfer-Encoding: chunked\r\n"
    hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    sent = [
        _request(H2C, method=b"GET"),
        _request(H2C + chunked) + b"2\r\n{}\r\n0\r\n\r\n",
        _request(H2C, hidden),
        _request(b"Connection: close\r\n", b"last"),
    ]
    async with _serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"".join(sent))
        answers = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
    bodies = [part.partition(b"\r\n\r\n")[2] for part in answers.split(b"HTTP/1.1 200")[1:]]
    assert bodies[:2] == [b"GET /a b x ", b"POST /a b x {}"]
    assert answers.count(b"HTTP/1.1 200") == 4 and answers.endswith(b"POST /a b x last")


async def test_a_websocket_is_opened_by_a_get_without_a_body() -> None:
    async with _serving() as port:
        opened = await _answer(port, _request(WEBSOCKET, method=b"GET"))
        empty = await _answer(port, _request(WEBSOCKET + b"Content-Length: 0\r\n", method=b"GET"))
        filled = await _answer(port, _request(WEBSOCKET, b"{}", method=b"GET"))
    for answer in (opened, empty):  # the application refuses it
        assert answer.startswith(b"HTTP/1.1 403") or b" 500 " in answer.splitlines()[0]
    assert filled.startswith(b"HTTP/1.1 200")
