"""One open socket at a feed: what it has been sent, what it still has to be sent, and when it is
closed."""

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from loom.errors import CommandError, not_found
from loom.live import frames, reads
from loom.live.admission import Guest
from loom.live.frames import Partial, RateLimit, SentText

if TYPE_CHECKING:
    from loom.live.feed import Feed

log = logging.getLogger("heddle.live")

HEARTBEAT_S = 20.0
SLOW_S = 2.0  # seconds of a send after which events fall out of the ring
STUCK_S = 20.0  # seconds of a send after which a socket counts as stuck
FAREWELL_S = 30.0
FRAMES_A_SECOND = 10.0
TOO_SLOW = 4408  # the close code for a client that does not read


class FeedConnection(Protocol):
    """The methods that a socket needs of its connection; a Channels consumer has them."""

    async def send(self, text_data: str) -> None:
        """Sends one frame."""

    async def close(self, code: int) -> None:
        """Closes the connection."""


class Socket:
    """A guest at a feed. Nothing is queued here: a cursor into the feed's ring, and one into the
    text of each running generation, determine what comes next. So a slow socket gets merged
    deltas, and costs no memory."""

    def __init__(self, guest: Guest, feed: "Feed", wire: FeedConnection) -> None:
        self.guest = guest
        self.feed = feed
        self.wake = asyncio.Event()
        self._role = guest.role
        self._role_sent = ""
        self.close_code = 0
        self._cursor = guest.since
        self._wire = wire
        self._closing = asyncio.Event()
        self._readers: dict[str, SentText] = {}
        self._here_sent = -1
        self._drawn = feed.drawings.count
        self._is_behind = guest.since < feed.ring.head
        self._beat_at = 0.0
        self._sending_since: float | None = None
        self._turn_of_texts = -1
        self._frames = RateLimit(FRAMES_A_SECOND, burst=40)
        self._loop = asyncio.get_running_loop()

    @property
    def role(self) -> str:
        """The current role of the guest, in the tree if this is the socket of one."""
        return self._role

    @role.setter
    def role(self, role: str) -> None:
        if role != self._role:
            self._role = role
            self.wake.set()

    def close(self, code: int) -> None:
        """Requests the end of this socket, with a code for the reason."""
        self.close_code = self.close_code or code
        self._closing.set()

    def end(self) -> None:
        """Ends `run` without a close frame: the client has gone."""
        self._closing.set()

    def look(self, now: float) -> None:
        """Called each second: closes a socket whose client does not read."""
        if self._sending_since is not None:
            waited_s = now - self._sending_since
            if waited_s > (SLOW_S if self._cursor < self.feed.ring.floor else STUCK_S):
                self.close(TOO_SLOW)
        if now >= self._beat_at:
            self.wake.set()

    async def run(self) -> None:
        """Serves the socket until it is closed from either side."""
        tasks = [
            asyncio.create_task(self._write()),
            asyncio.create_task(self._closing.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._closing.set()
            self.feed.leave(self)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome in ended:
            # OSError means that the peer has left (ASGI 2.4); everything else is a bug.
            if isinstance(outcome, Exception) and not isinstance(outcome, OSError):
                self._fail(outcome)
        if self.close_code:
            await self._say_goodbye()

    def _fail(self, error: Exception) -> None:
        log.error("a socket of %s failed", self.feed.stream, exc_info=error)
        self.close(1011)

    async def receive(self, text: str | None) -> None:
        """Takes one frame of the client; a bad one gets an error frame and changes nothing."""
        if self._closing.is_set():
            return
        try:
            await self._take(text)
        except CommandError as refused:
            await self._send(frames.error(refused))
        except OSError:
            self.end()
        except Exception as error:
            self._fail(error)

    async def _say_goodbye(self) -> None:
        try:
            await asyncio.wait_for(self._wire.close(code=self.close_code), FAREWELL_S)
        except (OSError, TimeoutError, RuntimeError):
            return  # gone already, or it never read what was sent before

    async def _send(self, frame: str) -> None:
        if self.close_code:  # nothing is sent after the close
            return
        self._sending_since = self._loop.time()
        await self._wire.send(text_data=frame)
        self._sending_since = None

    async def _write(self) -> None:
        await self._demand_cursor()
        while True:
            self.wake.clear()
            await self._send_role()
            await self._send_events()
            await self._send_drawn()
            await self._send_deltas()
            await self._send_presence()
            if self._loop.time() >= self._beat_at:
                self._beat_at = self._loop.time() + HEARTBEAT_S
                await self._send(frames.heartbeat(self.feed.ring.head))
            await self.wake.wait()

    async def _demand_cursor(self) -> None:
        """A client's cursor may be ahead of this feed, but not of the log: then a backup was
        restored, and the client shows what is gone, so it has to load again."""
        if self._cursor > self.feed.ring.head:
            head = (await self.feed.read(reads.heads, [self.feed.stream])).get(self.feed.stream, 0)
            self.feed.ring_bell(head)
            if self._cursor > head:
                self._cursor = head
                await self._send(frames.reload(head))

    async def _send_role(self) -> None:
        """Sends a page of a tree the role that its reader has, when it connects and whenever it
        changes: the page may have been drawn for another one."""
        if self.guest.drawn and self.guest.tree_uid and self._role_sent != self._role:
            self._role_sent = self._role
            await self._send(frames.role(self._role))

    async def _send_events(self) -> None:
        ring = self.feed.ring
        while self._cursor < ring.head:
            if self._cursor < ring.floor:
                # Not past the ring: permissions were only checked for what is in it.
                count = min(reads.PAGE, ring.head - self._cursor)
                entries = await self.feed.read(
                    reads.entries_after, self.feed.stream, self._cursor, count
                )
                if entries and entries[0].seq > self._cursor + 1:  # the ones before were trimmed
                    self._cursor = ring.head
                    await self._send(frames.reload(self._cursor))
                    continue
            else:
                entries = ring.after(self._cursor)
            for entry in entries:
                if entry.kind == "generation.ended":
                    await self._send_deltas(at_once=True)
                await self._send(entry.frame_for(self.role))
                self._cursor = entry.seq
            if not entries:
                return

    async def _send_drawn(self) -> None:
        """Sends rendered parts, after the events that changed them. Changes before this socket was
        opened are not sent: its page fetches what it shows."""
        if not self.guest.drawn:
            return
        if self._is_behind:
            self._is_behind = False
            await self._send(frames.drawn(self._cursor, {}))
        while drawing := self.feed.drawings.next(self._drawn, self.guest.drawn):
            number, seq, frame = drawing
            if seq > self._cursor:  # its events come first
                self.wake.set()
                return
            self._drawn = number
            await self._send(frame)

    async def _send_deltas(self, *, at_once: bool = False) -> None:
        """Sends what is new of running texts, in the turn of all sockets; `at_once` before the end
        of one."""
        if not at_once and self._turn_of_texts == self.feed.turn_of_texts:
            return
        self._turn_of_texts = self.feed.turn_of_texts
        for partial, reader in self._behind():
            text, whole = reader.take(partial)
            await self._send(frames.delta(partial.uid, chunk=partial.chunk, text=text, whole=whole))

    def _behind(self) -> list[tuple[Partial, SentText]]:
        """The generations with unsent text."""
        partials = self.feed.partials
        if not partials:
            self._readers.clear()
            return []
        self._readers = {
            uid: self._readers.get(uid) or SentText(partial.epoch)
            for uid, partial in partials.items()
        }
        pairs = [(partials[uid], reader) for uid, reader in self._readers.items()]
        return [pair for pair in pairs if pair[1].is_behind(pair[0])]

    async def _send_presence(self) -> None:
        here = self.feed.here
        if self._here_sent != here.version:
            is_first = self._here_sent == -1
            self._here_sent = here.version
            places = here.places()
            if places or not is_first:
                await self._send(frames.presence(places))

    async def _take(self, text: str | None) -> None:
        if not self._frames.take(self._loop.time()):
            raise CommandError("LIMIT_EXCEEDED", "Too many frames.", hint="Send fewer.")
        given = frames.read(text)
        tree = self.guest.ticket.tree_id
        if not self.guest.tree_uid or tree is None:
            raise CommandError(
                "INVALID_SYNTAX", "Only trees have presence.", hint="Send nothing on this socket."
            )
        if not await self.feed.read(reads.node_exists, tree, given.node):
            raise not_found(f"[{given.node}]")
        place = {"participant": self.guest.participant, "node": given.node.lower()}
        if given.buffer is not None:
            place["buffer"] = given.buffer
        self.feed.put(self, place)
