"""Several at one document: by the wire protocol of y-websocket, over real sockets."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from channels.db import database_sync_to_async
from pycrdt import (
    Decoder,
    Doc,
    Text,
    TransactionEvent,
    create_awareness_message,
    create_sync_message,
    create_update_message,
    write_var_uint,
)

from loom.access import Actor
from loom.documents import actions as document_actions
from loom.documents import log as document_log
from loom.documents import room as live_rooms
from loom.documents.models import Document, DocumentUpdate, Revision
from loom.documents.queries import newest
from loom.documents.room import rooms
from loom.people.commands.groves import change_role, remove_member
from loom.people.models import Membership, Participant, User
from tests.live.conftest import Headers, Line, bearer, cookie
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


class Client:
    """A client of Yjs: what any editor of y-websocket does, in Python."""

    def __init__(self, uid: str, headers: Headers) -> None:
        self._uid, self._headers = uid, headers
        self.doc: Doc[Text] = Doc()
        self.text: Text = self.doc.get("text", type=Text)
        self.carets: dict[int, dict[str, Any] | None] = {}
        self.code = 0
        self.told: list[int] = []  # 0: not stored yet, 1: stored
        self.asked = 0  # how often the server asked for what it lacks
        self._line: Line | None = None
        self._reading: asyncio.Task[None] | None = None
        self._mine: list[bytes] = []
        self._applying = False
        self.doc.observe(self._observe)

    def _observe(self, event: TransactionEvent) -> None:
        if not self._applying:
            self._mine.append(event.update)

    async def open(self) -> "Client":
        """Connects, and sends what this copy has."""
        self.code = 0
        self._line = await Line(f"/ws/documents/{self._uid}", self._headers, "").open()
        self._reading = asyncio.create_task(self._read())
        await self._line.say(create_sync_message(self.doc))
        return self

    async def _read(self) -> None:
        assert self._line is not None
        while True:
            try:
                message = await self._line.output()
            except TimeoutError:
                continue
            if message["type"] == "websocket.close":
                self.code = int(message["code"])
                return
            await self._take(message["bytes"])

    async def _take(self, frame: bytes) -> None:
        assert self._line is not None
        if frame[0] == live_rooms.STORED:
            self.told.append(frame[1])
            return
        if frame[0] == 1:
            decoder = Decoder(Decoder(frame[1:]).read_message() or b"")
            for _ in range(decoder.read_var_uint()):
                client, _clock = decoder.read_var_uint(), decoder.read_var_uint()
                self.carets[client] = json.loads(decoder.read_var_string())
            return
        body = Decoder(frame[2:]).read_message() or b""
        if frame[1] == 0:
            self.asked += 1
            reply = self.doc.get_update(body)
            await self._line.say(b"\x00\x01" + write_var_uint(len(reply)) + reply)
            return
        self._applying = True
        self.doc.apply_update(body)
        self._applying = False

    async def type(self, at: int, text: str) -> None:
        """Inserts a text at a place in bytes, and sends it where the socket is open."""
        self.text.insert(at, text)
        mine, self._mine = self._mine, []
        for update in mine:
            if self._line is not None:
                await self._line.say(create_update_message(update))

    async def say(self, frame: bytes) -> None:
        """Sends a frame as it is."""
        assert self._line is not None
        await self._line.say(frame)

    async def caret(self, state: dict[str, Any]) -> None:
        """Says where this client is."""
        body = json.dumps(state).encode()
        parts = [write_var_uint(1), write_var_uint(self.doc.client_id), write_var_uint(1)]
        await self.say(
            create_awareness_message(b"".join([*parts, write_var_uint(len(body)), body]))
        )

    async def cut(self) -> None:
        """The connection ends; what is typed from now on waits."""
        if self._reading is not None:
            self._reading.cancel()
        if self._line is not None:
            line, self._line = self._line, None
            await line.cut()


async def until(true: Callable[[], Any]) -> None:
    """Waits for a condition."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = true()
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer:
                return
            await asyncio.sleep(0.01)


@pytest.fixture(name="document")
def _document(actor: Actor) -> Document:
    return document_actions.make_document(actor, title="Notes", text="The → tower.")


Join = Callable[[User], Awaitable[Client]]


@pytest.fixture(name="join")
async def _join(document: Document) -> AsyncIterator[Join]:
    clients: list[Client] = []

    async def open_client(user: User) -> Client:
        headers = await database_sync_to_async(bearer)(user)
        clients.append(await Client(document.uid, headers).open())
        return clients[-1]

    yield open_client
    for client in clients:
        await client.cut()
    await rooms().close()


def _numbers(document: Document) -> Callable[[], Any]:
    return database_sync_to_async(lambda: Document.objects.get(pk=document.pk).revision)


