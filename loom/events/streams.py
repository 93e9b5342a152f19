"""Streams: the closed list of event kinds, the lock, and numbering under it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from loom.models import Event, Grove, Node, Stream, Tree, Workspace
from loom.models.base import Given, Prepared
from loom.rules.errors import CommandError

KINDS: dict[str, frozenset[str]] = {
    "tree": frozenset(
        """tree.created tree.changed node.added node.flagged node.summarised link.added
        link.removed mark.added mark.removed annotation.resolved annotation.reopened
        suggestion.decided token.changed claim.changed commitment.added commitment.vetoed
        turn.started turn.ended generation.started generation.ended call.sealed
        import.finished""".split()
    ),
    "grove": frozenset(
        """grove.created grove.changed member.added member.changed member.removed
        invitation.added invitation.removed participant.added participant.changed
        document.added document.changed type.added check.changed trail.changed pipe.saved
        tree.erased link.added link.removed mark.added mark.removed suggestion.decided
        token.changed""".split()
    ),
    "workspace": frozenset(
        """view.changed window.opened window.changed window.closed task.added task.changed
        draft.saved""".split()
    ),
}


T = TypeVar("T")
PATIENCE_S = 30.0  # each try waits 20 s for the database already
RETRY_S = 0.1


def name_of(item: Tree | Grove | Workspace) -> str:
    """The stream's name: `tree:UID`, `grove:UID` or `workspace:UID`."""
    return f"{type(item).__name__.lower()}:{item.uid}"


@dataclass
class Writer:
    """A locked stream. Events appended here are numbered at once and written by `flush`; in a
    dry run the stream is not locked, and nobody needs the payloads.

    `nodes` are those that were added under this lock, so that a step can name their texts.
    """

    stream: Stream
    actor: str = ""
    origin: str = ""
    _pending: list[Event] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    is_dry: bool = False

    def append(self, kind: str, payload: dict[str, Any]) -> int:
        """Numbers an event of a known kind; returns its seq."""
        allowed = KINDS[self.stream.name.split(":", 1)[0]]
        if kind not in allowed:
            raise ValueError(f"{kind!r} is no event of {self.stream.name}")
        self.stream.head += 1
        self._pending.append(
            Event(
                stream=self.stream,
                seq=self.stream.head,
                kind=kind,
                actor=self.actor,
                origin=self.origin,
                payload=payload,
                at=timezone.now(),
            )
        )
        self.seqs.append(self.stream.head)
        return self.stream.head

    def ordinals(self, count: int) -> range:
        """`count` fresh ordinals of nodes of this tree, in order. The size of the tree is not
        known then, until whoever stores the nodes sets it."""
        self.stream.leaves = None
        first = self.stream.items + 1
        self.stream.items += count
        return range(first, first + count)

    @property
    def pending(self) -> list[Event]:
        """The events that `flush` will write."""
        return list(self._pending)

    @property
    def size(self) -> tuple[int, int] | None:
        """The branches and the depth of the tree that are kept; None where they are not."""
        leaves, deepest = self.stream.leaves, self.stream.deepest
        return None if leaves is None or deepest is None else (leaves, deepest)

    def sized(self, size: tuple[int, int]) -> None:
        """Keeps the branches and the depth of the tree, once they are other than they were."""
        self.stream.leaves, self.stream.deepest = size

    def rewind(self, seq: int) -> None:
        """Drops what was appended after `seq`, whose rows were rolled back with a savepoint."""
        self._pending = [event for event in self._pending if event.seq <= seq]
        self.seqs = [one for one in self.seqs if one <= seq]
        self.stream.head = seq

    def flush(self) -> None:
        """Writes the events and the new head; announces after commit."""
        from loom.events.announce import announce

        if self._pending:
            Event.objects.bulk_create(self._pending, batch_size=500)
            self._pending = []
        self.stream.save(update_fields=["head", "items", "leaves", "deepest"])
        if self.seqs:
            announce(self.stream.name, self.stream.head)


def open_stream(item: Tree | Grove | Workspace) -> Stream:
    """Makes the stream of a new item."""
    return Stream.objects.create(name=name_of(item))


_LOCKED = Prepared(lambda: Stream.objects.select_for_update().filter(name=Given("name")))


def lock(
    item: Tree | Grove | Workspace, *, actor: str = "", origin: str = "", is_dry: bool = False
) -> Writer:
    """Locks the item's stream until the end of the transaction; not where it is dry.

    PostgreSQL: SELECT … FOR UPDATE; SQLite: the transaction is immediate already.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("lock() needs a transaction")
    name = name_of(item)
    if is_dry:
        return Writer(Stream.objects.get(name=name), actor=actor, origin=origin, is_dry=True)
    stream = _LOCKED.first(name=name)
    if stream is None:
        stream = Stream.objects.get_or_create(name=name)[0]
        stream = Stream.objects.select_for_update().get(pk=stream.pk)
    return Writer(stream, actor=actor, origin=origin)


def retry_while_busy(write: Callable[[], T]) -> T:
    """What `write` returns; it is run again where the database was too busy to take it, and
    nothing was written. Raises CommandError UNAVAILABLE where that
    lasts for PATIENCE_S."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return write()
        except OperationalError as error:
            # Inside a transaction it is for whoever began it to run it again.
            if not is_busy(error) or connection.in_atomic_block:
                raise
            if time.monotonic() >= until:
                raise CommandError(
                    "UNAVAILABLE",
                    "The database is busy; nothing was changed.",
                    hint="send it again in a moment",
                    retryable=True,
                ) from None
        time.sleep(RETRY_S)


def is_busy(error: OperationalError) -> bool:
    """Whether the database only had no time: SQLite's write lock was held by others, or
    PostgreSQL ended one of two transactions that waited for each other."""
    said = str(error)
    return any(words in said for words in ("database is locked", "deadlock detected"))


def stream_id(name: str) -> int | None:
    """The row id of a stream; None where nothing happened in it yet."""
    return Stream.objects.filter(name=name).values_list("id", flat=True).first()


def head(name: str) -> int:
    """The last seq of a stream; 0 where nothing happened yet."""
    return Stream.objects.filter(name=name).values_list("head", flat=True).first() or 0
