"""A program that speaks to the gateway over ASGI, and the provider behind it."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from django.db import connections
from pytest_django import Settings

from agents.gateway import forwarding
from agents.gateway.keys import make_key
from agents.gateway.models import GatewaySession
from agents.gateway.server import handle
from loom.access import Actor
from loom.people.models import Grove, Participant
from loom.trees.models import Node
from loom.turns.models import Generation, Turn
from tests.agents.acting import run_lane, went
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider

T = TypeVar("T")


@pytest.fixture
def provider(settings: Settings) -> Iterator[ScriptedProvider]:
    """A provider over real HTTP; its address is allowed."""
    with ScriptedProvider() as scripted:
        settings.PROVIDER_ALLOW = (scripted.entry,)
        yield scripted


@pytest.fixture
def model(grove: Grove, provider: ScriptedProvider) -> Participant:
    """The participant whose provider the gateway calls."""
    return Participant.objects.create(
        grove=grove,
        kind="model",
        name="Echo",
        model_ref="openai:echo-1",
        base_url=provider.url,
    )


@pytest.fixture
def worker() -> Iterator[None]:
    """Runs the turns and candidates that the gateway starts, as a worker does."""
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.wait(0.05):
                for turn in Turn.objects.filter(ended_at__isnull=True):
                    went(turn)
                for row in Generation.objects.filter(ended_at__isnull=True, turn=None):
                    run_lane(row.lane)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield
    stop.set()
    thread.join(30)


@dataclass
class Answer:
    """An answer as the program got it."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Program:
    """A program with a gateway key."""

    secret: str
    headers: dict[str, str] = field(default_factory=dict)

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        on_piece: Callable[[bytes], Awaitable[None]] | None = None,
        leaves: asyncio.Event | None = None,
        **headers: str,
    ) -> Answer:
        """One request and its answer. `on_piece` sees each piece when it arrives; the program
        closes the connection once `leaves` is set."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        given = {"authorization": f"Bearer {self.secret}", **self.headers}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": f"/gateway/v1{path}",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }
        answer, sent = Answer(), False

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": raw, "more_body": False}
            await (leaves or asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
            elif message.get("body"):
                answer.pieces.append(message["body"])
                if on_piece is not None:
                    await on_piece(message["body"])

        async with asyncio.timeout(PATIENCE_S):
            await handle(scope, receive, send)
            await forwarding.wait_for_records()
        return answer

    async def chat(self, *messages: tuple[str, str] | dict[str, Any], **more: Any) -> Answer:
        """A chat request; a message may be (role, text)."""
        history = [
            {"role": message[0], "content": message[1]} if isinstance(message, tuple) else message
            for message in messages
        ]
        headers = more.pop("headers", {})
        body = {"model": "echo-1", "messages": history, **more}
        return await self.send("POST", "/chat/completions", body, **headers)


@pytest.fixture
def program(actor: Actor, model: Participant) -> Program:
    """A program of the owner, in the mode observe."""
    return Program(make_key(actor.user, model.uid, name="program")[1])


def shape_of(session: GatewaySession) -> dict[str, Any]:
    """The tree of a session as nested texts, in order: {text: {…}}."""
    nodes = list(Node.objects.filter(tree=session.tree).order_by("id"))
    below: dict[int | None, dict[str, Any]] = {node.pk: {} for node in nodes}
    root: dict[str, Any] = {}
    for node in nodes:
        if node.parent_slot_id is None:
            root = below[node.pk]
            continue
        place, name = below[node.parent_slot_id], node.text or "·"
        while name in place:
            name += "'"
        place[name] = below[node.pk]
    return root


def run(work: Awaitable[T]) -> T:
    """Runs a conversation in an event loop of its own."""

    async def whole() -> T:
        return await work

    return asyncio.run(whole())
