"""What is never stored: partial texts, who is where, bad frames, and sockets too slow."""

import asyncio
import json
from typing import Any

import pytest

from loom.access import Actor
from loom.engine import announcements, presence, streams
from loom.engine.models import Event
from loom.live import frames, positions, sockets
from loom.live.admission import Guest
from loom.live.consumers import Hub
from loom.live.rechecks import Pass
from loom.people.models import Participant, User
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree, Workspace
from loom.turns.models import Generation
from tests.live.conftest import Line, Opener, bearer, in_db, write

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def generation(tree: Tree, muse: Participant, actor: Actor) -> Generation:
    """A generation that has come to chunk 3."""
    return Generation.objects.create(
        tree=tree,
        participant=muse,
        asked_by=actor.participant,
        batch="b",
        point=Node.objects.get(tree=tree),
        index=1,
        status="running",
        text="one two three ",
        chunk=3,
    )


async def _delta(tree: Tree, generation: Generation, chunk: int, text: str) -> None:
    message = {"type": "delta", "generation": generation.uid, "chunk": chunk, "text": text}
    await announcements.send_async(streams.name_of(tree), message)


async def test_whoever_comes_late_is_sent_the_whole_text_and_then_what_follows(
    connect: Opener, tree: Tree, owner: User, generation: Generation
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    assert await line.until("delta") == {
        "type": "delta",
        "generation": generation.uid,
        "chunk": 3,
        "text": "one two three ",
        "whole": True,
    }
    await line.until("heartbeat")
    await _delta(tree, generation, 4, "four ")
    frame = await line.until("delta")
    assert (frame["chunk"], frame["text"], "whole" in frame) == (4, "four ", False)


async def test_a_lost_delta_is_filled_from_the_row(
    connect: Opener, tree: Tree, owner: User, generation: Generation
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    await _delta(tree, generation, 6, "six ")
    rows = Generation.objects.filter(pk=generation.pk)
    await in_db(rows.update)(text="one two three four five ", chunk=5)
    told = ""
    while told != "four five six ":
        told += (await line.until("delta"))["text"]


async def test_a_lost_delta_is_noticed_though_none_follows(
    connect: Opener, tree: Tree, owner: User, generation: Generation
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    rows = Generation.objects.filter(pk=generation.pk)
    await in_db(rows.update)(text="one two three four ", chunk=4)
    told = ""
    while told != "four ":
        told += (await line.until("delta"))["text"]


async def test_deltas_are_merged_for_a_viewer_but_nothing_is_left_out(
    connect: Opener,
    tree: Tree,
    owner: User,
    generation: Generation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames, "TURNS_A_SECOND", 0.5)  # so that no machine is slower
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    before = len(line.frames)
    for chunk in range(4, 204):
        await _delta(tree, generation, chunk, f"{chunk} ")
    told = ""
    while not told.endswith("203 "):
        told += (await line.until("delta"))["text"]
    assert told == "".join(f"{chunk} " for chunk in range(4, 204))
    assert len(line.frames) - before < 100


async def test_all_of_a_text_is_sent_before_its_end_is(
    connect: Opener, actor: Actor, tree: Tree, owner: User, generation: Generation
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    for chunk in range(4, 60):
        await _delta(tree, generation, chunk, f"{chunk} ")

    def end() -> int:
        from django.db import transaction

        with transaction.atomic():
            Generation.objects.update(status="done")
            writer = streams.lock(tree)
            ended = {"id": generation.uid, "round": 0, "node": None}
            seq = writer.append("generation.ended", {"generation": ended})
            writer.flush()
            return seq

    seq = await in_db(end)()
    await line.event(seq)
    told = "".join(f["text"] for f in line.frames if f["type"] == "delta")
    assert told == "one two three " + "".join(f"{chunk} " for chunk in range(4, 60))


async def test_everybody_sees_who_is_where(
    connect: Opener, tree: Tree, owner: User, reader: User
) -> None:
    root = await in_db(lambda: Node.objects.get(tree=tree).local_id)()
    lines = [await connect(tree, await in_db(bearer)(user)) for user in (owner, reader)]
    for line in lines:
        await line.until("heartbeat")
    people = await in_db(
        lambda: [Participant.objects.get(user=user).uid for user in (owner, reader)]
    )()
    await lines[0].say({"type": "presence", "node": root, "buffer": "  once "})
    first = {"participant": people[0], "node": root, "buffer": "  once "}
    await lines[1].until("presence", here=[first])
    await lines[1].say({"type": "presence", "node": root})
    second = {"participant": people[1], "node": root}
    await lines[0].until("presence", here=[first, second])
    await lines[1].cut()
    await lines[0].until("presence", here=[first])
    assert await in_db(Event.objects.filter(kind="presence").count)() == 0


async def test_other_processes_are_told_and_asked(
    connect: Opener, tree: Tree, owner: User, reader: User
) -> None:
    """Two hubs in one loop stand for two processes: only the broker is between them."""
    root = await in_db(lambda: Node.objects.get(tree=tree).local_id)()
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    await line.say({"type": "presence", "node": root})
    here = (await line.until("presence"))["here"]
    other, wire = Hub(), Wire()
    guest_socket = await other.join(await in_db(_guest)(tree, reader), wire)
    served = asyncio.create_task(guest_socket.run())
    while (frame := await wire.told.get())["type"] != "presence":
        pass
    assert frame["here"] == here
    await line.cut()
    while (frame := await wire.told.get())["type"] != "presence":
        pass
    assert frame["here"] == []
    await other.close()
    await served


async def test_who_is_at_a_process_that_says_no_more_that_it_lives_goes(
    connect: Opener, tree: Tree, owner: User, reader: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that is only let alone, without an end, stands for a killed process."""
    monkeypatch.setattr(positions, "LEASE_S", 0.0)  # until the next look
    root = await in_db(lambda: Node.objects.get(tree=tree).local_id)()
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    other, wire = Hub(), Wire()
    guest_socket = await other.join(await in_db(_guest)(tree, reader), wire)
    served = asyncio.create_task(guest_socket.run())
    await guest_socket.receive(json.dumps({"type": "presence", "node": root}))
    assert (await line.until("presence"))["here"] == [{"participant": "p", "node": root}]
    assert (await line.until("presence"))["here"] == []
    await other.close()
    await served


async def test_a_process_says_once_for_all_its_people_that_it_lives(
    connect: Opener, tree: Tree, owner: User, reader: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def noted(stream: str, message: dict[str, Any]) -> None:
        if message["type"] == "alive":
            alive.put_nowait(message)

    monkeypatch.setattr(presence, "RENEWED_S", 0.01)
    monkeypatch.setattr(announcements, "send_async", noted)
    root = await in_db(lambda: Node.objects.get(tree=tree).local_id)()
    lines = [await connect(tree, await in_db(bearer)(user)) for user in (owner, reader)]
    for line in lines:
        await line.until("heartbeat")
    assert alive.empty()
    for line in lines:
        await line.say({"type": "presence", "node": root})
        await line.until("presence")
    first, second = [await alive.get() for _ in range(2)]
    assert first == second


def _guest(tree: Tree, user: User) -> Guest:
    return Guest(
        stream=streams.name_of(tree),
        groves=streams.name_of(tree.grove),
        since=0,
        participant="p",
        role="reader",
        ticket=Pass(user.pk, tree.grove_id, tree.pk),
        tree_uid=tree.uid,
    )


class Wire:
    """The connection of a socket whose reading can be held up."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.may_send = asyncio.Event()
        self.may_send.set()
        self.code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def send(self, text_data: str) -> None:
        """Takes a frame when the client reads."""
        await self.may_send.wait()
        self.told.put_nowait(json.loads(text_data))

    async def close(self, code: int) -> None:
        """Notes the code; a close passes what is not read."""
        self.code.set_result(code)


async def test_a_socket_that_does_not_read_is_closed_as_too_slow(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MAX_EVENTS", 8)
    monkeypatch.setattr(sockets, "SLOW_S", 0.0)
    quick = await connect(tree, await in_db(bearer)(owner))
    await quick.until("heartbeat")
    hub, wire = Hub(), Wire()
    guest_socket = await hub.join(await in_db(_guest)(tree, owner), wire)
    served = asyncio.create_task(guest_socket.run())
    while (await wire.told.get())["type"] != "heartbeat":
        pass
    wire.may_send.clear()
    head = await write(actor, tree, 40)
    await quick.event(head)
    assert await wire.code == 4408
    await served
    await hub.close()


async def test_a_slow_socket_that_reads_again_in_time_misses_nothing(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MAX_EVENTS", 8)
    monkeypatch.setattr(sockets, "SLOW_S", 600.0)  # in time, however long the machine needs
    monkeypatch.setattr(sockets, "STUCK_S", 600.0)
    hub, wire = Hub(), Wire()
    guest_socket = await hub.join(await in_db(_guest)(tree, owner), wire)
    served = asyncio.create_task(guest_socket.run())
    told = [await wire.told.get()]
    wire.may_send.clear()
    head = await write(actor, tree, 300)
    wire.may_send.set()
    while told[-1].get("event", {}).get("seq") != head:
        told.append(await wire.told.get())
    seqs = [frame["event"]["seq"] for frame in told if frame["type"] == "event"]
    assert seqs == list(range(1, head + 1))
    await hub.close()
    await served


@pytest.mark.parametrize(
    "frame",
    [b"\x00\x01", "", "{", "[]", '{"type":"command"}', '{"type":"presence","node":"a9z9"}'],
)
async def test_a_bad_frame_is_answered_and_changes_nothing(
    connect: Opener, actor: Actor, tree: Tree, owner: User, frame: Any
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    before = await in_db(_everything)()
    await line.say(frame)
    error = await line.until("error")
    assert set(error) == {"type", "code", "message", "hint"}
    assert error["code"] in ("INVALID_SYNTAX", "NOT_FOUND")
    assert await in_db(_everything)() == before
    await line.event(await write(actor, tree))


def _everything() -> list[int]:
    return [model.objects.count() for model in (Event, Node, Workspace, Generation)]


async def test_too_many_frames_are_refused_but_the_socket_stays(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "FRAMES_A_SECOND", 0.1)  # so that no machine is slower
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    for _ in range(80):
        await line.say("{")
    await line.until("error", code="LIMIT_EXCEEDED")
    await line.event(await write(actor, tree))


async def test_only_a_tree_has_presence(connect: Opener, actor: Actor, owner: User) -> None:
    line = await connect(f"/ws/groves/{actor.grove.uid}", await in_db(bearer)(owner))
    await line.say({"type": "presence", "node": "a2b2"})
    assert (await line.until("error"))["code"] == "INVALID_SYNTAX"


async def test_a_heartbeat_carries_the_head(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "HEARTBEAT_S", 0.0)
    line: Line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    head = await write(actor, tree)
    await line.until("heartbeat", seq=head)


async def test_a_workspace_of_an_agent_shows_no_presence(
    connect: Opener, tree: Tree, muse: Participant, owner: User
) -> None:
    workspace = await in_db(node_writer.workspace_of)(muse, tree)
    line = await connect(f"/ws/workspaces/{workspace.uid}", await in_db(bearer)(owner))
    await line.until("heartbeat")
    assert not [frame for frame in line.frames if frame["type"] == "presence"]
