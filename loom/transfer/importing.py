"""An import from queued to done or failed: leased, all or nothing, can be stopped and run again."""

import logging
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from loom.access import demand_role, get_actor
from loom.commands import trees as tree_commands
from loom.events import streams
from loom.events.streams import enqueue
from loom.models import Import, Tree
from loom.rules.errors import CommandError
from loom.transfer import files, heddle_reader, pyloom, tree_builder
from loom.transfer.authors import Authors
from loom.transfer.files import Event
from loom.transfer.records import CallRecord, Head, Mark, Record, Report, Spool, unreadable
from loom.transfer.tree_builder import Growing

LEASE = timedelta(seconds=30)
TRIES = 3
_EVERY_S = 1.0


class Stopped(Exception):
    """Somebody asked to stop the import."""


class Lost(Exception):
    """Another worker has taken over the import."""


def take(uid: str) -> Import | None:
    """The import, now running; None if another worker has it or it has ended."""
    now = timezone.now()
    free = Q(status="queued") | Q(status="running", leased_until__lt=now)
    until = now + LEASE
    if not Import.objects.filter(free, uid=uid).update(
        status="running", leased_until=until, done=0
    ):
        return None
    return Import.objects.select_related("grove", "participant__user", "tree").get(uid=uid)


class Beat:
    """Extends the lease and reports the progress, in bytes of the file: reading it is a quarter,
    writing the tree the rest. Raises Stopped or Lost."""

    def __init__(self, row: Import) -> None:
        self._row = row
        # The last two ends of the lease: the newer may have been rolled back with a transaction.
        self._until = [row.leased_until]
        self._next = 0.0
        self._done = 0

    def read(self, at: int) -> None:
        """Records how much of the file was read; reports it once a second."""
        self._done = max(self._done, at // 4)
        if time.monotonic() >= self._next:
            self.keep()

    def written(self, nodes: int, of: int) -> None:
        """Records how many nodes are written, or will be when the current transaction commits."""
        quarter = self._row.total // 4
        self._done = quarter + (self._row.total - quarter) * nodes // max(of, 1)
        self.keep()

    def keep(self) -> None:
        """Extends the lease if this worker still has it, which it recognizes by the end of the
        lease."""
        until = timezone.now() + LEASE
        if not self._own().update(leased_until=until, done=min(self._done, self._row.total)):
            raise Lost
        self._until = [until, self._until[0]]
        self._next = time.monotonic() + _EVERY_S
        if Import.objects.filter(pk=self._row.pk, stop_asked=True).exists():
            raise Stopped

    def let_go(self) -> bool:
        """Releases the lease; whether this worker still had it. Nobody else can take the import
        then."""
        return bool(self._own().update(leased_until=None))

    def _own(self) -> "QuerySet[Import]":
        rows = Import.objects.filter(pk=self._row.pk, status="running")
        return rows.filter(leased_until__in=self._until)


# An import from queued to done or failed: all or nothing, can be stopped and run again.


log = logging.getLogger("heddle.transfer")
BATCH = 1000
CHARACTERS = 4_000_000
FORGOTTEN = timedelta(seconds=15)
Put = Callable[[Record | CallRecord], None]
Reader = Callable[[Iterator[Event], Put, Report], Head]
READERS: dict[str, Reader] = {
    "heddle": heddle_reader.read,
    "pyloom": pyloom.read_full,
    "pyloom-simple": pyloom.read_simple,
}
STOPPED = CommandError("REJECTED", "The import was stopped.", hint="nothing was added")
BROKEN = CommandError(
    "UNAVAILABLE", "The import failed because of an internal error.", hint="see the log"
)
GIVEN_UP = CommandError(
    "UNAVAILABLE",
    f"The import was interrupted {TRIES} times.",
    hint="check the worker",
)


def folder() -> Path:
    """The folder of files that wait to be read."""
    made: Path = settings.DATA_DIR / "imports"
    made.mkdir(parents=True, exist_ok=True)
    return made


def run(uid: str) -> None:
    """Runs an import to its end; does nothing if another worker has it or it has ended."""
    row = take(uid)
    if row is None:
        return
    report, beat = Report(format=row.format), Beat(row)
    try:
        _begin(row, beat)
        _bring(row, report, beat)
    except Lost:
        return
    except Stopped:
        _fail(row, report, beat, STOPPED)
    except CommandError as why:
        _fail(row, report, beat, why)
    except (OperationalError, InterfaceError):
        raise  # the database is down: the lease expires, and the sweeper queues it again
    except Exception:
        log.exception("import %s broke", uid)
        _fail(row, report, beat, BROKEN)
    Path(row.file).unlink(missing_ok=True)


def _begin(row: Import, beat: Beat) -> None:
    """Removes what an earlier worker left, and counts the attempts."""
    left = row.tree
    tries = int(row.report.get("tries", 0)) + 1
    row.tree = None
    Import.objects.filter(pk=row.pk).update(tree=None, report={"tries": tries})
    if left is not None:
        enqueue("loom.tasks.erase_tree", [left.uid], queue="transfer")
    beat.keep()
    if tries > TRIES:
        raise GIVEN_UP
    user = row.participant.user
    if user is None:
        raise CommandError(
            "PERMISSION_DENIED",
            "The person who started this import has left.",
            hint="send it again",
        )
    demand_role(get_actor(user, row.grove), "writer")


def _bring(row: Import, report: Report, beat: Beat) -> None:
    path = Path(row.file)
    if not path.is_file():
        raise unreadable("The file is no longer available.", "send it again")
    row.total = path.stat().st_size
    Import.objects.filter(pk=row.pk).update(total=row.total)
    with Spool(path.with_suffix(".spool")) as spool:
        head = _read(row, path, spool, report, beat)
        beat.keep()
        _write(row, head, spool, report, beat)


def _read(row: Import, path: Path, spool: Spool, report: Report, beat: Beat) -> Head:
    files.demand_readable(path, beat.read)
    with files.Source(path, beat.read) as source:
        found = files.format_of(source)
        if row.format not in ("", found) and (row.format, found) != ("pyloom", "pyloom-simple"):
            raise unreadable(
                f"The file is not {row.format} but {found}.", "leave the format out, or name it"
            )
        source.seek(0)
        head = READERS[found](files.parsed(source), spool.put, report)
    if not spool.count:
        raise unreadable("The file contains no nodes.")
    return head


def _write(row: Import, head: Head, spool: Spool, report: Report, beat: Beat) -> None:
    tree = _hidden_tree(row, head, beat)
    authors = Authors(row.grove, row.participant)
    growing = Growing(tree, authors, report, now=timezone.now())
    growing.kinds = head.kinds
    marks: list[Mark] = []
    written = 0
    for records in spool.batches(count=BATCH, characters=CHARACTERS):
        for one in records:
            head.settle(one)
            marks += tree_builder.marks_of(one)
            _tell(one, report)
        if records[0].number == 0 and not head.is_own:
            _root(growing, records[0], beat)
        written += len(records)
        growing.add(records, lambda: beat.written(written, spool.count))  # noqa: B023 (called at once)
    tree_builder.add_marks(growing, [*head.marks, *marks], beat.keep)
    tree_builder.add_links(growing, head.links, beat.keep)
    heddle_reader.add_calls(growing, spool.calls(), beat.keep)
    tree_builder.show(growing, row, beat.keep)


def _root(growing: Growing, first: Record, beat: Beat) -> None:
    """An empty foreign root becomes our root, whoever wrote it; one with text becomes its child."""
    if first.text:
        growing.begin(beat.keep)
    else:
        first.author, first.author_kind = "", "human"


def _tell(one: Record, report: Report) -> None:
    report.kept["texts of models"] += one.author_kind == "model"
    report.kept["times"] += bool(one.at)


def _hidden_tree(row: Import, head: Head, beat: Beat) -> Tree:
    with transaction.atomic():
        beat.keep()
        tree = Tree.objects.create(
            grove=row.grove,
            title=head.title or ("" if head.is_own else Path(row.name).stem[:300]),
            mode=head.mode,
            description=head.description,
            system_context=head.system_context,
            summary=head.summary,
            truncation=head.truncation,
            imported=head.imported or None,
            maker=row.participant,
            erasing_at=timezone.now(),
        )
        streams.open_stream(tree)
        Import.objects.filter(pk=row.pk).update(tree=tree)
    return tree


def _fail(row: Import, report: Report, beat: Beat, why: CommandError) -> None:
    """Ends an import, and removes what exists of a tree that nobody has seen."""
    if not beat.let_go():
        return
    rows = Import.objects.filter(pk=row.pk)
    tree = rows.values_list("tree__uid", flat=True)[0]
    error = {name: value for name, value in why.body.items() if name != "ok"}
    rows.update(status="failed", tree=None, error=error, report=report.body())
    if tree is not None:
        tree_commands.erase_rows(tree)


def sweep() -> int:
    """Queues imports again that a broker lost or whose worker died; returns how many."""
    now = timezone.now()
    late = Q(status="queued", created_at__lt=now - FORGOTTEN)
    late &= Q(leased_until=None) | Q(leased_until__lt=now)
    dead = Q(status="running", leased_until__lt=now)
    found = list(Import.objects.filter(late | dead).values_list("uid", flat=True))
    for uid in found:
        # A queued one is not queued again until this time: a long queue does not grow.
        Import.objects.filter(uid=uid, status="queued").update(leased_until=now + 2 * LEASE)
        enqueue("loom.tasks.run_import", [uid], queue="transfer")
    return len(found)


def ask_stop(row: Import) -> None:
    """Asks an import to stop; one that has not started ends at once. REJECTED if it has ended."""
    rows = Import.objects.filter(pk=row.pk)
    error = {name: value for name, value in STOPPED.body.items() if name != "ok"}
    if rows.filter(status="queued").update(status="failed", stop_asked=True, error=error):
        Path(row.file).unlink(missing_ok=True)
    elif not rows.filter(status="running").update(stop_asked=True):
        raise CommandError(
            "REJECTED", "This import has ended.", hint="archive its tree and erase it instead"
        )
