"""`/ws/…` to the door: the handshake, then the hub."""

import asyncio
import re
from typing import Any

from channels.db import database_sync_to_async

from loom.doors.live import frames
from loom.doors.live.handshake import Guest, Unwelcome, welcome
from loom.doors.live.hub import hub
from loom.doors.live.socket import Receive, Send

PATH = re.compile(r"/ws/(trees|groves|workspaces)/([^/]{1,64})")


async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """One socket, from its handshake to its end.

    Who is not welcome is accepted first: only then can a client read the closing code.
    """
    if (await receive())["type"] != "websocket.connect":
        return
    try:
        guest = await _welcome(scope)
    except Unwelcome as unwelcome:
        await send({"type": "websocket.accept"})
        if unwelcome.refused is not None:
            frame = frames.error(unwelcome.refused)
            await send({"type": "websocket.send", "text": frame})
        await send({"type": "websocket.close", "code": unwelcome.code})
        return
    await send({"type": "websocket.accept"})
    await hub().serve(guest, receive, send)


async def _welcome(scope: dict[str, Any]) -> Guest:
    path = PATH.fullmatch(scope["path"])
    if path is None:
        raise Unwelcome(4404)
    check = database_sync_to_async(welcome, thread_sensitive=False)
    guest: Guest = await check(scope, path[1], path[2])
    return guest


async def lifespan(receive: Receive, send: Send) -> None:
    """Start and stop of the process: at its end every socket is told to come again."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        else:
            await hub().close()
            await asyncio.sleep(0)
            await send({"type": "lifespan.shutdown.complete"})
            return