async def test_what_one_types_is_on_the_others_screen_and_becomes_a_revision(
    join: Join, owner: User, writer: User, document: Document
) -> None:
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ada.text) == str(ben.text) == "The → tower.")
    await ada.type(len("The → ".encode()), "north ")
    await until(lambda: str(ben.text) == "The → north tower.")
    await ben.type(0, "É! ")
    await until(lambda: str(ada.text) == "É! The → north tower.")
    await until(lambda: _is_revision(document, "É! The → north tower."))
    revision = await database_sync_to_async(lambda: newest(Document.objects.get(pk=document.pk)))()
    people = await database_sync_to_async(
        lambda: {m.participant.uid for m in Membership.objects.select_related("participant")}
    )()
    assert set(revision.authors) == people
    row = await database_sync_to_async(lambda: Document.objects.get(pk=document.pk))()
    assert (row.words, row.settled) == (5, row.head)


async def _is_revision(document: Document, text: str) -> bool:
    def check() -> bool:
        return newest(Document.objects.get(pk=document.pk)).content.text == text

    return await database_sync_to_async(check)()


async def test_the_last_to_leave_settles_at_once(
    join: Join, owner: User, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_rooms, "REST_S", 3600)
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "So. ")
    await ada.cut()
    await until(lambda: _is_revision(document, "So. The → tower."))


async def test_once_all_have_left_the_document_is_summarised_for_who_wrote(
    join: Join, owner: User, reader: User, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Any]] = []
    monkeypatch.setattr(
        "loom.engine.jobs.enqueue", lambda name, args, **_: asked.append((name, args))
    )
    ada, rhea = await join(owner), await join(reader)
    await until(lambda: str(ada.text))
    await ada.type(0, "So. ")
    await until(lambda: str(rhea.text).startswith("So."))
    await ada.cut()
    await rhea.cut()
    await until(lambda: asked)
    who = await database_sync_to_async(lambda: Participant.objects.get(user=owner).pk)()
    assert asked == [("loom.documents.tasks.summarise", [document.uid, who])]


async def test_what_was_typed_without_a_connection_is_merged_on_return(
    join: Join, owner: User, writer: User
) -> None:
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ada.text) == str(ben.text) == "The → tower.")
    await ada.cut()
    await ada.type(0, "Offline. ")
    await ben.type(0, "Online. ")
    await ada.open()
    await until(lambda: str(ada.text) == str(ben.text) and len(str(ada.text)) == 29)
    assert "Offline. " in str(ben.text) and "Online. " in str(ben.text)


async def test_an_agents_write_and_typing_lose_no_letter(
    join: Join, owner: User, actor: Actor, document: Document
) -> None:
    ada = await join(owner)
    await until(lambda: str(ada.text))
    write = database_sync_to_async(document_actions.write_document)
    for number in range(5):
        await ada.type(0, f"{number} ")
        await write(actor, document, append=f"Agent {number}.")
    await until(lambda: "Agent 4." in str(ada.text))
    assert str(ada.text).startswith("4 3 2 1 0 The → tower.\n\nAgent 0.")
    await until(lambda: _is_revision(document, str(ada.text)))


async def test_another_process_is_followed_by_the_log(
    join: Join, owner: User, document: Document
) -> None:
    """What another process stored comes by the bell, or at the latest with the next second."""
    ada = await join(owner)
    await until(lambda: str(ada.text))

    def elsewhere() -> None:
        shared = document_log.opened(document)
        from loom.text.edits import Edit

        update = shared.edit([Edit(0, 0, "Far. ")])
        document_log.append_typed(document, update, ["somebody"])

    await database_sync_to_async(elsewhere)()
    await until(lambda: str(ada.text) == "Far. The → tower.")


async def test_a_room_that_was_closed_opens_with_all_that_was_typed(
    join: Join, owner: User
) -> None:
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "Kept. ")
    room = next(iter(rooms()._rooms.values()))
    await until(lambda: room.shared.text.startswith("Kept. "))
    await rooms().close()
    await until(lambda: ada.code == 1012)
    await ada.cut()
    ben = await join(owner)
    await until(lambda: str(ben.text) == "Kept. The → tower.")


async def test_carets_have_the_name_of_the_login_and_go_with_the_socket(
    join: Join, owner: User, writer: User
) -> None:
    ada, ben = await join(owner), await join(writer)
    await ben.caret({"user": {"name": "Owner"}, "cursor": {"anchor": 1, "head": 2}, "x": "y"})
    own = ben.doc.client_id
    await until(lambda: own in ada.carets)
    state = ada.carets[own]
    assert state is not None
    assert state["user"]["name"] == "Writer" and state["cursor"] == {"anchor": 1, "head": 2}
    assert set(state) == {"user", "cursor"}
    late = await join(owner)
    await until(lambda: own in late.carets)
    await ben.cut()
    await until(lambda: ada.carets[own] is None)


