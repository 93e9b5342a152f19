"""Events as they come down: in order, without gaps, from any cursor, to whom they belong."""

import asyncio
from typing import Any

import pytest

from loom.access import Actor
from loom.engine import announcements, streams
from loom.live import frames
from loom.live import reads as live_reads
from loom.live.consumers import hub
from loom.people.models import ApiKey, Grove, Membership, User
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from tests.live.conftest import Opener, bearer, cookie, in_db, write

pytestmark = pytest.mark.django_db(transaction=True)


async def test_the_log_is_sent_from_the_cursor_and_then_what_happens(
    connect: Opener, actor: Actor, tree: Tree, owner: User
) -> None:
    head = await write(actor, tree, 3)
    line = await connect(tree, await in_db(bearer)(owner), since=2)
    assert (await line.until("heartbeat"))["seq"] == head
    assert line.seqs == list(range(3, head + 1))
    last = await write(actor, tree)
    body = await line.event(last)
    assert set(body) == {"seq", "kind", "actor", "origin", "payload", "at"}
    assert body["kind"] == "tree.changed"
    assert body["actor"] == actor.participant.uid


async def test_without_since_everything_is_reported(
    connect: Opener, actor: Actor, tree: Tree, owner: User
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    head = (await line.until("heartbeat"))["seq"]
    assert line.seqs == list(range(1, head + 1))


async def test_a_cursor_ahead_of_the_log_loads_again_and_misses_nothing_that_comes(
    connect: Opener, actor: Actor, tree: Tree, owner: User
) -> None:
    line = await connect(tree, await in_db(bearer)(owner), since=10_000)
    head = (await line.until("reload"))["seq"]
    assert head < 10_000
    assert (await line.until("heartbeat"))["seq"] == head
    await line.event(await write(actor, tree))


async def test_a_long_log_comes_in_pages_without_gaps(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MAX_EVENTS", 16)
    early = await connect(tree, await in_db(bearer)(owner))
    await early.until("heartbeat")
    head = await write(actor, tree, 700)
    late = await connect(tree, await in_db(bearer)(owner))
    await early.event(head)
    await late.event(head)
    assert early.seqs == late.seqs == list(range(1, head + 1))


async def test_a_lost_bell_is_noticed_by_looking(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    monkeypatch.setattr(announcements, "send", lambda stream, message: None)
    await line.event(await write(actor, tree))


async def test_doubled_and_late_bells_repeat_nothing(
    connect: Opener, actor: Actor, tree: Tree, owner: User
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    name = streams.name_of(tree)
    for _ in range(3):
        seq = await write(actor, tree)
        for told in (seq, seq, 1, seq + 50):
            await announcements.send_async(name, {"type": "bell", "stream": name, "seq": told})
    await line.event(seq)
    await line.event(await write(actor, tree))
    assert line.seqs == list(range(1, seq + 2))


async def test_what_is_rolled_back_is_never_told(
    connect: Opener, actor: Actor, tree: Tree, owner: User
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")

    def fail() -> None:
        from django.db import transaction

        with transaction.atomic():
            writer = streams.lock(tree)
            writer.append("tree.changed", {"tree": tree.uid})
            writer.flush()
            raise LookupError

    with pytest.raises(LookupError):
        await in_db(fail)()
    body = await line.event(await write(actor, tree))
    assert body["payload"] == {"tree": tree.uid, "title": "Title 0"}


async def test_invitations_are_for_owners_and_leave_no_gap(
    connect: Opener, actor: Actor, grove: Grove, owner: User, reader: User
) -> None:
    lines = [
        await connect(f"/ws/groves/{grove.uid}", await in_db(bearer)(user))
        for user in (owner, reader)
    ]

    def invite() -> int:
        from django.db import transaction

        with transaction.atomic():
            writer = streams.lock(grove)
            seq = writer.append("invitation.added", {"invitation": {"id": "secret"}})
            writer.flush()
            return seq

    seq = await in_db(invite)()
    assert (await lines[0].event(seq))["payload"] == {"invitation": {"id": "secret"}}
    assert await lines[1].event(seq) == {"seq": seq, "kind": "hidden"}


async def test_a_workspace_reports_its_own_events_only(
    connect: Opener, actor: Actor, tree: Tree, owner: User
) -> None:
    workspace = await in_db(node_writer.workspace_of)(actor.participant, tree)
    line = await connect(f"/ws/workspaces/{workspace.uid}", await in_db(bearer)(owner))
    await line.until("heartbeat")

    def move() -> int:
        from django.db import transaction

        with transaction.atomic():
            writer = streams.lock(workspace)
            seq = writer.append("view.changed", {"position": "a2b2", "revision": 1})
            writer.flush()
            return seq

    await write(actor, tree)
    seq = await in_db(move)()
    assert (await line.event(seq))["kind"] == "view.changed"


async def test_a_removed_member_receives_nothing_written_after(
    connect: Opener, actor: Actor, tree: Tree, grove: Grove, reader: User
) -> None:
    line = await connect(tree, await in_db(bearer)(reader))
    await line.until("heartbeat")
    before = await write(actor, tree)
    await line.event(before)
    await in_db(Membership.objects.filter(user=reader).delete)()
    await write(actor, tree)
    assert await line.closed() == 4404
    assert line.seqs[-1] == before


async def test_a_removed_member_is_shown_the_door_when_it_is_announced(
    connect: Opener, tree: Tree, grove: Grove, reader: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.live.consumers.WATCH_S", 3600.0)
    line = await connect(tree, await in_db(bearer)(reader))
    await line.until("heartbeat")
    await in_db(Membership.objects.filter(user=reader).delete)()
    message = {"type": "access", "grove": grove.uid, "user": reader.pk}
    await announcements.send_async(streams.name_of(grove), message)
    assert await line.closed() == 4404


async def test_a_socket_opens_and_gets_events_while_the_broker_is_away(
    connect: Opener,
    actor: Actor,
    tree: Tree,
    owner: User,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("loom.live.feed.SUBSCRIBED_S", 0.1)
    layer = dict(settings.CHANNEL_LAYERS["default"])
    layer["CONFIG"] = {"hosts": ["redis://127.0.0.1:1/0"], "prefix": "test"}
    settings.CHANNEL_LAYERS = {"default": layer}
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    await line.event(await write(actor, tree))  # found by looking at the log, within a second


@pytest.mark.parametrize("way", ["key", "session", "password", "inactive", "erasing"])
async def test_a_socket_ends_with_what_it_was_opened_by(
    connect: Opener, tree: Tree, owner: User, way: str
) -> None:
    headers = await in_db(bearer if way in ("key", "inactive", "erasing") else cookie)(owner)
    line = await connect(tree, headers)
    await line.until("heartbeat")

    def end() -> None:
        from django.contrib.sessions.models import Session

        if way == "key":
            ApiKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
        elif way == "session":
            Session.objects.all().delete()
        elif way == "password":
            owner.set_password("another")
            owner.save()
        elif way == "inactive":
            User.objects.update(is_active=False)
        else:
            Tree.objects.update(erasing_at="2026-01-01T00:00:00Z")

    await in_db(end)()
    expected = {"inactive": 4404, "erasing": 4404}.get(way, 4401)
    assert await line.closed() == expected


async def test_a_narrowed_role_narrows_what_is_reported(
    connect: Opener, actor: Actor, grove: Grove, owner: User
) -> None:
    line = await connect(f"/ws/groves/{grove.uid}", await in_db(bearer)(owner))
    await line.until("heartbeat")
    await in_db(Membership.objects.filter(user=owner).update)(role="reader")

    def invite() -> int:
        from django.db import transaction

        with transaction.atomic():
            writer = streams.lock(grove)
            seq = writer.append("invitation.added", {"invitation": {"id": "secret"}})
            writer.flush()
            return seq

    assert (await line.event(await in_db(invite)()))["kind"] == "hidden"


async def test_a_page_gets_the_role_of_its_reader_and_each_change_of_it(
    connect: Opener, tree: Tree, grove: Grove, owner: User
) -> None:
    headers = await in_db(bearer)(owner)
    page = await connect(tree, headers, drawn="en")
    client = await connect(tree, headers)
    assert (await page.until("role"))["role"] == "owner"
    await client.until("heartbeat")
    await in_db(Membership.objects.filter(user=owner).update)(role="reader")
    message = {"type": "access", "grove": grove.uid, "user": owner.pk}
    await announcements.send_async(streams.name_of(grove), message)
    assert (await page.until("role"))["role"] == "reader"
    assert "role" not in {frame["type"] for frame in client.frames}


async def test_one_feed_serves_all_sockets_of_a_tree(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = await in_db(bearer)(owner)
    lines = [await connect(tree, headers) for _ in range(5)]
    for line in lines:
        await line.until("heartbeat")
    reads: list[int] = []
    read = live_reads.entries_after

    def counted(stream: str, seq: int, limit: int) -> list[frames.EventFrame]:
        reads.append(seq)
        return read(stream, seq, limit)

    monkeypatch.setattr(live_reads, "entries_after", counted)
    seq = await write(actor, tree)
    for line in lines:
        await line.event(seq)
    assert len(reads) == 1


async def test_at_shutdown_clients_are_asked_to_come_again(
    connect: Opener, tree: Tree, owner: User
) -> None:
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    await hub().close()
    assert await line.closed() == 1012


async def test_a_feed_without_sockets_is_let_go(
    connect: Opener, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.live.consumers.LINGER_S", -1.0)
    line = await connect(tree, await in_db(bearer)(owner))
    await line.until("heartbeat")
    await line.cut()
    for _ in range(2):
        await hub().look()
    assert not hub()._feeds
    await asyncio.sleep(0)
