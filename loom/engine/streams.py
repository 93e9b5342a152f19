"""Streams: the lock, the numbering of events under it, and their heads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from loom.engine.announcements import announce
from loom.engine.event_kinds import demand_kind
from loom.engine.models import Event, Step, Stream
from loom.people.models import Grove
from loom.platform.inserts import insert_row, insert_rows, update_row
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.models import Node, Tree, Workspace


def name_of(item: Tree | Grove | Workspace) -> str:
    """The stream's name: `tree:UID`, `grove:UID` or `workspace:UID`."""
    return f"{type(item).__name__.lower()}:{item.uid}"


_SUMS = ("head", "items", "words", "leaves", "deepest", "unmeasured")  # what a writer changes
_LISTS = ("_pending", "written", "seqs", "nodes", "texts", "on_step")


@dataclass
class Writer:
    """A locked stream. Events appended here are numbered immediately and written by `flush`; in a
    dry run the stream is not locked, and payloads are not needed. `nodes` are those added under
    this lock, and `texts` those of documents, so that a step can name what they store. `on_step`
    is called with the step of what was written here, once it has a row.
    """

    stream: Stream
    actor: str = ""
    origin: str = ""
    _pending: list[Event] = field(default_factory=list)
    written: list[Event] = field(default_factory=list)  # by `flush`
    seqs: list[int] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    on_step: list[Callable[[Step], None]] = field(default_factory=list)
    is_dry: bool = False

    def append(self, kind: str, payload: dict[str, Any]) -> int:
        """Numbers an event of a known kind; returns its seq."""
        demand_kind(kind, self.stream.name.split(":", 1)[0])
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

    def written_by(self, step: Step) -> None:
        """Says which step wrote what was written here."""
        for note in self.on_step:
            note(step)
        self.on_step.clear()

    def ordinals(self, count: int) -> range:
        """`count` new ordinals of nodes of this tree, in order. The size of the tree is then
        unknown until the code that stores the nodes sets it."""
        self.stream.leaves = None
        first = self.stream.items + 1
        self.stream.items += count
        return range(first, first + count)

    def wrote(self, words: int) -> None:
        """Adds to the stored number of words, if they are counted in this tree."""
        if self.stream.words is not None:
            self.stream.words = max(0, self.stream.words + words)

    @property
    def pending(self) -> list[Event]:
        """The events that `flush` will write."""
        return list(self._pending)

    @property
    def size(self) -> tuple[int, int] | None:
        """The stored branches and depth of the tree; None if they are not stored."""
        leaves, deepest = self.stream.leaves, self.stream.deepest
        return None if leaves is None or deepest is None else (leaves, deepest)

    def sized(self, size: tuple[int, int]) -> None:
        """Stores the branches and the depth of the tree if they have changed."""
        self.stream.leaves, self.stream.deepest = size

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A savepoint of the database: what is rolled back with it leaves no trace here either, in
        the events as in the sums of the stream."""
        origin, sums = self.origin, {name: getattr(self.stream, name) for name in _SUMS}
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        try:
            with transaction.atomic():
                yield
        except BaseException:
            vars(self.stream).update(sums)
            vars(self).update(lists, origin=origin)
            raise

    def reread(self) -> None:
        """Reads the locked stream again, once other code has written it in the same transaction.
        Nothing may be pending."""
        if self._pending:
            raise RuntimeError("the pending events would get numbers that are taken")
        self.stream.refresh_from_db()

    def flush(self, *, many: bool = False) -> None:
        """Writes the events and the new head; announces after commit. `many` is for hundreds of
        events, outside of dry runs."""
        if many:
            insert_rows(Event, [vars(event) for event in self._pending])
        elif len(self._pending) == 1:
            insert_row(self._pending[0])
        elif self._pending:
            Event.objects.bulk_create(self._pending, batch_size=500)
        self.written += self._pending
        self._pending = []
        update_row(self.stream, *_SUMS)
        if self.seqs:
            announce(self.stream.name, self.stream.head)


def open_stream(item: Tree | Grove | Workspace) -> Stream:
    """Makes the stream of a new item."""
    return insert_row(Stream(name=name_of(item), words=0))


_LOCKED = PreparedQuery(lambda: Stream.objects.select_for_update().filter(name=Given("name")))


def lock(
    item: Tree | Grove | Workspace, *, actor: str = "", origin: str = "", is_dry: bool = False
) -> Writer:
    """Locks the item's stream until the end of the transaction, unless it is a dry run.
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


def stream_id(name: str) -> int | None:
    """The row id of a stream; None if nothing happened in it yet."""
    return Stream.objects.filter(name=name).values_list("id", flat=True).first()


def head(name: str) -> int:
    """The last seq of a stream; 0 if nothing happened yet."""
    return Stream.objects.filter(name=name).values_list("head", flat=True).first() or 0
