"""Bells reach whoever has joined the group through the channel layer, and delay nobody."""

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from loom.engine import announcements
from tests.patience import PATIENCE_S, pass_time

pytestmark = pytest.mark.broker
STREAM = "tree:abc"


async def listening(layer: Any, stream: str = STREAM) -> str:
    """A new channel that has joined the stream's group."""
    channel: str = await layer.new_channel()
    await layer.group_add(announcements.group_of(stream), channel)
    return channel


def bell(seq: int) -> dict[str, Any]:
    """A bell of the stream."""
    return {"type": "bell", "stream": STREAM, "seq": seq}


async def test_both_ways_of_sending_reach_the_group() -> None:
    layer: Any = get_channel_layer()
    channel = await listening(layer)
    for number, send in enumerate((sync_to_async(announcements.send), announcements.send_async)):
        message = {**bell(number), "text": "é → 𝄞"}
        await send(STREAM, message)
        assert await asyncio.wait_for(layer.receive(channel), PATIENCE_S) == message
    await layer.flush()


async def test_messages_of_a_stream_arrive_in_the_order_of_the_calls() -> None:
    layer: Any = get_channel_layer()
    channel = await listening(layer)

    def ring_all() -> None:
        for seq in range(200):  # one after another, but each from a thread of its own
            thread = threading.Thread(target=announcements.send, args=(STREAM, bell(seq)))
            thread.start()
            thread.join()

    await asyncio.to_thread(ring_all)
    messages = [await asyncio.wait_for(layer.receive(channel), PATIENCE_S) for _ in range(200)]
    assert [message["seq"] for message in messages] == list(range(200))
    await layer.flush()


async def test_a_process_that_was_forked_sends_too() -> None:
    layer: Any = get_channel_layer()
    channel = await listening(layer)
    await asyncio.to_thread(announcements.send, STREAM, bell(1))
    assert (await asyncio.wait_for(layer.receive(channel), PATIENCE_S))["seq"] == 1
    child = os.fork()
    if child == 0:
        try:
            announcements.send(STREAM, bell(2))
            announcements.flush(PATIENCE_S)
        finally:
            os._exit(0)
    assert (await asyncio.wait_for(layer.receive(channel), PATIENCE_S))["seq"] == 2
    await asyncio.to_thread(os.waitpid, child, 0)
    await layer.flush()


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """The address of a port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"


def _use_broker(settings: Any, url: str) -> None:
    layer = dict(settings.CHANNEL_LAYERS["default"])
    layer["CONFIG"] = {"hosts": [url], "prefix": "test"}
    settings.CHANNEL_LAYERS = {"default": layer}


def test_a_broker_that_is_away_is_not_an_error(settings: Any, caplog: Any) -> None:
    _use_broker(settings, "redis://127.0.0.1:1/0")
    announcements.send(STREAM, bell(1))
    assert announcements.flush(PATIENCE_S)
    assert "could not ring" in caplog.text


def test_a_silent_broker_blocks_nobody_and_what_waits_is_dropped(
    settings: Any, silent_broker: str, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(announcements, "SEND_S", 600.0)
    _use_broker(settings, silent_broker)
    for seq in range(1000):
        announcements.send(STREAM, bell(seq))
    assert not announcements.flush(0.0)  # nothing is sent yet, and no call has waited for that
    while not announcements.flush(0.1):
        pass_time(601, announcements._sender._loop)
    assert caplog.text.count("could not ring") < 10
