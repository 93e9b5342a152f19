"""An import from queued to done or failed: all or nothing, stoppable, safe to run again."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q
from django.utils import timezone

from loom.access import demand_role, get_actor
from loom.commands import erasing
from loom.log import streams
from loom.log.jobs import enqueue
from loom.models import Import, Tree
from loom.rules.refusals import Refused
from loom.transfer import calls_in, checking, finishing, own_reading, pyloom
from loom.transfer.authors import Authors
from loom.transfer.growing import Growing
from loom.transfer.lease import LEASE, TRIES, Beat, Lost, Stopped, take
from loom.transfer.records import CallRecord, Head, Mark, Record, Report, unreadable
from loom.transfer.spool import Spool
from loom.transfer.values import Event

log = logging.getLogger("heddle.transfer")
BATCH = 1000
CHARACTERS = 4_000_000
FORGOTTEN = timedelta(seconds=15)
Put = Callable[[Record | CallRecord], None]
Reader = Callable[[Iterator[Event], Put, Report], Head]
READERS: dict[str, Reader] = {
    "heddle": own_reading.read,
    "pyloom": pyloom.read_full,
    "pyloom-simple": pyloom.read_simple,
}
STOPPED = Refused("REJECTED", "The import was stopped.", hint="nothing of it is left")
BROKEN = Refused("UNAVAILABLE", "The import broke on this side.", hint="the log says why")
GIVEN_UP = Refused(
    "UNAVAILABLE",
    f"The import was cut off {TRIES} times.",
    hint="look at the worker",
)


def folder() -> Path:
    """Where files wait to be read."""
    made: Path = settings.DATA_DIR / "imports"
    made.mkdir(parents=True, exist_ok=True)
    return made


def run(uid: str) -> None:
    """Runs an import to its end; nothing where another worker has it or it has ended."""
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
    except Refused as why:
        _fail(row, report, beat, why)
    except (OperationalError, InterfaceError):
        raise  # the database is away: the lease runs out, and the sweeper asks again
    except Exception:
        log.exception("import %s broke", uid)
        _fail(row, report, beat, BROKEN)
    Path(row.file).unlink(missing_ok=True)


def _begin(row: Import, beat: Beat) -> None:
    """Puts away what an earlier worker left, and counts how often it was tried."""
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
        raise Refused("PERMISSION_DENIED", "Nobody answers for it.", hint="send it again")
    demand_role(get_actor(user, row.grove), "writer")


def _bring(row: Import, report: Report, beat: Beat) -> None:
    path = Path(row.file)
    if not path.is_file():
        raise unreadable("The file is not there any more.", "send it again")
    row.total = path.stat().st_size
    Import.objects.filter(pk=row.pk).update(total=row.total)
    with Spool(path.with_suffix(".spool")) as spool:
        head = _read(row, path, spool, report, beat)
        beat.keep()
        _write(row, head, spool, report, beat)


def _read(row: Import, path: Path, spool: Spool, report: Report, beat: Beat) -> Head:
    checking.demand_readable(path, beat.read)
    with checking.Source(path, beat.read) as source:
        found = checking.format_of(source)
        if row.format not in ("", found) and (row.format, found) != ("pyloom", "pyloom-simple"):
            raise unreadable(
                f"The file is no {row.format}, but {found}.", "leave the format out, or name it"
            )
        source.seek(0)
        head = READERS[found](checking.parsed(source), spool.put, report)
    if not spool.count:
        raise unreadable("The file holds no node.")
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
            marks += finishing.marks_of(one)
            _tell(one, report)
        if records[0].number == 0 and not head.is_own:
            _root(growing, records[0], beat)
        written += len(records)
        growing.add(records, lambda: beat.written(written, spool.count))  # noqa: B023 (called at once)
    finishing.add_marks(growing, [*head.marks, *marks], beat.keep)
    finishing.add_links(growing, head.links, beat.keep)
    calls_in.add_calls(growing, spool.calls(), beat.keep)
    finishing.show(growing, row, beat.keep)


def _root(growing: Growing, first: Record, beat: Beat) -> None:
    """A foreign empty root becomes ours, whoever wrote it; one with text becomes its child."""
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


def _fail(row: Import, report: Report, beat: Beat, why: Refused) -> None:
    """Ends an import, and leaves nothing of a tree that nobody has seen."""
    if not beat.let_go():
        return
    rows = Import.objects.filter(pk=row.pk)
    tree = rows.values_list("tree__uid", flat=True)[0]
    error = {name: value for name, value in why.body.items() if name != "ok"}
    rows.update(status="failed", tree=None, error=error, report=report.body())
    if tree is not None:
        erasing.erase_rows(tree)


def sweep() -> int:
    """Asks again for imports that a broker forgot or a worker died over; how many."""
    now = timezone.now()
    late = Q(status="queued", created_at__lt=now - FORGOTTEN)
    late &= Q(leased_until=None) | Q(leased_until__lt=now)
    dead = Q(status="running", leased_until__lt=now)
    found = list(Import.objects.filter(late | dead).values_list("uid", flat=True))
    for uid in found:
        # A queued one is not asked for again until this time: a long queue stays as long.
        Import.objects.filter(uid=uid, status="queued").update(leased_until=now + 2 * LEASE)
        enqueue("loom.tasks.run_import", [uid], queue="transfer")
    return len(found)


def ask_stop(row: Import) -> None:
    """Asks an import to stop; one that nobody has begun ends at once. REJECTED where it has
    ended."""
    rows = Import.objects.filter(pk=row.pk)
    error = {name: value for name, value in STOPPED.body.items() if name != "ok"}
    if rows.filter(status="queued").update(status="failed", stop_asked=True, error=error):
        Path(row.file).unlink(missing_ok=True)
    elif not rows.filter(status="running").update(stop_asked=True):
        raise Refused(
            "REJECTED", "This import has ended.", hint="archive its tree and erase it instead"
        )
