"""An import from queued to done or failed: all or nothing, stoppable, safe to run again."""

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

import ijson
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from loom.commands import erasing
from loom.log import streams
from loom.log.jobs import enqueue
from loom.models import Import, Tree
from loom.rules.refusals import Refused
from loom.transfer import finishing, own, pyloom
from loom.transfer.records import Head, Record, Report, unreadable
from loom.transfer.spool import Spool
from loom.transfer.writing import BATCH, Growing

log = logging.getLogger("heddle.transfer")
LEASE = timedelta(seconds=60)
FORGOTTEN = timedelta(seconds=15)
Reader = Callable[[IO[bytes], Callable[[Record], None], Report], Head]
READERS: dict[str, Reader] = {"heddle": own.read, "pyloom": pyloom.read}


class Stopped(Exception):
    """Somebody asked for the import to stop."""


def folder() -> Path:
    """Where files wait to be read."""
    made: Path = settings.DATA_DIR / "imports"
    made.mkdir(parents=True, exist_ok=True)
    return made


def run(uid: str) -> None:
    """Runs an import to its end; nothing where another worker has it or it has ended."""
    now = timezone.now()
    free = Q(status="queued") | Q(status="running", leased_until__lt=now)
    taken = Import.objects.filter(free, uid=uid).update(
        status="running", leased_until=now + LEASE, done=0
    )
    if not taken:
        return
    row = Import.objects.select_related("grove", "participant", "tree").get(uid=uid)
    if row.tree is not None:  # an earlier worker died over it: from the start
        _away(row)
    report = Report()
    try:
        _import(row, report)
    except Stopped:
        _failed(row, report, Refused("REJECTED", "The import was stopped.", hint="nothing is left"))
    except Refused as refused:
        _failed(row, report, refused)
    except (ijson.JSONError, UnicodeDecodeError, ValueError, TypeError, KeyError) as error:
        log.info("import %s failed: %r", uid, error)
        _failed(row, report, unreadable("The file is no JSON that can be read to its end."))
    except Exception:
        log.exception("import %s failed", uid)
        _failed(
            row, report, Refused("UNAVAILABLE", "Something broke on our side.", hint="try again")
        )
    Path(row.file).unlink(missing_ok=True)


def _import(row: Import, report: Report) -> None:
    path = Path(row.file)
    size = path.stat().st_size
    with path.open("rb") as file, Spool(path.with_suffix(".spool")) as spool:
        reader = READERS[row.format] if row.format else _reader_of(file)
        progress = _Progress(row, size)

        def put(record: Record) -> None:
            spool.put(record)
            if spool.count % BATCH == 0:
                progress.say(file.tell() // 2)

        head = reader(file, put, report)
        if not spool.count:
            raise unreadable("The file holds no node.")
        _write(row, head, spool, report, progress)


def _write(row: Import, head: Head, spool: Spool, report: Report, progress: "_Progress") -> None:
    growing = Growing(_hidden_tree(row, head), row.participant, head, report)
    marks: list[dict[str, Any]] = []
    written = 0
    for records in spool.batches(BATCH):
        if not growing.placed:
            records = _rooted(growing, records)
        marks += [mark for one in records for mark in finishing.foreign_marks(growing, one)]
        written += len(records)
        share = progress.size // 2 + progress.size * written // (2 * spool.count)
        growing.add(records, lambda: progress.say(share))  # noqa: B023 (called at once)
    finishing.write_marks(growing, head.marks or marks)
    finishing.write_links(growing, head.links)
    with transaction.atomic():
        finishing.show(growing)
        Import.objects.filter(pk=row.pk).update(
            status="done", done=progress.size, leased_until=None, report=report.body()
        )


def _rooted(growing: Growing, records: list[Record]) -> list[Record]:
    """Makes or finds the root. A foreign empty root becomes ours, one with text its child."""
    first = records[0]
    if first.kept.get("proof"):
        growing.root = first.number
        return records
    growing.begin(None)
    if first.text:
        first.parent = -1
        return records
    growing.placed[first.number] = growing.placed[-1]
    growing.report.nodes += 1
    return records[1:]


def _hidden_tree(row: Import, head: Head) -> Tree:
    with transaction.atomic():
        tree = Tree.objects.create(
            grove=row.grove,
            title=head.title or Path(row.name).stem[:300],
            mode=head.mode,
            description=head.description,
            system_context=head.system_context,
            maker=row.participant,
            erasing_at=timezone.now(),
        )
        streams.open_stream(tree)
        Import.objects.filter(pk=row.pk).update(tree=tree)
    row.tree = tree
    return tree


def _reader_of(file: IO[bytes]) -> Reader:
    """The reader for what the file begins with: the keys of its outermost object."""
    keys = set()
    depth = 0
    for event, value in ijson.basic_parse(file, use_float=True):
        depth += event in ("start_map", "start_array")
        depth -= event in ("end_map", "end_array")
        if depth == 1 and event == "map_key":
            keys.add(value)
            if keys & {"heddle", "root", "text", "children"}:
                break
        if event == "start_array" and depth == 1:
            break
    file.seek(0)
    if "heddle" in keys:
        return own.read
    if keys & {"root", "text", "children"}:
        return pyloom.read
    raise unreadable("This is no tree of a program that is known here.")


class _Progress:
    """Tells the row how far the work is, keeps the lease, and hears a stop."""

    def __init__(self, row: Import, size: int) -> None:
        self.row, self.size = row, size
        Import.objects.filter(pk=row.pk).update(total=size)

    def say(self, done: int) -> None:
        until = timezone.now() + LEASE
        rows = Import.objects.filter(pk=self.row.pk)
        rows.update(done=min(done, self.size), leased_until=until)
        if rows.filter(stop_asked=True).exists():
            raise Stopped


def _failed(row: Import, report: Report, refused: Refused) -> None:
    _away(row)
    body = {"code": refused.code, "message": refused.message, "hint": refused.hint}
    Import.objects.filter(pk=row.pk).update(
        status="failed", error=body, report=report.body(), leased_until=None
    )


def _away(row: Import) -> None:
    """Leaves nothing of a tree that nobody has seen."""
    if row.tree is not None:
        uid = row.tree.uid
        row.tree = None
        Import.objects.filter(pk=row.pk).update(tree=None)
        erasing.erase_rows(uid)


def sweep() -> None:
    """Asks again for imports that a broker forgot or a worker died over."""
    now = timezone.now()
    late = Q(status="queued", created_at__lt=now - FORGOTTEN)
    dead = Q(status="running", leased_until__lt=now)
    for uid in Import.objects.filter(late | dead).values_list("uid", flat=True):
        enqueue("loom.tasks.run_import", [uid], queue="transfer")


def ask_stop(row: Import) -> None:
    """Asks an import to stop; one that nobody has begun ends at once."""
    Import.objects.filter(pk=row.pk).update(stop_asked=True, done=F("done"))
    if Import.objects.filter(pk=row.pk, status="queued").update(status="running"):
        _failed(
            row, Report(), Refused("REJECTED", "The import was stopped.", hint="nothing is left")
        )
        Path(row.file).unlink(missing_ok=True)
