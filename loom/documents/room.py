"""Rooms: a document in this process, and the sockets of those who have it open.

The wire protocol is that of y-websocket, so that any Yjs client can join. The log in the database
is authoritative for the order: a room adds what its members type, and reads what other processes
and agents have added. Members are sent what is stored, and nothing else, so that no copy ever holds
words of another that the server may still lose.
"""

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from pycrdt import Decoder, create_awareness_message, create_update_message, write_var_uint

from loom.documents import clients as document_clients
from loom.documents import log as document_log
from loom.documents.models import Document
from loom.documents.queries import heads, updates_after
from loom.documents.shared_text import (
    EMPTY,
    MOST_UPDATE,
    Awareness,
    HostileError,
    SharedText,
    TooLargeError,
    entries_of,
    joined,
)
from loom.documents.yjs_updates import Update, read_update
from loom.engine import announcements
from loom.errors import CommandError
from loom.live.admission import Guest, SocketRefused
from loom.live.frames import RateLimit
from loom.live.read_threads import PerLoop, ReadThreads
from loom.live.rechecks import judge, verdicts_of

log = logging.getLogger("heddle.rooms")

P = ParamSpec("P")
T = TypeVar("T")

REST_S = 2.0  # seconds without typing after which a revision is made
WATCH_S = 1.0
LINGER_S = 5.0
SUBSCRIBED_S = 2.0
QUICKEST_S, SLOWEST_S = 0.008, 0.05  # seconds for which typing is collected before it is sent on
A_SOCKET_S = 0.0002  # seconds that each socket adds to that
MOST_WAITING = 16 * 1024 * 1024  # bytes that may wait for a slow client
SYNC, AWARENESS, QUERY = 0, 1, 3
STORED, NOTED = 100, 101  # Heddle's own; clients of Yjs ignore kinds that they do not know
STEP_1, STEP_2, UPDATE = 0, 1, 2

LARGE = 16 * 1024  # bytes above which an update is read and tried in a thread
WORK_S, WORK_OF_A_PART_S = 0.25, 0.000_02  # seconds of CPU that an update may take
REST_OF_WORK = 4  # a member rests so many times as long as its update has taken
MOST_REST_S = 2.0
MOST_NEW_CLIENTS = 100  # client ids of one update that belong to nobody yet
MOST_QUESTIONS = 3  # in a row: a client that leaves them without an answer is refused

LATE_S = 3.0  # seconds after which those who type are told that it is not stored yet
RETRY_S, SLOWEST_RETRY_S, TRIES = 0.5, 15.0, 8  # of storing; about a minute in all
CLOSE_S = 4.0  # seconds in which a room stores what is left when the process ends


class RoomConnection(Protocol):
    """The methods that a member needs of its connection."""

    async def send_bytes(self, frame: bytes) -> None:
        """Sends one frame."""

    async def close(self, code: int) -> None:
        """Closes the connection."""


class RoomMember:
    """A socket in a room. Frames wait here for a client that is slower than the others."""

    def __init__(self, guest: Guest, room: "Room", wire: RoomConnection) -> None:
        self.guest, self.room, self.role = guest, room, guest.role
        self._wire = wire
        self._frames: deque[bytes] = deque()
        self._waiting = 0
        self._wake = asyncio.Event()
        self._code = 0
        self._asked = 0  # how often this client was asked for what is missing, in a row
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

    @property
    def is_here(self) -> bool:
        """Whether it is in its room, and is not being closed."""
        return not self._code and self in self.room.members

    async def receive(self, frame: bytes) -> None:
        """Takes a message of the client, after those before it. One that is invalid, or would make
        the document invalid, closes the socket and changes nothing."""
        if not self.is_here:
            return
        if not self._pace.take(asyncio.get_running_loop().time()):
            self.close(4429)
            return
        try:
            await self._take(frame)
        except HostileError as hostile:
            log.warning("refused from %s in %s: %s", self.guest.name, self.guest.stream, hostile)
            self.close(_code_of(hostile))

    async def _take(self, frame: bytes) -> None:
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
            await self._take_update(body, asks=step == UPDATE)
        elif kind == AWARENESS:
            now = asyncio.get_running_loop().time()
            self.room.seen.take(self, self.guest, entries_of(body), now)
            self.room.flush_soon()
        elif kind == QUERY:
            self.send(create_awareness_message(self.room.seen.encoded()))

    async def _take_update(self, data: bytes, *, asks: bool) -> None:
        if data in (b"", EMPTY):
            return
        if len(data) > MOST_UPDATE:
            raise TooLargeError("the update is too large")
        if self.role == "reader":
            if asks:
                self.close(4403)
            return
        update = await _computed(lambda: read_update(data), data)
        spent = 0.0
        async with self.room.admitting:
            if await self._may_add(update):
                spent = await self.room.admit(update, self)
        if spent * REST_OF_WORK > SLOWEST_S:  # others have their turn
            await asyncio.sleep(min(MOST_REST_S, spent * REST_OF_WORK))

    async def _may_add(self, update: Update) -> bool:
        """Whether the update can be applied, and is of this member alone. Where something was lost
        on the way, the client is asked for everything that is missing."""
        if self.room.shared.lacks(update):
            self._asked += 1
            if self._asked > MOST_QUESTIONS:
                raise HostileError("the update builds on letters that nobody has sent")
            self.send(_sync(STEP_1, self.room.shared.vector))
            return False
        self._asked = 0
        await self.room.demand_own(update.writers(self.room.shared.known), self)
        return self.is_here


