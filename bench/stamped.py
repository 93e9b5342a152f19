"""The web process of bench.thousand: Heddle, which notes when it has read an event and when each
socket gives it to the protocol. `GET /stamps` returns the notes and forgets them."""

import json
import time
from datetime import datetime
from typing import Any

from config.asgi import application as heddle
from loom.live.consumers import LiveConsumer
from loom.live.frames import EventFrame, Ring

EVENT = '{"type":"event"'
_read: list[tuple[float, str]] = []
_given: list[tuple[float, str]] = []
_extend, _send = Ring.extend, LiveConsumer.send


def extend(ring: Ring, entries: list[EventFrame]) -> None:
    """Notes that the process has these events."""
    now = time.time()
    _read.extend((now, entry.frame) for entry in entries)
    _extend(ring, entries)


async def send(consumer: LiveConsumer, text_data: str) -> None:
    """Notes that a socket is given a frame, once it was."""
    await _send(consumer, text_data)
    if text_data.startswith(EVENT):
        _given.append((time.time(), text_data))


Ring.extend = extend  # type: ignore[method-assign, assignment]
LiveConsumer.send = send  # type: ignore[method-assign, assignment]


def waits(notes: list[tuple[float, str]]) -> list[float]:
    """Seconds from the writing of each event until it was noted."""
    written: dict[str, float] = {}
    for _, frame in notes:
        if frame not in written:
            at = json.loads(frame)["event"]["at"]
            written[frame] = datetime.fromisoformat(at).timestamp()
    return [round(now - written[frame], 5) for now, frame in notes]


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """`/stamps` is the notes, everything else is Heddle."""
    if scope.get("path") != "/stamps":
        await heddle(scope, receive, send)
        return
    body = json.dumps({"read": waits(_read), "given": waits(_given)}).encode()
    _read.clear()
    _given.clear()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
