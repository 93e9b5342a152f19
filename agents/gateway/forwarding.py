"""Sending a request on to its provider, and the answer back as it arrives, byte for byte. What
passes is recorded beside it; a failure of the recording never stops it."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from channels.db import database_sync_to_async

from agents.gateway import recording, workspace
from agents.gateway.growing import GrowingText
from agents.gateway.keys import REFUSAL, GatewayCaller, is_valid
from agents.gateway.messages import (
    Shape,
    can_be_written_again,
    chain,
    conversation_in,
    history_of,
    previous_answer_in,
)
from agents.gateway.models import GatewayKey, GatewayRequest, Mode
from agents.gateway.sessions import names_in
from agents.gateway.upstream import Upstream, headers_returned, headers_sent, upstream_of
from agents.providers.transport import CheckedTransport, Exchange, Limits, Outgoing, exchange
from agents.providers.values import BrokenConnection
from loom.access import Actor
from loom.engine import streams
from loom.engine.announcements import SEND_S, send_async
from loom.errors import CommandError
from loom.money import spending
from loom.people.models import Participant
from loom.turns.generation_lifecycle import Received
from loom.turns.models import Generation

if TYPE_CHECKING:
    from agents.gateway.recording import Incoming

log = logging.getLogger("heddle.gateway")

# Programs wait for long answers themselves, so these are only for providers that hang.
LIMITS = Limits(connect_s=10, first_s=600, idle_s=300, total_s=3600, body_bytes=64 * 1024 * 1024)
STOPPED = "stopped"  # why an answer was cut that somebody stopped, or whose key ended
VALID_EVERY_S = 1.0  # seconds between two looks whether the key of an answer is valid
KEPT_EVERY_S = 1.0  # seconds between two notes of what has arrived
SHOWN_EVERY_S = 0.05  # seconds between two messages to open pages
MOST_LISTED = 2 * 1024 * 1024  # bytes of a provider's list of models
LIST_LIMITS = replace(LIMITS, first_s=3, idle_s=3, total_s=5, body_bytes=MOST_LISTED)
BYPASS = (b"x-loom", b"bypass")

T = TypeVar("T")


class Replying(Protocol):
    """Where the answer goes."""

    has_begun: bool

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None: ...
    async def piece(self, data: bytes, *, more: bool = True) -> None: ...
    async def error(self, status: int, kind: str, message: str) -> None: ...


@dataclass(frozen=True)
class ProgramRequest:
    """A request of a program: who sent it with which key, its shape, its address behind `/v1` with
    the query, its headers by lower-case name, its bytes as they came, the JSON object in them, and
    the bytes without their compression. `agent` is the agent of the grove that it asks, if its
    provider is called instead of the key's."""

    caller: GatewayCaller
    shape: Shape
    path: str
    query: str
    headers: dict[str, str]
    raw: bytes = field(repr=False)
    body: dict[str, Any] = field(repr=False)
    plain: bytes = field(default=b"", repr=False)
    agent: Participant | None = None

    @property
    def model(self) -> Participant:
        """The participant whose provider is called."""
        return self.agent or self.key.participant

    @property
    def actor(self) -> Actor:
        """The person, as a member of the grove."""
        return self.caller.actor

    @property
    def key(self) -> GatewayKey:
        """The key."""
        return self.caller.key

    def outgoing(self, upstream: Upstream, raw: bytes, *, method: str = "POST") -> Outgoing:
        """The request as it goes to the provider."""
        query = f"?{self.query}" if self.query else ""
        headers = {**headers_sent(self.headers), **upstream.key_headers}
        if raw is not self.raw:  # other bytes than the program's own are not compressed
            headers.pop("content-encoding", None)
        return Outgoing(f"{upstream.base_url}{self.path}{query}", headers, raw, method)


_transports: dict[tuple[asyncio.AbstractEventLoop, tuple[str, ...]], CheckedTransport] = {}


def _transport(upstream: Upstream) -> CheckedTransport:
    """The transport for these allowed addresses in this event loop, with its open connections."""
    place = asyncio.get_running_loop(), upstream.allow
    if place not in _transports:
        for loop, allow in list(_transports):
            if loop.is_closed():
                del _transports[loop, allow]
        _transports[place] = CheckedTransport(upstream.allow)
    return _transports[place]