class ForeignError(HostileError):
    """Letters under the client id of somebody else."""


def _code_of(hostile: HostileError) -> int:
    """The code with which the socket is closed."""
    if isinstance(hostile, TooLargeError):
        return 4413
    return 4409 if isinstance(hostile, ForeignError) else 4400


async def _computed(function: Callable[[], T], data: bytes) -> T:
    """What the function returns; in a thread where the data is large, so that the others do not
    wait for it."""
    return function() if len(data) <= LARGE else await asyncio.to_thread(function)


class _Work:
    """Measures how much CPU an update takes, and refuses it beyond its share: one that many letters
    at one place are sorted into takes pycrdt minutes."""

    def __init__(self, update: Update) -> None:
        self.spent = 0.0
        self._most = WORK_S + update.size * WORK_OF_A_PART_S
        self._start = time.thread_time()

    def step(self) -> None:
        """Counts what was done since the last step."""
        self.spent = time.thread_time() - self._start
        if self.spent > self._most:
            raise HostileError("the update takes too long to apply")


def _sync(step: int, body: bytes) -> bytes:
    return bytes([SYNC, step]) + write_var_uint(len(body)) + body


class Room:
    """One document in this process: its text, its members, and what still has to be stored."""

    def __init__(
        self, document: Document, groves: str, *, process: str, threads: ReadThreads
    ) -> None:
        self.document, self.groves, self.process = document, groves, process
        self.members: set[RoomMember] = set()
        self.seen = Awareness()
        self.idle_since: float | None = None
        self.shared = SharedText()
        self.seq = 0
        self.admitting = asyncio.Lock()  # updates of members and of the log, one after the other
        self.is_over = False  # it has given up storing: another room is opened in its place
        self._owners: dict[int, str] = {}  # of client ids, as far as they were asked for
        self._heard = 0
        self._read = threads.read
        self._unsent: list[tuple[bytes, RoomMember | None]] = []
        self._unstored: list[tuple[bytes, RoomMember]] = []
        self._unsure: set[RoomMember] = set()  # those who wait until what they typed is stored
        self._late: asyncio.TimerHandle | None = None
        self._told: set[RoomMember] = set()  # those who know that it is late
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
        self._spawn(announcements.listen([self.stream], self._hear, self._subscribed))
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

    def enter(self, member: RoomMember) -> None:
        """Sends a new member what y-websocket sends: the state of this copy, and the carets."""
        self.members.add(member)
        self.idle_since = None
        member.send(_sync(STEP_1, self.shared.vector))
        if self.seen.clients:
            member.send(create_awareness_message(self.seen.encoded()))

    def leave(self, member: RoomMember) -> None:
        """Removes a member; once the last has left, a revision is made."""
        if member not in self.members:
            return
        self.members.discard(member)
        self._unsure.discard(member)
        self._told.discard(member)
        self.seen.leave(member)
        self.flush_soon()
        if not self.members and self._rest is not None:
            self._settle_now()
        if not self.members and self._wrote:
            self._spawn(self._want_summary())

    # What is typed here.

    async def demand_own(self, clients: set[int], member: RoomMember) -> None:
        """Raises ForeignError if one of the client ids, of which a member sends new letters, is of
        somebody else. One that nobody has used is claimed for the member in the database first."""
        own = member.guest.participant
        unknown = {client for client in clients if client not in self._owners}
        if unknown:
            if len(unknown) > MOST_NEW_CLIENTS:
                raise HostileError("the update has too many clients")
            self._demand_unused(unknown, own)
            used = unknown & self.shared.known.keys()
            self._hold(member)
            owners = await self._persistently(
                document_clients.claim, self.document, unknown - used, own, used=used
            )
            if owners is None:
                self._give_up()
                return
            self._owners.update(owners)
            if self._stored.is_set():
                self._release()
        for client in clients:
            if self._owners.get(client) != own:
                raise ForeignError(f"the client id {client} is of somebody else")

    def _demand_unused(self, clients: set[int], participant: str) -> None:
        """Raises ForeignError if somebody else is seen with a caret under one of the client ids.
        Their first letter may still be on its way."""
        for client in clients:
            seen = self.seen.clients.get(client)
            if seen is not None and seen.participant not in ("", participant):
                raise ForeignError(f"the client id {client} is of somebody else")

    async def admit(self, update: Update, member: RoomMember) -> float:
        """Takes an update of a member, and stores it; returns the seconds that it took. Raises
        HostileError, and changes nothing."""
        shared, work = self.shared, _Work(update)

        def run() -> bytes:
            nonlocal work
            work = _Work(update)  # on the thread that does it
            return shared.admit(update, step=work.step)

        changed = await _computed(run, update.data)
        if changed != EMPTY:
            self._typed(changed, member)
        return work.spent

    def _typed(self, changed: bytes, by: RoomMember) -> None:
        """Stores what a member has typed; then it is sent on."""
        self._unstored.append((changed, by))
        self._wrote = by.guest.participant
        self._hold(by)
        if self._stored.is_set():
            self._stored.clear()
            self._spawn(self._store())
        self._rest_again()

    # Those who type are told if it takes long.

    def _hold(self, member: RoomMember) -> None:
        """Something of the member is not stored yet."""
        self._unsure.add(member)
        if self._told:
            self._tell()
        elif self._late is None:
            self._late = self._loop.call_later(LATE_S, self._tell)

    def _tell(self) -> None:
        """Notifies those who type that it is not stored yet."""
        for member in self._unsure - self._told:
            member.send(bytes([STORED, 0]))
        self._told |= self._unsure

    def _release(self) -> None:
        """All is stored, and those who were told otherwise are notified."""
        if self._late is not None:
            self._late.cancel()
            self._late = None
        for member in self._told:
            member.send(bytes([STORED, 1]))
        self._told, self._unsure = set(), set()

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
            frame = create_update_message(joined([update for update, _ in unsent]))
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
            self._spawn(announcements.send_async(self.stream, message))

    async def _store(self) -> None:
        """Adds what was typed to the log, and sends it on."""
        try:
            while self._unstored and not self.is_over:
                batch = list(self._unstored)
                update = joined([changed for changed, _ in batch])
                authors = list(dict.fromkeys(by.guest.participant for _, by in batch))
                append = document_log.append_typed
                seq = await self._persistently(append, self.document, update, authors)
                if seq is None:
                    self._give_up()
                    return
                del self._unstored[: len(batch)]
                for changed, by in batch:
                    self.shared.stored(changed)
                    self._unsent.append((changed, by))
                self.flush_soon()
                if seq == self.seq + 1:
                    self.seq = seq
                if self._heard > self.seq or seq > self.seq:  # somebody else wrote as well
                    self._bell.set()
            self._release()
        finally:
            self._stored.set()

    async def _persistently(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """What the function returns; it is tried again while the database fails, and waits longer
        each time. None if it keeps failing, or the document is gone."""
        for number in range(TRIES):
            try:
                return await self._read(function, *args, **kwargs)
            except CommandError as refused:
                log.warning("could not store %s: %s", self.stream, refused)
                if refused.code == "NOT_FOUND":
                    return None
            except Exception:
                log.warning("could not store %s", self.stream, exc_info=True)
            if number + 1 < TRIES:
                await asyncio.sleep(min(SLOWEST_RETRY_S, RETRY_S * 2**number))
        return None

    def _give_up(self, code: int = 1013) -> None:
        """Closes every member, and this room. Their browsers hold what they typed, nobody else was
        sent it, and they send it again when they come back."""
        if not self.is_over:
            self.is_over = True
            self._say_what_is_left()
            self._abandon_rest()
            for member in list(self.members):
                member.close(code)

    def _say_what_is_left(self) -> None:
        if self._unstored:
            size = sum(len(changed) for changed, _ in self._unstored)
            names = ", ".join(sorted({by.guest.name for _, by in self._unstored}))
            log.error("not stored: %s, %d bytes typed by %s", self.stream, size, names)

    def _abandon_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

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
                rows = await self._read(_rows, self.document.pk, self.seq)
                for seq, update in rows:
                    async with self.admitting:
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
        elif message.get("type") == "noted":
            for member in list(self.members):
                member.send(bytes([NOTED]))

    # Revisions.

    def _rest_again(self) -> None:
        self._abandon_rest()
        self._rest = self._loop.call_later(REST_S, self._settle_now)

    def _settle_now(self) -> None:
        self._abandon_rest()
        self._spawn(self._settle())

    async def _settle(self) -> None:
        await self._stored.wait()
        if self.is_over:
            return
        try:
            if await self._differs():
                log.error("%s differs from its log: it is opened again", self.stream)
                self._give_up(1012)
            await self._read(document_log.settle, self.document)
        except Exception:
            log.warning("could not settle %s", self.stream, exc_info=True)
            self._rest_again()

    async def _differs(self) -> bool:
        """Whether this copy differs from what its log replays to. The log is what is kept: a copy
        that differs shows its members what nobody else has."""
        seq, replayed = await self._read(_replayed, self.document.pk)
        if seq != self.seq or self._unstored:
            return False  # somebody is typing: it is compared when they rest
        return replayed != _signature(self.shared)

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
        """Stores what is left, makes a revision of it, and stops listening. What cannot be stored
        in CLOSE_S is logged and left to the browsers that hold it."""
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._stored.wait()
                if self._rest is not None and not self.is_over:
                    self._abandon_rest()
                    await self._settle()
        except TimeoutError:
            if not self.is_over:
                self._say_what_is_left()
        self.is_over = True
        self._abandon_rest()
        if self._late is not None:
            self._late.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _rows(document_id: int, seq: int) -> list[tuple[int, bytes]]:
    return list(updates_after(document_id, seq))


Signature = tuple[str, tuple[tuple[int, int], ...]]


def _replayed(document_id: int) -> tuple[int, Signature]:
    """The last seq of the log, and the signature of what it replays to."""
    rows = _rows(document_id, 0)
    shared = SharedText(update for _, update in rows)
    return rows[-1][0] if rows else 0, _signature(shared)


def _signature(shared: SharedText) -> Signature:
    """What two equal copies have in common: the text, and the clock of each client."""
    return shared.text, tuple(sorted(shared.known.items()))


def _document(uid: str) -> Document | None:
    return Document.objects.select_related("grove").filter(uid=uid).first()


class Rooms:
    """The rooms of this process: opened for the first member, closed a while after the last one
    left."""

    def __init__(self) -> None:
        self.process = secrets.token_hex(8)
        self._threads = ReadThreads()
        self._rooms: dict[str, Room] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._watch: asyncio.Task[None] | None = None

    async def enter(self, guest: Guest, wire: RoomConnection) -> RoomMember:
        """Adds a member to the room of the guest's document. Raises SocketRefused if the document
        is gone."""
        if self._watch is None:
            self._watch = asyncio.create_task(self._watching())
        async with self._opening.setdefault(guest.stream, asyncio.Lock()):
            room = self._rooms.get(guest.stream)
            if room is not None and room.is_over:
                await room.close()
                room = None
            if room is None:
                document = await self._threads.read(_document, guest.stream.partition(":")[2])
                if document is None:
                    raise SocketRefused(4404)
                room = Room(document, guest.groves, process=self.process, threads=self._threads)
                await room.open()
                self._rooms[guest.stream] = room
            member = RoomMember(guest, room, wire)
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
            if room.is_over and not self._opening[name].locked():
                del self._rooms[name]
                await room.close()
            elif room.members or room.is_busy or self._opening[name].locked():
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
        verdicts = await self._threads.read(verdicts_of, passes) if passes else {}
        judge(members, verdicts)

    async def close(self) -> None:
        """Closes every socket with 1012, so that clients reconnect immediately."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        closing = list(self._rooms.values())
        for room in closing:
            for member in list(room.members):
                member.close(1012)
        await asyncio.gather(*(room.close() for room in closing))
        self._rooms.clear()
        threads, self._threads = self._threads, ReadThreads()
        try:
            await asyncio.wait_for(threads.close(), CLOSE_S)
        except TimeoutError:
            log.error("the database does not answer: its threads are left")


rooms = PerLoop(Rooms)
