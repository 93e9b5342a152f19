"""The limits of frames, seen from a client over real connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
import websockets

from config.sockets import (
    ADMITTED,
    DOCUMENT_BYTES,
    EARLY_BYTES,
    SHARED,
    SizedProtocol,
    encoded,
)

SMALL = 512 * 1024
TOGETHER = "together"  # is answered with four frames


async def _application(scope: Any, receive: Any, send: Any) -> None:
    """Answers each binary frame with its length and others with themselves; admits a client of a
    document that says so."""
    await receive()
    await send({"type": "websocket.accept"})
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        given = message.get("bytes")
        if given == b"admit me":
            scope["extensions"][ADMITTED]()
        answer = message["text"] if given is None else str(len(given))
        for _ in range(4 if answer == TOGETHER else 1):
            await send({"type": "websocket.send", "text": answer})


@asynccontextmanager
async def _connected(path: str) -> AsyncIterator[Any]:
    config = uvicorn.Config(
        _application, port=0, ws="config.sockets:SizedProtocol", ws_max_size=SMALL,
        ws_per_message_deflate=False, log_level="error", lifespan="off",
    )  # fmt: skip
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with websockets.connect(f"ws://127.0.0.1:{port}{path}", compression=None) as wire:
            yield wire
    finally:
        server.should_exit = True
        await task


async def _sent(wire: Any, size: int) -> str:
    await wire.send(b"x" * size)
    return str(await wire.recv())


async def _code(wire: Any, size: int) -> int:
    with pytest.raises(websockets.ConnectionClosed) as closed:
        await wire.send(b"x" * size)
        await wire.recv()
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code


async def test_an_admitted_client_of_a_document_may_send_all_of_one_in_a_frame() -> None:
    async with _connected("/ws/documents/abc") as wire:
        await wire.send(b"admit me")
        await wire.recv()
        for _ in range(3):
            assert await _sent(wire, DOCUMENT_BYTES) == str(DOCUMENT_BYTES)
        assert await _code(wire, DOCUMENT_BYTES + 1) == 1009


async def test_a_client_sends_little_before_its_login_is_checked() -> None:
    async with _connected("/ws/documents/abc") as wire:
        assert await _sent(wire, EARLY_BYTES // 2) == str(EARLY_BYTES // 2)
        assert await _code(wire, EARLY_BYTES // 2) == 1009


@pytest.mark.parametrize("path", ["/ws/trees/abc", "/ws/documents", "/"])
async def test_frames_of_other_routes_stay_small(path: str) -> None:
    async with _connected(path) as wire:
        for _ in range(3):
            assert await _sent(wire, SMALL) == str(SMALL)
        assert await _code(wire, SMALL + 1) == 1009


@pytest.mark.parametrize("text", ["å" * 70_000, "ö" * 40_000, "short", "日本 " * 50])
async def test_a_text_that_many_are_sent_is_encoded_once_and_comes_whole(text: str) -> None:
    encoded.cache_clear()
    async with (
        _connected("/ws/trees/abc") as first,
        websockets.connect(_address(first), compression=None) as second,
    ):
        for wire in (first, second, first):
            await wire.send(text)
            assert await wire.recv() == text
    kept = encoded.cache_info()
    is_shared = len(text) <= SHARED
    assert (kept.misses, kept.hits) == ((1, 2) if is_shared else (0, 0))


async def test_frames_that_are_sent_without_a_pause_are_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[int] = []
    write = SizedProtocol._write

    def noted(protocol: SizedProtocol) -> None:
        written.append(len(protocol._unwritten))
        write(protocol)

    monkeypatch.setattr(SizedProtocol, "_write", noted)
    async with _connected("/ws/trees/abc") as wire:
        await wire.send(TOGETHER)
        assert [await wire.recv() for _ in range(4)] == [TOGETHER] * 4
    assert [count for count in written if count] == [4]


def _address(wire: Any) -> str:
    host, port = wire.remote_address[:2]
    return f"ws://{host}:{port}{wire.request.path}"
