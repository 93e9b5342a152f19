"""Responses that wait for generations to end, without a thread for each.

The view has returned, and its thread is free, before the wait begins: the view stores in the
request's scope what to wait for, and `holding` keeps the response back until that has ended. One
task of the process checks for all waiting requests, ten times a second, in one query.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.db import connection
from django.http import HttpRequest
from rest_framework.renderers import JSONRenderer

from loom.site.api_errors import body_of, refusal_of
from loom.turns.models import OPEN_TURN, Generation, Turn
from loom.web_search.models import WebSearch

log = logging.getLogger("heddle.api")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]
T = TypeVar("T")

EVERY_S = 0.1
MOST_ASKED = 5_000  # values that one query names
_SLOT = "heddle.waits"


STOP_S = 3.0  # a worker notices a stop within about one second


@dataclass(frozen=True)
class Wait:
    """What a response waits for: generations, searches (`of_search`) or turns (`of_turn`), for how
    long, and the function that builds the response once they have ended (called in a thread; it
    may raise)."""

    uids: frozenset[str]
    seconds: float
    answer: Callable[[], Any]


def hold(request: HttpRequest, wait: Wait) -> bool:
    """Makes the response of this request wait. False if the server cannot do that."""
    slot = getattr(request, "scope", {}).get(_SLOT)
    if slot is None:
        return False
    slot.append(wait)
    return True


def hold_until_stopped(request: HttpRequest, name: str, answer: Callable[[], Any]) -> bool:
    """Whether something that was asked to stop has ended already. Otherwise the response waits for
    that for a short while, without a thread, and is then `answer`; where the server cannot do that,
    it waits here."""
    if not still_open([name]):
        return True
    if hold(request, Wait(frozenset((name,)), STOP_S, answer)):
        return False
    until = time.monotonic() + STOP_S
    while still_open([name]) and time.monotonic() < until:
        time.sleep(EVERY_S)
    return not still_open([name])


async def holding(
    application: Application, scope: dict[str, Any], receive: Receive, send: Send
) -> None:
    """Runs an HTTP application; a response that waits is sent when everything has ended, or
    unchanged when its time is over. Nothing is sent to a client that has left."""
    slot: list[Wait] = []
    kept: list[Message] = []

    async def keep(message: Mapping[str, Any]) -> None:
        if slot:
            kept.append(dict(message))
        else:
            await send(message)

    await application({**scope, _SLOT: slot}, receive, keep)
    if not slot or not kept:
        return
    has_ended = await _unless_gone(the_watch().ended(slot[0].uids, slot[0].seconds), receive)
    if has_ended:
        status, body = await the_watch().read(_made, slot[0], str(scope["path"]))
        kept = _with(kept[0], status, body)
    if has_ended is not None:
        for message in kept:
            await send(message)


async def _unless_gone(work: Awaitable[bool], receive: Receive) -> bool | None:
    """The result of `work`; None if the client leaves first."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def _made(wait: Wait, path: str) -> tuple[int, bytes]:
    """Status and body of a response whose wait is over."""
    try:
        status, body = 200, wait.answer()
    except Exception as error:
        refused = refusal_of(error)
        if refused is None:
            log.exception("could not answer after a wait")
            return 500, b'{"ok": false, "code": "INTERNAL", "message": "This went wrong."}'
        status, body = refused.status, body_of(refused, path)
    return status, JSONRenderer().render(body)


def _with(start: Message, status: int, body: bytes) -> list[Message]:
    """The messages of the response: its headers with another status and body."""
    headers = [header for header in start["headers"] if header[0].lower() != b"content-length"]
    headers.append((b"Content-Length", str(len(body)).encode()))
    return [
        {**start, "status": status, "headers": headers},
        {"type": "http.response.body", "body": body},
    ]


_SEARCH, _TURN = "search:", "turn:"


def of_search(uid: str) -> str:
    """The name of a web search among the ids of generations that a wait names."""
    return f"{_SEARCH}{uid}"


def of_turn(uid: str) -> str:
    """The name of a turn among them."""
    return f"{_TURN}{uid}"


def still_open(uids: list[str]) -> set[str]:
    """Those of the generations, searches and turns that have not ended."""
    searches = [uid.removeprefix(_SEARCH) for uid in uids if uid.startswith(_SEARCH)]
    turns = [uid.removeprefix(_TURN) for uid in uids if uid.startswith(_TURN)]
    still: set[str] = set()
    if turns:
        going = Turn.objects.filter(uid__in=turns, status__in=OPEN_TURN)
        still = {of_turn(uid) for uid in going.values_list("uid", flat=True)}
    if len(searches) + len(turns) < len(uids):
        open_ones = Generation.objects.filter(uid__in=uids, status__in=("queued", "running"))
        still |= set(open_ones.values_list("uid", flat=True))
    if searches:
        rows = WebSearch.objects.filter(uid__in=searches, ended_at=None)
        still |= {of_search(uid) for uid in rows.values_list("uid", flat=True)}
    return still


class Watch:
    """Everything that waits in this process. Its task runs while anything does."""

    def __init__(self) -> None:
        self.waiting: dict[asyncio.Future[bool], frozenset[str]] = {}
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="waiting")
        self._task: asyncio.Task[None] | None = None

    async def ended(self, uids: frozenset[str], seconds: float) -> bool:
        """Whether all the generations have ended within that many seconds."""
        future = asyncio.get_running_loop().create_future()
        self.waiting[future] = uids
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            return await asyncio.wait_for(future, seconds)
        except TimeoutError:
            return False
        finally:
            self.waiting.pop(future, None)

    async def read(self, work: Callable[..., T], *args: Any) -> T:
        """The result of `work`, which runs in a thread beside the loop."""

        def run() -> T:
            try:
                return work(*args)
            finally:
                if connection.vendor != "sqlite" or connection.errors_occurred:
                    connection.close()

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    async def _look(self) -> None:
        while self.waiting:
            asked = list(self.waiting.items())
            uids = sorted(set().union(*(uids for _, uids in asked)))
            open_ones: set[str] = set()
            try:
                for first in range(0, len(uids), MOST_ASKED):
                    open_ones |= await self.read(still_open, uids[first : first + MOST_ASKED])
            except Exception:  # the database may be away; who waits goes on waiting
                log.warning("could not look for who waits", exc_info=True)
                open_ones = set(uids)
            for future, wanted in asked:
                if not future.done() and wanted.isdisjoint(open_ones):
                    future.set_result(True)
            await asyncio.sleep(EVERY_S)


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, Watch] = WeakKeyDictionary()


def the_watch() -> Watch:
    """The watch of the running loop."""
    loop = asyncio.get_running_loop()
    if loop not in _watches:
        _watches[loop] = Watch()
    return _watches[loop]
