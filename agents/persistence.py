"""What a run writes: rows and events, by the verbs of loom. Called beside the loop."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from django.db import DatabaseError, OperationalError

from agents.lease import LEASE_S
from agents.providers.attempt import Attempt
from agents.subject_prompt import Order
from loom.commands import generation_lifecycle, money
from loom.commands.generation_lifecycle import Received
from loom.models import Call, Generation

log = logging.getLogger("heddle.run")
T = TypeVar("T")
PATIENCE_S = 90.0  # a stall of the database is no reason to end a generation


@dataclass(frozen=True)
class Ending:
    """How a generation ended."""

    text: str
    chunk: int
    finish: str
    error: dict[str, Any] | None = None
    usage: dict[str, int] = field(default_factory=dict)
    wrote: int = 0
    note: str = ""


def begin(order: Order, attempt: Attempt, generations: Sequence[Generation]) -> Call:
    """The call's row, made while the request goes out and tied to its generations."""
    first = generations[0]
    call = Call(
        tree=first.tree,
        participant=first.participant,
        provider=order.provider.name,
        configuration=order.configuration,
        request=attempt.request,
        note=order.note,
        strategy=order.strategy,
        purpose=order.purpose,
        turn=first.turn,
    )
    for generation in generations:
        _persistently(partial(generation_lifecycle.begin_call, generation, call))
    return call


def keep_alive(uid: str, lease: str, text: str, chunk: int) -> str:
    """Writes what came and extends the lease: "go", "stop" or "lost". A database that is busy
    is asked again at the next beat; the lease is longer than several."""
    try:
        return generation_lifecycle.progress(
            uid, lease=lease, text=text, chunk=chunk, seconds=LEASE_S
        )
    except DatabaseError:
        log.warning("could not write generation %s", uid, exc_info=True)
        return "go"


def land(uid: str, lease: str, ending: Ending) -> None:
    """Ends a generation; what came becomes a node."""
    _persistently(
        lambda: generation_lifecycle.land(
            uid,
            lease=lease,
            text=ending.text,
            chunk=ending.chunk,
            finish=ending.finish,
            error=ending.error,
            usage=ending.usage,
            wrote=ending.wrote,
            note=ending.note,
        )
    )


def more_money(uid: str, lease: str, needed: int) -> int | None:
    """What a stream may cost, at least `needed`; None where it is to be cut."""
    return _persistently(lambda: money.more(uid, lease=lease, needed=needed))


def tell_wait(uid: str, lease: str, why: str) -> None:
    """Stores with a generation why nothing comes yet."""
    try:
        generation_lifecycle.set_note(uid, lease=lease, note=why)
    except OperationalError:  # a busy database is no reason to end a generation
        log.warning("could not say why %s waits", uid, exc_info=True)


def put_back(uid: str, lease: str) -> None:
    """Gives the lease up at once, so that another worker may begin again."""
    _persistently(
        lambda: generation_lifecycle.progress(uid, lease=lease, text="", chunk=0, seconds=0)
    )


def seal(call: Call, attempt: Attempt) -> None:
    """Keeps what came back, without keys. Nothing where its tree is being erased."""
    if not Call.objects.filter(pk=call.pk, tree__erasing_at__isnull=True).exists():
        return
    body, is_exact = attempt.received
    received = Received(
        body=body,
        status=attempt.status,
        headers=attempt.headers,
        usage=attempt.usage,
        exact=is_exact,
        started_at=attempt.started_at,
        first_at=attempt.first_at,
    )
    _persistently(lambda: generation_lifecycle.seal(call, received))


def _persistently(write: Callable[[], T]) -> T:
    """`write`, tried again for PATIENCE_S where the database was busy; the sweeper is the
    second net."""
    until = time.monotonic() + PATIENCE_S
    pause_s = 0.2
    while True:
        try:
            return write()
        except OperationalError:
            if time.monotonic() > until:
                raise
            log.warning("a busy database, once more", exc_info=True)
        time.sleep(pause_s)
        pause_s = min(2.0, pause_s * 2)
