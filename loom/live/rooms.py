"""Rooms: a document in this process, and the sockets of those who have it open.

The wire protocol is that of y-websocket, so that any Yjs client can join. The log in the database
is authoritative for the order: a room adds what its members type, and reads what other processes
and agents have added.
"""

import asyncio
import logging
import secrets
from collections import deque
from typing import Any, Protocol

from pycrdt import Decoder, create_awareness_message, create_update_message, write_var_uint

from loom.commands import document_log
from loom.events import streams
from loom.live import reads
from loom.live.frames import RateLimit
from loom.live.reads import Guest, PerLoop, SocketRefused, Threads
from loom.models import Document
from loom.queries.documents import heads, updates_after
from loom.rules.shared_text import (
    EMPTY,
    MOST_UPDATE,
    Awareness,
    HostileError,
    SharedText,
    entries_of,
    joined,
)

log = logging.getLogger("heddle.rooms")

REST_S = 2.0  # seconds without typing after which a revision is made
WATCH_S = 1.0
LINGER_S = 5.0
SUBSCRIBED_S = 2.0
QUICKEST_S, SLOWEST_S = 0.008, 0.05  # seconds for which typing is collected before it is sent on
A_SOCKET_S = 0.0002  # seconds that each socket adds to that
MOST_WAITING = 16 * 1024 * 1024  # bytes that may wait for a slow client
SYNC, AWARENESS, QUERY = 0, 1, 3
STEP_1, STEP_2, UPDATE = 0, 1, 2


class Wire(Protocol):
    """The methods that a member needs of its connection."""

    async def send_bytes(self, frame: bytes) -> None:
        """Sends one frame."""

    async def close(self, code: int) -> None:
        """Closes the connection."""


class Member:
    """A socket in a room. Frames wait here for a client that is slower than the others."""

    def __init__(self, guest: Guest, room: "Room", wire: Wire) -> None:
        self.guest, self.room, self.role = guest, room, guest.role
        self._wire = wire
        self._frames: deque[bytes] = deque()
        self._waiting = 0
        self._wake = asyncio.Event()
        self._code = 0
        self._pace = RateLimit(100.0, burst=400)
        self._task = asyncio.get_running_loop().create_task(self._write())

    def send(self, frame: bytes) -> None:
        """Sends a frame, in order; a client that does not read is closed with 4408."""
        self._waiting += len(frame)
        if self._waiting > MOST_WAITING and len(self._frames) > 1:
            self.close(4408)
            return
        self._frames.append(frame)
        self._wake.set()

    def close(self, code: int) -> None:
        """Ends the socket with a code that says why."""
        self._code = self._code or code
        self._wake.set()

    def leave(self) -> None:
        """The client has gone."""
        self._task.cancel()
        self.room.leave(self)

    async def _write(self) -> None:
        try:
            while not self._code:
                await self._wake.wait()
                self._wake.clear()
                while self._frames and not self._code:
                    frame = self._frames.popleft()
                    await self._wire.send_bytes(frame)
                    self._waiting -= len(frame)
            self.room.leave(self)
            await self._wire.close(code=self._code)
        except (OSError, RuntimeError):  # the client has gone
            self.room.leave(self)

    def receive(self, frame: bytes) -> None:
        """Takes a message of the client. One that is invalid, or would make the document invalid,
        closes the socket with 4400 and changes nothing."""
        if self._code or self not in self.room.members:
            return
        if not self._pace.take(asyncio.get_running_loop().time()):
            self.close(4429)
            return
        try:
            self._take(frame)
        except HostileError as hostile:
            log.warning("refused from %s in %s: %s", self.guest.name, self.guest.stream, hostile)
            self.close(4400)

    def _take(self, frame: bytes) -> None:
        try:
            decoder = Decoder(frame)
            kind = decoder.read_var_uint()
            step = decoder.read_var_uint() if kind == SYNC else 0
            body = b"" if kind == QUERY else decoder.read_message() or b""
        except (IndexError, RuntimeError, ValueError):
            raise HostileError("the message cannot be read") from None
        if kind == SYNC and step == STEP_1:
            self.send(_sync(STEP_2, self.room.shared.state(body)))
        elif kind == SYNC and step in (STEP_2, UPDATE):
            self._take_update(body, asks=step == UPDATE)
        elif kind == AWARENESS:
            now = asyncio.get_running_loop().time()
            self.room.seen.take(self, self.guest, entries_of(body), now)
            self.room.flush_soon()
        elif kind == QUERY:
            self.send(create_awareness_message(self.room.seen.encoded()))

    def _take_update(self, update: bytes, *, asks: bool) -> None:
        if update in (b"", EMPTY):
            return
        if len(update) > MOST_UPDATE:
            raise HostileError("the update is too large")
        if self.role == "reader":
            if asks:
                self.close(4403)
            return
        if self.room.shared.lacks(update):
            # Something was lost on the way: asks the client for everything that this copy lacks.
            self.send(_sync(STEP_1, self.room.shared.vector))
            return
        self.room.typed(self.room.shared.try_update(update), self)


