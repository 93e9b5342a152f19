"""Sockets as a test sees them: opened on the ASGI application, read frame by frame."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.conf import settings
from django.test import Client

from loom.access import Actor
from loom.engine import streams
from loom.live import consumers
from loom.live.consumers import hub
from loom.people.models import ApiKey, User
from loom.text.hashes import digest
from loom.trees.models import Tree
from tests.patience import PATIENCE_S

ORIGIN = "http://testserver"
Wire: Any = ApplicationCommunicator  # it has no types
Headers = list[tuple[bytes, bytes]]


def bearer(user: User, name: str = "test") -> Headers:
    """The header of a fresh API key of the user."""
    key = f"key-of-{user.username}-{name}"
    ApiKey.objects.get_or_create(
        digest=digest(key), defaults={"user": user, "name": name, "hint": key[-4:]}
    )
    return [(b"authorization", f"Bearer {key}".encode())]


def cookie(user: User, origin: str | None = ORIGIN) -> Headers:
    """The headers of a signed-in browser on a page of `origin`."""
    client = Client()
    client.force_login(user)
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    headers = [(b"cookie", f"{settings.SESSION_COOKIE_NAME}={key}".encode())]
    return headers if origin is None else [*headers, (b"origin", origin.encode())]


class Line:
    """One socket. What was read is kept in `frames`."""

    def __init__(self, path: str, headers: Headers, query: str) -> None:
        scope = {
            "type": "websocket",
            "path": path,
            "query_string": query.encode(),
            "headers": headers,
            "subprotocols": [],
        }
        self.frames: list[dict[str, Any]] = []
        self.wire: Any = Wire(consumers.routes, scope)

    async def open(self) -> "Line":
        """Requests the connection; whether it stays open is checked later."""
        await self.wire.send_input({"type": "websocket.connect"})
        assert (await self.output())["type"] == "websocket.accept"
        return self

    async def output(self) -> dict[str, Any]:
        """The next message of the application."""
        message: dict[str, Any] = await self.wire.receive_output(PATIENCE_S)
        return message

    async def frame(self) -> dict[str, Any]:
        """The next frame."""
        message = await self.output()
        assert message["type"] == "websocket.send", message
        self.frames.append(json.loads(message["text"]))
        return self.frames[-1]

    async def until(self, kind: str, **values: Any) -> dict[str, Any]:
        """The next frame of a kind with these values; the others are kept."""
        while True:
            frame = await self.frame()
            if frame["type"] == kind and values.items() <= frame.items():
                return frame

    async def event(self, seq: int) -> dict[str, Any]:
        """The event `seq`, when it comes."""
        while True:
            body: dict[str, Any] = (await self.until("event"))["event"]
            if body["seq"] == seq:
                return body

    async def closed(self) -> int:
        """The code with which the application closes the socket."""
        while True:
            message = await self.output()
            if message["type"] == "websocket.close":
                return int(message["code"])
            self.frames.append(json.loads(message["text"]))

    async def say(self, frame: Any) -> None:
        """Sends a frame: text as it is, bytes as binary, else as JSON."""
        if isinstance(frame, bytes):
            await self.wire.send_input({"type": "websocket.receive", "bytes": frame})
            return
        text = frame if isinstance(frame, str) else json.dumps(frame)
        await self.wire.send_input({"type": "websocket.receive", "text": text})

    async def cut(self) -> None:
        """Ends the connection from the client's side."""
        await self.wire.send_input({"type": "websocket.disconnect", "code": 1006})
        await self.wire.wait(PATIENCE_S)

    @property
    def seqs(self) -> list[int]:
        """The seqs of the events read so far, in order of arrival."""
        return [f["event"]["seq"] for f in self.frames if f["type"] == "event"]


Opener = Callable[..., Awaitable[Line]]


@pytest.fixture
async def connect(transactional_db: None) -> AsyncIterator[Opener]:
    """Opens sockets: `await connect(tree or path, headers, since=0)`."""
    lines: list[Line] = []

    async def opener(place: Tree | str, headers: Headers, **query: Any) -> Line:
        path = place if isinstance(place, str) else f"/ws/trees/{place.uid}"
        line = Line(path, headers, "&".join(f"{k}={v}" for k, v in query.items()))
        lines.append(line)
        return await line.open()

    yield opener
    await hub().close()
    for line in lines:
        line.wire.stop(exceptions=False)


@database_sync_to_async
def write(actor: Actor, tree: Tree, count: int = 1) -> int:
    """`count` events in one transaction; returns the last one's seq."""
    from django.db import transaction

    with transaction.atomic():
        writer = streams.lock(tree, actor=actor.participant.uid)
        for number in range(count):
            writer.append("tree.changed", {"tree": tree.uid, "title": f"Title {number}"})
        writer.flush()
        return writer.stream.head


in_db = database_sync_to_async