def in_thread(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """A function that reads or writes rows, to be awaited."""
    return database_sync_to_async(function, thread_sensitive=False)


def _used_up(asked: ProgramRequest) -> CommandError:
    return spending.used_up(asked.caller.actor.grove)


def failure_of(code: str) -> tuple[int, str]:
    """The status and the kind of error with which a program is told that no answer comes."""
    return (429, "rate_limit_error") if code == "LIMIT_EXCEEDED" else (502, "api_error")


async def _upstream(asked: ProgramRequest, reply: Replying) -> Upstream | None:
    """The provider of the key; None if it cannot be called, which the program is told."""
    try:
        if asked.caller.is_used_up:
            raise await in_thread(_used_up)(asked)
        upstream = upstream_of(asked.model)
    except CommandError as refused:
        status, kind = failure_of(refused.code)
        await reply.error(status, kind, f"{refused.message} {refused.hint}".strip())
        return None
    if not upstream.base_url:
        message = f"{asked.model.name} has no address. An owner can enter one."
        await reply.error(502, "api_error", message)
        return None
    return upstream


# Requests that only pass.


async def passing(
    asked: ProgramRequest, reply: Replying, receive: Any, *, is_bypass: bool = False
) -> None:
    """Sends a request on and its answer back, without recording either; `is_bypass`: although
    requests to its address are recorded."""
    upstream = await _upstream(asked, reply)
    if upstream is not None:
        passage = _Passage(asked, upstream, reply, is_bypass=is_bypass)
        try:
            await _until_cut(passage, asked.raw, receive)
        finally:
            _in_background(_paid(asked, passage.received(), is_text=is_bypass))


async def listed(asked: ProgramRequest) -> list[dict[str, Any]]:
    """The models that the provider lists; none if it does not answer within seconds."""
    try:
        upstream = upstream_of(asked.model)
        outgoing = asked.outgoing(upstream, b"", method="GET")
        async with exchange(_transport(upstream), outgoing, LIST_LIMITS) as came:
            pieces = [piece async for piece in came.chunks()]
        value = json.loads(b"".join(pieces)) if came.status == 200 else {}
    except (BrokenConnection, CommandError, ValueError, RecursionError):
        return []
    data = value.get("data") if isinstance(value, dict) else None
    return [model for model in data if isinstance(model, dict)] if isinstance(data, list) else []


# Requests that are recorded.


async def recorded(asked: ProgramRequest, reply: Replying, receive: Any) -> None:
    """Sends a request on and its answer back, and records both."""
    upstream = await _upstream(asked, reply)
    if upstream is None:
        return
    record = Recording(asked, upstream)
    raw = asked.raw
    if record.adds:
        raw = await record.prepared() or asked.raw
    record.look()
    passage = _Passage(asked, upstream, reply, record)
    cut = "the server stopped"
    try:
        cut = await _until_cut(passage, raw, receive, record.stopped) or passage.broken
    finally:
        record.ended(passage.received(), cut)


async def _until_cut(
    passage: "_Passage", raw: bytes, receive: Any, stopped: asyncio.Event | None = None
) -> str:
    """Sends `raw` and passes the answer on, to its end or until it is `stopped` or its key is no
    longer valid; returns why it was cut, or ""."""
    stopped = stopped or asyncio.Event()
    watch = asyncio.ensure_future(_stop_without_key(passage.asked.key, stopped))
    try:
        cut = await until_gone(passage.run(raw), receive, stopped)
    finally:
        watch.cancel()
    if cut == STOPPED and not passage.reply.has_begun:
        await passage.reply.error(401, "authentication_error", REFUSAL)
    return cut


async def _stop_without_key(key: GatewayKey, stopped: asyncio.Event) -> None:
    """Sets `stopped` once the key is no longer valid."""
    while not stopped.is_set():
        await asyncio.sleep(VALID_EVERY_S)
        try:
            if not await in_thread(is_valid)(key):
                stopped.set()
        except Exception:  # such as a database that is away for a moment: asked again
            log.warning("could not look whether a gateway key is valid", exc_info=True)


async def until_gone(work: Any, receive: Any, stopped: asyncio.Event | None = None) -> str:
    """Runs `work` to its end, or until the program closes the connection or somebody has `stopped`
    it; returns why it was cut, or ""."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
    halted = asyncio.ensure_future((stopped or asyncio.Event()).wait())
    try:
        await asyncio.wait({task, gone, halted}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            return "the program went away" if gone.done() else STOPPED
        task.result()
        return ""
    finally:
        task.cancel()
        gone.cancel()
        halted.cancel()


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass
class _Passage:
    """One answer on its way from the provider to the program."""

    asked: ProgramRequest
    upstream: Upstream
    reply: Replying
    record: "Recording | None" = None
    is_bypass: bool = False
    broken: str = ""
    came: Exchange | None = None
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    first_at: datetime | None = None

    async def run(self, raw: bytes) -> None:
        """Sends `raw` and passes the answer on."""
        outgoing = self.asked.outgoing(self.upstream, raw)
        try:
            async with exchange(_transport(self.upstream), outgoing, LIMITS) as came:
                self.came = came
                if came.status >= 400:
                    await self._refusal(came)
                else:
                    await self._stream(came)
        except BrokenConnection as broken:
            self.broken = broken.failure.said[:60]
            if not self.reply.has_begun:
                await self.reply.error(502, "api_error", broken.failure.said)

    async def _headers(self, came: Exchange) -> list[tuple[bytes, bytes]]:
        if self.record is not None:
            self.is_bypass = await self.record.is_bypassed()
        return [*headers_returned(came.headers), *([BYPASS] if self.is_bypass else [])]

    async def _stream(self, came: Exchange) -> None:
        await self.reply.start(came.status, await self._headers(came))
        async for piece in came.chunks():
            if self.first_at is None:
                self.first_at = datetime.now(UTC)
            await self.reply.piece(piece)
            if self.record is not None:
                self.record.grew(piece, came)
        await self.reply.piece(b"", more=False)

    async def _refusal(self, came: Exchange) -> None:
        """Passes an error on unchanged, since programs look for its wording; only the provider's
        key is masked if it stands there: it is not the program's."""
        body = b"".join([piece async for piece in came.chunks()])
        secret = self.upstream.secret.encode()
        if len(secret) >= 8 and secret in body:
            body = body.replace(secret, b"*" * len(secret))
            came.body[:] = body
        await self.reply.start(came.status, await self._headers(came))
        await self.reply.piece(body, more=False)

    def received(self) -> Received:
        """What arrived of the answer."""
        if self.came is None:
            return Received(body=b"", started_at=self.started_at)
        headers = {name: value for name, value in self.came.headers.items() if name != "set-cookie"}
        return Received(
            body=bytes(self.came.body),
            status=self.came.status,
            headers=headers,
            started_at=self.started_at,
            first_at=self.first_at,
        )


Place = tuple[int, str, str]
_open: dict[Place, list["Recording"]] = {}
_background: set[asyncio.Task[None]] = set()
EARLIER_S = 5.0  # how long a record waits for those that began before it in its session
PREPARING_S = 1.0  # how long a request with the workspace waits for those before it
LOOKING_S = 0.5  # how long an answer waits until it is known whether it can be recorded


class Recording:
    """The recording of one request, beside its passage: begun in another thread when the answer
    begins, kept up to date while it grows, ended after it. Requests of one session are recorded in
    their order, so that an answer has its place before the next request looks for it; none of
    them waits for that to be sent on. In the mode workspace, a request waits for what decides its
    bytes (the texts that were added to earlier ones, and the answer that it names as the one
    before), and until what was added to it is stored: a kill would make the provider see other
    bytes later. What is still being recorded is then stated with the next message."""

    def __init__(self, asked: ProgramRequest, upstream: Upstream) -> None:
        self._asked, self._upstream = asked, upstream
        self._sent, self._answered, self._over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        named = names_in(asked.headers, asked.body)
        self._place = asked.key.pk, named.session, named.agent
        self._earlier = list(_open.setdefault(self._place, []))
        if previous_answer_in(asked.body):
            # One of the two may leave out the name of their session.
            others = (records for place, records in _open.items() if place[0] == asked.key.pk)
            self._earlier = [
                record
                for records in others
                for record in records
                if record._place == self._place or record._answered.is_set()
            ]
        _open[self._place].append(self)
        self._places: list[str] | None = None
        if not self.adds:
            self._sent.set()
        self._begun: asyncio.Future[GatewayRequest | None] | None = None
        self._growing: GrowingText | None = None
        self._waiting: list[str] = []  # words that no page has been sent yet
        self._chunk = 0
        self._showing: asyncio.Task[None] | None = None
        self.stopped = asyncio.Event()
        self._prepared: workspace.PreparedRequest | None = None
        self.has_failed = False
        self._look: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Looks whether the request can be recorded, while the provider is asked."""
        self._look = _in_background(self._looked())

    async def _looked(self) -> None:
        try:
            incoming = await in_thread(lambda: self._incoming)()
        except Exception:  # a body of another form; the recording logs it
            self.has_failed = True
            return
        try:
            await in_thread(recording.demand_recordable)(incoming)
        except CommandError:
            self.has_failed = True

    async def is_bypassed(self) -> bool:
        """Whether it is known that the request is not recorded, or not sent as it should be. Waits
        a moment for the look, which nearly always ends before the provider answers."""
        if self._look is not None:
            await asyncio.wait({self._look}, timeout=LOOKING_S)
        return self.has_failed

    def begun(self) -> "asyncio.Future[GatewayRequest | None]":
        """The recording of the request, begun once: when the answer begins, so that it does not
        compete with what the program waits for."""
        if self._begun is None:
            self._begun = asyncio.ensure_future(self._begin())
        return self._begun

    @cached_property
    def _incoming(self) -> "Incoming":
        return incoming_of(self._asked, self._upstream)

    @property
    def adds(self) -> bool:
        """Whether the workspace is added to the request: an agent is always sent its own."""
        is_wanted = self._asked.key.mode == Mode.WORKSPACE or self._asked.agent is not None
        return is_wanted and self._asked.shape != "completions"

    async def prepared(self) -> bytes:
        """The request with the workspace; empty if the original is sent: nothing is added to it,
        or that failed."""
        try:
            if not await asyncio.to_thread(can_be_written_again, self._asked.plain):
                self.has_failed = True
                return b""
            uid = ""
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PREPARING_S):
                    uid = await self._continued()
            await self._previous_recorded()
            self._prepared = await in_thread(workspace.add)(self._incoming, uid)
            self.has_failed = bool(self._prepared.failure)
        except Exception:  # whatever it is: the original is sent
            log.warning("a workspace could not be added", exc_info=True)
            self.has_failed = True
        finally:
            self._sent.set()
        prepared = self._prepared
        if prepared is None or prepared.body is self._asked.body:
            return b""
        return prepared.raw

    async def _continued(self) -> str:
        """Waits until the texts of earlier requests are stored, and the answer that this one names
        is recorded. Returns the uid of the session of a request that this one goes on from while it
        is still being recorded; "" if there is none."""
        session, shared = "", 0
        for record in self._earlier:
            await record._sent.wait()
            if self._incoming.continues and record._answered.is_set():
                await record._over.wait()
            elif record._prepared is not None and not record._over.is_set():
                mine, theirs = await self._chained(), await record._chained()
                is_same = len(theirs) == len(mine) == 1  # a first message again: another session
                is_before = theirs[-1:] == mine[: len(theirs)][-1:] and not is_same
                if is_before and shared <= len(theirs) <= len(mine):
                    session, shared = record._prepared.session, len(theirs)
                elif record._answered.is_set() and len(mine) > 1 and self._incoming.named.is_empty:
                    await record._over.wait()  # this may go on from it in another form
        if shared == 1 and await in_thread(workspace.is_known)(self._incoming):
            return ""  # others may have begun alike: what was said since counts
        return session

    async def _previous_recorded(self) -> None:
        """Waits for the answer that this one names, while another process records it."""
        if not self._incoming.continues:
            return
        here = [pk for records in _open.values() for record in records for pk in record._row]
        await in_thread(recording.wait_for_previous)(self._incoming, here)

    @property
    def _row(self) -> list[int]:
        """The key of its row, once it is recorded."""
        is_known = self._begun is not None and self._begun.done() and not self._begun.cancelled()
        request = self._begun.result() if self._begun is not None and is_known else None
        return [request.pk] if request is not None else []

    async def _chained(self) -> list[str]:
        """The places of its messages in the chain."""
        if self._places is None:
            messages = self._incoming.history.messages
            self._places = await asyncio.to_thread(chain, messages)
        return self._places

    async def _begin(self) -> GatewayRequest | None:
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EARLIER_S):
                    for record in self._earlier:
                        await record._over.wait()
            self._earlier = []
            if self._prepared is not None:
                return await in_thread(workspace.record)(self._prepared)
            await self._previous_recorded()
            return await in_thread(_recorded)(self._incoming, self.adds)
        except CommandError as refused:  # such as a tree that was archived
            self.has_failed = True
            log.warning("a request of the gateway is not recorded: %s", refused.message)
            return None
        except Exception:  # whatever it is: the request passes all the same
            self.has_failed = True
            log.warning("a request of the gateway could not be recorded", exc_info=True)
            return None

    def grew(self, piece: bytes, came: Exchange) -> None:
        """Takes a piece that has arrived: its words are shown in open pages, and all is stored once
        a second."""
        if self._growing is None:
            content_type = came.headers.get("content-type", "")
            self._growing = GrowingText(self._asked.shape, content_type)
            _in_background(self._keep(came.body, self._growing))
            self._showing = _in_background(self._show(self._growing))
        if words := self._growing.add(piece):
            self._waiting.append(words)

    async def _keep(self, body: bytearray, growing: GrowingText) -> None:
        """Until the answer has ended, also while nothing arrives: what is silent is not dead."""
        request = await self.begun()
        while request is not None:
            # First the wait: most answers are over by then, and writing one competes with others.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KEPT_EVERY_S):
                    await self._answered.wait()
            if self._answered.is_set():
                return
            held = bytes(body), growing.text, self._chunk
            try:
                if await in_thread(recording.keep_alive)(request, *held):
                    self.stopped.set()
            except Exception:  # whatever it is: given up, the answer would be taken for dead
                log.warning("what has come of an answer could not be stored", exc_info=True)

    async def _show(self, growing: GrowingText) -> None:
        """Sends the words on to the open pages of the tree, once the answer is recorded there."""
        request = await self.begun()
        if request is None:
            return
        stream, uid = await in_thread(_shown_as)(request)
        while not self._answered.is_set() or self._waiting:
            text, self._waiting = "".join(self._waiting), []
            if text and uid:
                self._chunk += 1
                delta = {"type": "delta", "generation": uid, "chunk": self._chunk, "text": text}
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(send_async(stream, delta), SEND_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SHOWN_EVERY_S):
                    await self._answered.wait()

    def ended(self, received: Received, cut: str) -> None:
        """Records the answer, in the background."""
        self._answered.set()
        _in_background(self._end(received, cut))

    async def _end(self, received: Received, cut: str) -> None:
        try:
            request = await self.begun()
            if self._showing is not None:  # the last words come before the end
                await asyncio.wait({self._showing})
            if request is not None:
                await in_thread(recording.end)(request.pk, received, cut=cut)
            else:
                await _paid(self._asked, received, is_text=True)
        finally:
            self._over.set()
            _open[self._place].remove(self)
            if not _open[self._place]:
                del _open[self._place]


async def _paid(asked: ProgramRequest, received: Received, *, is_text: bool) -> None:
    """Counts what an answer cost that is not recorded."""
    pay = in_thread(recording.pay_for_passed)
    await pay(
        asked.actor,
        asked.model,
        asked.shape,
        named=asked.body.get("model"),
        sent=asked.plain,
        received=received,
        is_text=is_text,
    )


def _shown_as(request: GatewayRequest) -> tuple[str, str]:
    """(the stream of the tree, the id under which the answer grows in its pages)."""
    rows = Generation.objects.filter(call=request.call_id)
    return streams.name_of(request.session.tree), rows.values_list("uid", flat=True).first() or ""


def _recorded(incoming: "Incoming", lacks_workspace: bool) -> GatewayRequest:
    """Records a request that was sent as it came, though it may lack the workspace."""
    session = recording.session_of(incoming)
    request = recording.begin(incoming, session)
    if lacks_workspace:
        workspace.sent_as_it_was(incoming, session)
        recording.bypassed(request.pk, "failed")
    return request


def incoming_of(asked: ProgramRequest, upstream: Upstream) -> "Incoming":
    """A request as it is recorded: with its body as it is without compression."""
    outgoing = asked.outgoing(upstream, b"")
    headers = headers_sent(asked.headers)
    headers.pop("content-encoding", None)
    return recording.Incoming(
        actor=asked.actor,
        key=asked.key,
        model=asked.model,
        is_agent=asked.agent is not None,
        shape=asked.shape,
        named=names_in(asked.headers, asked.body),
        history=history_of(asked.shape, asked.body),
        sent=asked.body,
        url=outgoing.url,
        headers=headers,
        program=asked.headers.get("user-agent", "")[:80],
        previous_answer=previous_answer_in(asked.body),
        conversation=conversation_in(asked.shape, asked.body),
    )


def _in_background(work: Any) -> asyncio.Task[None]:
    task: asyncio.Task[None] = asyncio.get_running_loop().create_task(_logged(work))
    _background.add(task)
    task.add_done_callback(_background.discard)
    return task


async def _logged(work: Any) -> None:
    try:
        await work
    except Exception:  # the sweeper ends it later
        log.warning("an answer over the gateway could not be recorded", exc_info=True)


async def wait_for_records() -> None:
    """Waits until everything that has passed is recorded."""
    while _background:
        await asyncio.gather(*_background, return_exceptions=True)
