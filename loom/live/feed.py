"""One stream in this process, which is notified, reads the log once and wakes its sockets."""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from loom.engine import announcements, presence
from loom.live import frames, reads
from loom.live.admission import Guest
from loom.live.frames import (
    Drawings,
    EventFrame,
    Pace,
    Partial,
    Ring,
)
from loom.live.positions import Place, Positions
from loom.live.read_threads import ReadThreads
from loom.live.rechecks import Pass, Verdict, judge, verdicts_of
from loom.live.sockets import Socket
from loom.live.to_render import ToRender

log = logging.getLogger("heddle.live")

SUBSCRIBED_S = 2.0  # a broker that is down must not keep people from the log
CATCH_UP_S = 0.25  # seconds; a generation's row is written at least this often
CATCH_UPS = 8
PRESENCE_GAP_S = 0.2
ANNOUNCE_S = 10.0  # an announcement may be lost


class Feed:
    """All sockets of one stream in this process, and their shared state."""

    def __init__(self, guest: Guest, *, process: str, threads: ReadThreads) -> None:
        self.stream = guest.stream
        self.groves = guest.groves
        self.tree_uid, self.drawn_in = guest.tree_uid, guest.drawn_in
        self.process = process
        self.read = threads.read
        self.ring = Ring(0)
        self.sockets: set[Socket] = set()
        self._passes: set[Pass] | None = None  # of the sockets; None: some came or went
        self._verdicts: dict[Pass, Verdict] = {}  # the last, which all sockets follow
        self.partials: dict[str, Partial] = {}
        self._ended: deque[str] = deque(maxlen=256)
        self.turn_of_texts = 0  # counts when sockets are sent what is new of running texts
        self._pace = Pace()
        self._grown: set[str] = set()  # generations whose text has grown since the last turn
        self._will_turn = False
        self.drawings = Drawings()
        self._undrawn = ToRender()
        self._is_drawing = False
        self.here = Positions()
        self.idle_since: float | None = None
        self.on_access: Callable[[Feed], None] = lambda feed: None
        self._bell = asyncio.Event()
        self._subscribed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._announced_at = 0.0
        self._will_announce = False
        self._loop = asyncio.get_running_loop()

    async def open(self) -> None:
        """Joins the group first, then reads the head of the log, so that nothing is missed in
        between."""
        self._spawn(
            announcements.listen((self.stream, self.groves), self._receive, self._subscribed)
        )
        try:
            await asyncio.wait_for(self._subscribed.wait(), SUBSCRIBED_S)
        except TimeoutError:
            log.warning("no broker for %s: reading the log each second", self.stream)
        self.ring = Ring((await self.read(reads.heads, [self.stream])).get(self.stream, 0))
        if self.tree_uid:
            for uid, chunk, text in await self.read(reads.running, self.tree_uid):
                self._partial(uid).catch_up(chunk, text)
        self._spawn(self._follow())
        self._announce(asks=True)

    def close(self) -> None:
        """Stops listening."""
        for task in self._tasks:
            task.cancel()

    def ring_bell(self, seq: int) -> None:
        """Notifies the feed that the stream has reached `seq`."""
        if seq > self.ring.head:
            self._bell.set()

    def put(self, socket: Socket, place: Place) -> None:
        """Stores the position of a socket's participant, and sends it to everybody."""
        if self.here.put(id(socket), place):
            self._announce()

    def join(self, socket: Socket) -> None:
        """Adds a socket."""
        self.sockets.add(socket)
        self._passes, self._verdicts = None, {}

    def leave(self, socket: Socket) -> None:
        """Forgets a socket."""
        self.sockets.discard(socket)
        self._passes = None
        if self.here.leave(id(socket)):
            self._announce()

    def tick(self, now: float) -> None:
        """Runs once a second: slow sockets, heartbeats, and presence."""
        for socket in self.sockets:
            socket.look(now)
        if self.here.expire(now):
            self._wake_all()
            self._report()
        if self.here.own and now - self._announced_at >= ANNOUNCE_S:
            self._announce()

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _wake_all(self) -> None:
        for socket in self.sockets:
            socket.wake.set()

    # The log.

    async def _follow(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            try:
                await self._catch_up()
            except Exception:  # the database may be away; the next bell or second tries again
                log.warning("could not read %s", self.stream, exc_info=True)

    async def _catch_up(self) -> None:
        while True:
            entries, verdicts = await self.read(
                reads.news, self.stream, self.ring.head, reads.PAGE, self.passes
            )
            if not entries:
                return
            self.judge(verdicts)
            self.ring.extend(entries)
            for entry in entries:
                if entry.kind == "generation.ended":
                    self._end_partial(entry.frame)
            self._wake_all()
            self._draw(entries)
            if len(entries) < reads.PAGE:
                return
            await asyncio.sleep(0)

    # What changed, drawn for the pages that show it.

    def _draw(self, entries: list[EventFrame]) -> None:
        """Renders what the events changed, once for all sockets; changes in the meantime are
        rendered together afterwards."""
        if not self._languages():
            self._undrawn = ToRender()
            return
        for entry in entries:
            self._undrawn |= entry.changed
        if self._undrawn and not self._is_drawing:
            self._is_drawing = True
            self._spawn(self._drawing())

    def _languages(self) -> frozenset[str]:
        return frozenset(socket.guest.drawn for socket in self.sockets if socket.guest.drawn)

    async def _drawing(self) -> None:
        try:
            while self._undrawn:
                languages = self._languages()
                changed, self._undrawn = self._undrawn, ToRender()
                seq = self.ring.head
                parts: dict[str, dict[str, Any]] = {}
                try:
                    parts = await self.read(reads.drawn, self.drawn_in, changed, languages)
                except Exception:  # pages fetch what they show instead
                    log.warning("could not draw %s", self.stream, exc_info=True)
                self.drawings.add(
                    seq,
                    {
                        language: frames.drawn(seq, parts.get(language, {}))
                        for language in languages
                    },
                )
                self._wake_all()
        finally:
            self._is_drawing = False

    @property
    def passes(self) -> set[Pass]:
        """What admitted the sockets, each once."""
        if self._passes is None:
            self._passes = {socket.guest.ticket for socket in self.sockets}
        return self._passes

    async def recheck(self) -> None:
        """Checks the current permissions of each socket's guest; closes or restricts it."""
        if self.passes:
            self.judge(await self.read(verdicts_of, self.passes))

    def judge(self, verdicts: dict[Pass, Verdict]) -> None:
        """Closes or restricts the sockets according to the verdicts of `rechecks.verdicts_of`, if
        these are not those of the last time."""
        if verdicts != self._verdicts:
            judge(list(self.sockets), verdicts)
            self._verdicts = verdicts

    # The doorbell.

    def _receive(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "access":
            self.on_access(self)
        elif message.get("stream", self.stream) != self.stream:
            return
        elif kind == "bell":
            self.ring_bell(message["seq"])
        elif kind == "delta":
            self._receive_delta(message["generation"], message["chunk"], message["text"])
        elif kind == "presence" and message.get("process") != self.process:
            self.here.take(message["process"], message["here"], self._loop.time())
            if message.get("asks"):
                self._announce()
            self._wake_all()

    # Running generations.

    def _partial(self, uid: str) -> Partial:
        return self.partials.setdefault(uid, Partial(uid))

    def _receive_delta(self, uid: str, chunk: int, text: str) -> None:
        if uid in self._ended:  # it came the slower way
            return
        partial = self._partial(uid)
        if partial.take(chunk, text):
            self._read_on(partial)
        self._grew(uid)

    def _grew(self, uid: str) -> None:
        """Lets all sockets send the text of a generation in the next turn: at once after a rest."""
        self._grown.add(uid)
        if self._will_turn:
            return
        self._will_turn = True
        wait_s = self._pace.wait_s(self._loop.time())
        if wait_s:
            self._loop.call_later(wait_s, self._turn)
        else:
            self._turn()

    def _turn(self) -> None:
        self._will_turn = False
        self._pace.pay(len(self._grown), self._loop.time(), sockets=len(self.sockets))
        self._grown.clear()
        self.turn_of_texts += 1
        self._wake_all()

    def reached(self, uid: str, chunk: int) -> None:
        """Notes how much of a running text its row has, so that pieces lost on the way here are
        read from the row even if no more arrive."""
        if uid not in self._ended and chunk > self._partial(uid).chunk:
            self._read_on(self._partial(uid))

    def _read_on(self, partial: Partial) -> None:
        if not partial.is_catching_up:
            partial.is_catching_up = True
            self._spawn(self._close_gap(partial))

    async def _close_gap(self, partial: Partial) -> None:
        """Reads the generation's row until it contains the text before the piece that arrived too
        early."""
        try:
            for _ in range(CATCH_UPS):
                row = await self.read(reads.partial, partial.uid)
                if row is None:  # over: its end comes, or came, as an event
                    self.partials.pop(partial.uid, None)
                    return
                partial.catch_up(*row)
                self._grew(partial.uid)
                if not partial.waiting:
                    return
                await asyncio.sleep(CATCH_UP_S)
        finally:
            partial.is_catching_up = False

    def _end_partial(self, frame: str) -> None:
        ended = json.loads(frame)["event"]["payload"]["generation"]["id"]
        self._ended.append(ended)
        # Sockets send the rest of it before the event, so it is only removed then.
        self._loop.call_later(1, self.partials.pop, ended, None)

    # Who is here.

    def _announce(self, *, asks: bool = False) -> None:
        self._wake_all()
        if self._will_announce and not asks:
            return
        self._will_announce = True
        due = max(0.0, self._announced_at + PRESENCE_GAP_S - self._loop.time())
        self._loop.call_later(0 if asks else due, self._spawn_announcement, asks)

    def _spawn_announcement(self, asks: bool) -> None:
        self._will_announce = False
        self._announced_at = self._loop.time()
        message = {
            "type": "presence",
            "stream": self.stream,
            "process": self.process,
            "here": list(self.here.own.values()),
            "asks": asks,
        }
        self._spawn(announcements.send_async(self.stream, message))
        if not asks:  # the asking process does not know the others yet
            self._report()

    def _report(self) -> None:
        if self.tree_uid:
            here = self.here.by_participant(self.process)
            self._spawn(asyncio.to_thread(self._store, here))

    def _store(self, here: dict[str, presence.Place]) -> None:
        presence.renew(self.process)
        presence.report(self.stream, here)