async def test_nobody_speaks_for_the_client_of_another(
    join: Join, owner: User, writer: User
) -> None:
    ada, ben = await join(owner), await join(writer)
    await ada.caret({"cursor": None})
    await until(lambda: ada.doc.client_id in ben.carets)
    state = b"null"
    parts = [write_var_uint(1), write_var_uint(ada.doc.client_id), write_var_uint(99)]
    await ben.say(create_awareness_message(b"".join([*parts, write_var_uint(len(state)), state])))
    await ben.caret({"cursor": None})
    await until(lambda: ben.doc.client_id in ada.carets)
    assert ben.carets[ada.doc.client_id] is not None


def _embedding() -> bytes:
    doc: Doc[Any] = Doc()
    doc.get("text", type=Text).insert_embed(0, {"a": 1})
    return doc.get_update()


def _zero() -> bytes:
    doc: Doc[Any] = Doc()
    doc["text"] = Text("a\0b")
    return doc.get_update()


def _other() -> bytes:
    doc: Doc[Any] = Doc()
    doc["other"] = Text("hidden")
    return doc.get_update()


@pytest.mark.parametrize(
    "frame",
    [
        b"\x00\x02\xff\xff",
        create_update_message(b"\xff" * 40),
        create_update_message(_embedding()),
        create_update_message(_zero()),
        create_update_message(_other()),
        b"\x01\xff",
        b"\x00\x00\x05\xff\xff\xff\xff\xff",
        create_awareness_message(b"\x01\x01\x01\x05hello"),
    ],
    # Without names the ids hold the random numbers of clients, and differ between processes.
    ids="cut garbled embedding zero other alone huge caret".split(),
)
async def test_a_hostile_message_ends_its_socket_and_nothing_else(
    join: Join, owner: User, writer: User, document: Document, frame: bytes
) -> None:
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ada.text) == str(ben.text) == "The → tower.")
    await ben.say(frame)
    await until(lambda: ben.code == 4400)
    await ada.type(0, "Still. ")
    late = await join(owner)
    await until(lambda: str(late.text) == "Still. The → tower.")


async def test_a_reader_sees_all_and_writes_nothing(
    join: Join, owner: User, reader: User, document: Document
) -> None:
    ada, eve = await join(owner), await join(reader)
    await until(lambda: str(eve.text) == "The → tower.")
    await eve.type(0, "Mine! ")
    await until(lambda: eve.code == 4403)
    await ada.type(0, "So. ")
    texts = database_sync_to_async(lambda: document_log.opened(document).text)
    await until(lambda: _equals(texts, "So. The → tower."))


async def _equals(read: Callable[[], Any], text: str) -> bool:
    return bool(await read() == text)


async def test_who_is_removed_or_made_a_reader_is_so_within_seconds(
    join: Join, owner: User, writer: User, actor: Actor
) -> None:
    await join(owner)
    ben = await join(writer)
    await until(lambda: str(ben.text))
    await database_sync_to_async(change_role)(actor, "writer", "reader")
    room = next(iter(rooms()._rooms.values()))
    await until(lambda: {member.role for member in room.members} == {"owner", "reader"})
    await ben.type(0, "Late. ")
    await until(lambda: ben.code == 4403)
    again = await join(writer)
    await until(lambda: str(again.text))
    await database_sync_to_async(remove_member)(actor, "writer")
    await until(lambda: again.code == 4404)


async def test_outsiders_and_strangers_are_closed(
    document: Document, outsider: User, owner: User
) -> None:
    for user, origin, code in ((outsider, "http://testserver", 4404), (owner, "http://evil", 4401)):
        headers = await database_sync_to_async(cookie)(user, origin)
        line = await Line(f"/ws/documents/{document.uid}", headers, "").open()
        assert await line.closed() == code


async def test_an_update_that_came_too_early_is_asked_for_again(
    join: Join, owner: User, writer: User
) -> None:
    """A message was lost on the way: the client is asked for all of it, and no letter is lost."""
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ada.text) == str(ben.text) == "The → tower.")
    ada.text.insert(0, "one ")
    ada._mine.clear()
    await ada.type(4, "two ")
    await until(lambda: str(ben.text) == "one two The → tower.")


async def test_reading_and_coming_back_adds_nothing_to_the_log(
    join: Join, owner: User, document: Document
) -> None:
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "So. ")
    await until(lambda: _equals(_numbers(document), 2))  # type: ignore[arg-type]
    before = await database_sync_to_async(DocumentUpdate.objects.count)()
    for _ in range(3):
        await ada.cut()
        await ada.open()
    other = await join(owner)
    await until(lambda: str(other.text) == "So. The → tower.")
    assert await database_sync_to_async(DocumentUpdate.objects.count)() == before
    assert await database_sync_to_async(Revision.objects.count)() == 2