def _sync(step: int, body: bytes) -> bytes:
    return bytes([SYNC, step]) + write_var_uint(len(body)) + body


class Room:
    """One document in this process: its text, its members, and what still has to be stored."""

    def __init__(self, document: Document, groves: str, *, process: str, threads: Threads) -> None:
        self.document, self.groves, self.process = document, groves, process
        self.members: set[Member] = set()
        self.seen = Awareness()
        self.idle_since: float | None = None
        self.shared = SharedText()
        self.seq = 0
        self._heard = 0
        self._read = threads.read
        self._unsent: list[tuple[bytes, Member | None]] = []
        self._unstored: list[tuple[bytes, str]] = []
        self._stored = asyncio.Event()  # nothing typed waits to be stored
        self._stored.set()
        self._will_flush = False
        self._bell = asyncio.Event()
        self._subscribed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._rest: asyncio.TimerHandle | None = None
        self._wrote = ""  # who typed here last, since the room was last empty
        self._loop = asyncio.get_running_loop()

    @property
    def stream(self) -> str:
        """The name under which new updates are announced."""
        return document_log.bell(self.document.uid)

    async def open(self) -> None:
        """Joins the group first, then reads the log, so that nothing is missed in between."""
        self._spawn(streams.listen([self.stream], self._hear, self._subscribed))
        try:
            await asyncio.wait_for(self._subscribed.wait(), SUBSCRIBED_S)
        except TimeoutError:
            log.warning("no broker for %s: reading the log each second", self.stream)
        rows = await self._read(_rows, self.document.pk, 0)
        self.shared = SharedText(update for _, update in rows)
        self.seq = rows[-1][0] if rows else 0
        self._spawn(self._follow())
        if self.seq > self.document.settled:
            self._rest_again()

    def enter(self, member: Member) -> None:
        """Sends a new member what y-websocket sends: the state of this copy, and the carets."""
        self.members.add(member)
        self.idle_since = None
        member.send(_sync(STEP_1, self.shared.vector))
        if self.seen.clients:
            member.send(create_awareness_message(self.seen.encoded()))

    def leave(self, member: Member) -> None:
        """Removes a member; once the last has left, a revision is made."""
        if member not in self.members:
            return
        self.members.discard(member)
        self.seen.leave(member)
        self.flush_soon()
        if not self.members and self._rest is not None:
            self._settle_now()
        if not self.members and self._wrote:
            self._spawn(self._want_summary())

    # What is typed here.

    def typed(self, changed: bytes, by: Member) -> None:
        """Sends on and stores what a member has typed."""
        if changed == EMPTY:
            return
        self._unsent.append((changed, by))
        self._unstored.append((changed, by.guest.participant))
        self._wrote = by.guest.participant
        if self._stored.is_set():
            self._stored.clear()
            self._spawn(self._store())
        self._rest_again()
        self.flush_soon()

    def flush_soon(self) -> None:
        """Schedules sending what was collected: together, so that many people typing cost
        little."""
        if not self._will_flush:
            self._will_flush = True
            wait = min(SLOWEST_S, max(QUICKEST_S, len(self.members) * A_SOCKET_S))
            self._loop.call_later(wait, self._flush)

    def _flush(self) -> None:
        self._will_flush = False
        unsent, self._unsent = self._unsent, []
        if unsent:
            frame = create_update_message(joined([one for one, _ in unsent]))
            origins = {by for _, by in unsent}
            only = next(iter(origins)) if len(origins) == 1 else None
            for member in list(self.members):
                if member is not only:
                    member.send(frame)
        changed, self.seen.changed = self.seen.changed, set()
        changed &= self.seen.clients.keys()
        if changed:
            frame = create_awareness_message(self.seen.encoded(changed))
            for member in list(self.members):
                member.send(frame)
            self._pass_on(changed)

    def _pass_on(self, changed: set[int]) -> None:
        """Sends the carets of this process to the other processes."""
        own = [
            [client, seen.clock, seen.state]
            for client in changed
            if not isinstance((seen := self.seen.clients[client]).owner, str)
        ]
        if own:
            message = {"type": "awareness", "process": self.process, "entries": own}
            self._spawn(streams.send_async(self.stream, message))

    async def _store(self) -> None:
        """Adds what was typed to the log, and retries while the database is busy."""
        try:
            while self._unstored:
                batch, self._unstored = self._unstored, []
                update = joined([one for one, _ in batch])
                authors = list(dict.fromkeys(uid for _, uid in batch))
                try:
                    seq = await self._read(
                        document_log.append_typed, self.document, update, authors
                    )
                except Exception:
                    log.warning("could not store %s", self.stream, exc_info=True)
                    self._unstored = [*batch, *self._unstored]
                    await asyncio.sleep(1)
                    continue
                if seq == self.seq + 1:
                    self.seq = seq
                if self._heard > self.seq or seq > self.seq:  # somebody else wrote as well
                    self._bell.set()
        finally:
            self._stored.set()

    # What others have added to the log.

    def ring(self, seq: int) -> None:
        """Notifies the room that the log has reached `seq`. While typing from here is being
        stored, it may be that: then it is checked once that is known."""
        self._heard = max(self._heard, seq)
        if self._heard > self.seq and self._stored.is_set():
            self._bell.set()

    async def _follow(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            try:
                for seq, update in await self._read(_rows, self.document.pk, self.seq):
                    changed = self.shared.apply(update)
                    self.seq = max(self.seq, seq)
                    if changed != EMPTY:
                        self._unsent.append((changed, None))
                        self._rest_again()
                        self.flush_soon()
            except Exception:  # the database may be away; the next bell or second tries again
                log.warning("could not read %s", self.stream, exc_info=True)

    def _hear(self, message: dict[str, Any]) -> None:
        if message.get("type") == "bell":
            self.ring(message["seq"])
        elif message.get("type") == "awareness" and message["process"] != self.process:
            self.seen.take_from(message["process"], message["entries"], self._loop.time())
            self.flush_soon()

    # Revisions.

    def _rest_again(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
        self._rest = self._loop.call_later(REST_S, self._settle_now)

    def _settle_now(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        self._spawn(self._settle())

    async def _settle(self) -> None:
        await self._stored.wait()
        try:
            await self._read(document_log.settle, self.document)
        except Exception:
            log.warning("could not settle %s", self.stream, exc_info=True)
            self._rest_again()

    async def _want_summary(self) -> None:
        """Queues a summary of the document for the person who wrote last, once everybody has
        left."""
        wrote, self._wrote = self._wrote, ""
        await self._stored.wait()
        try:
            await self._read(document_log.want_summary, self.document, wrote)
        except Exception:
            log.warning("could not ask for the summary of %s", self.stream, exc_info=True)

    # Its end.

    def tick(self, now: float) -> None:
        """Once a second."""
        self.seen.expire(now)
        if self.seen.changed:
            self.flush_soon()

    @property
    def is_busy(self) -> bool:
        """Whether something typed here is not stored, or not in a revision, yet."""
        return not self._stored.is_set() or self._rest is not None

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stores what is left, makes a revision of it, and stops listening."""
        await self._stored.wait()
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
            await self._settle()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _rows(document_id: int, seq: int) -> list[tuple[int, bytes]]:
    return list(updates_after(document_id, seq))


def _document(uid: str) -> Document | None:
    return Document.objects.select_related("grove").filter(uid=uid).first()


class Rooms:
    """The rooms of this process: opened for the first member, closed a while after the last one
    left."""

    def __init__(self) -> None:
        self.process = secrets.token_hex(8)
        self._threads = Threads()
        self._rooms: dict[str, Room] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._watch: asyncio.Task[None] | None = None

    async def enter(self, guest: Guest, wire: Wire) -> Member:
        """Adds a member to the room of the guest's document. Raises SocketRefused if the document
        is gone."""
        if self._watch is None:
            self._watch = asyncio.create_task(self._watching())
        async with self._opening.setdefault(guest.stream, asyncio.Lock()):
            room = self._rooms.get(guest.stream)
            if room is None:
                document = await self._threads.read(_document, guest.stream.partition(":")[2])
                if document is None:
                    raise SocketRefused(4404)
                room = Room(document, guest.groves, process=self.process, threads=self._threads)
                await room.open()
                self._rooms[guest.stream] = room
            member = Member(guest, room, wire)
            room.enter(member)
            return member

    async def _watching(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self.look()
            except Exception:  # the database may be away; sockets stay open
                log.warning("could not look after the rooms", exc_info=True)

    async def look(self) -> None:
        """Checks for lost bells, members who are no longer allowed, and empty rooms."""
        now = asyncio.get_running_loop().time()
        for name, room in list(self._rooms.items()):
            room.tick(now)
            if room.members or room.is_busy or self._opening[name].locked():
                room.idle_since = None
            elif room.idle_since is None:
                room.idle_since = now
            elif now - room.idle_since > LINGER_S:
                del self._rooms[name], self._opening[name]
                await room.close()
        if not self._rooms:
            return
        by_id = {room.document.pk: room for room in self._rooms.values()}
        for key, seq in (await self._threads.read(heads, list(by_id))).items():
            by_id[key].ring(seq)
        members = [member for room in by_id.values() for member in room.members]
        passes = {member.guest.ticket for member in members}
        verdicts = await self._threads.read(reads.verdicts_of, passes) if passes else {}
        reads.judge(members, verdicts)

    async def close(self) -> None:
        """Closes every socket with 1012, so that clients reconnect immediately."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        for room in list(self._rooms.values()):
            for member in list(room.members):
                member.close(1012)
            await room.close()
        self._rooms.clear()
        threads, self._threads = self._threads, Threads()
        await threads.close()


rooms = PerLoop(Rooms)
