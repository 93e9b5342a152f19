"""The yardstick of bench.fanout: a group_send to one Channels consumer for each socket.

An ASGI application of its own beside Heddle's, in the same process over the same broker.
"""

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer

from config.asgi import application as heddle

GROUP = "bare"


class Bare(AsyncWebsocketConsumer):
    """Passes on what its group is sent."""

    async def connect(self) -> None:
        """Joins the group, then accepts."""
        await self.channel_layer.group_add(GROUP, self.channel_name)
        await self.accept()

    async def disconnect(self, code: int) -> None:
        """Leaves the group."""
        await self.channel_layer.group_discard(GROUP, self.channel_name)

    async def bare_message(self, message: dict[str, Any]) -> None:
        """Passes the text on."""
        await self.send(text_data=message["text"])


consumer: Any = Bare.as_asgi()


async def _send_to_all(receive: Any, send: Any) -> None:
    body = (await receive())["body"].decode()
    layer: Any = get_channel_layer()
    await layer.group_send(GROUP, {"type": "bare.message", "text": body})
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """`/bare` is the reference, everything else is Heddle."""
    if scope.get("path") != "/bare":
        await heddle(scope, receive, send)
    elif scope["type"] == "websocket":
        await consumer(scope, receive, send)
    else:
        await _send_to_all(receive, send)
