"""The doorbell is heard by whoever has joined the group through the channel layer."""

import asyncio
from typing import Any

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from loom.events import announce

STREAM = "tree:abc"


async def test_both_ways_of_sending_reach_the_group() -> None:
    layer: Any = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(announce.group_of(STREAM), channel)
    for number, send in enumerate((sync_to_async(announce.send), announce.send_async)):
        message = {"type": "bell", "stream": STREAM, "seq": number, "text": "é → 𝄞"}
        await send(STREAM, message)
        assert await asyncio.wait_for(layer.receive(channel), 5) == message
    await layer.flush()


async def test_a_broker_that_is_away_is_no_error(settings: Any) -> None:
    layer = dict(settings.CHANNEL_LAYERS["default"])
    layer["CONFIG"] = {"hosts": ["redis://127.0.0.1:1/0"], "prefix": "test"}
    settings.CHANNEL_LAYERS = {"default": layer}
    await sync_to_async(announce.send)(STREAM, {"type": "bell", "stream": STREAM, "seq": 1})
