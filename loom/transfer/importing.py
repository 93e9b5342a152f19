"""An import from queued to done or failed: leased, each tree all or nothing; it can be stopped and
run again. A file with several trees waits until somebody has chosen some of them."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from loom.access import Actor, demand_role, get_actor
from loom.engine import streams
from loom.engine.busy import NOT_REACHED
from loom.engine.jobs import enqueue
from loom.engine.sweeps import sweeps
from loom.errors import CommandError
from loom.transfer import message_images, tree_builder, uploads
from loom.transfer.inputs import ImportFormat, TreeInFile
from loom.transfer.models import Import, ImportPart
from loom.transfer.readers import documents
from loom.transfer.readers import heddle as heddle_reader
from loom.transfer.records import Head, MarkRecord, NodeRecord, RecordFile, Report, unreadable
from loom.transfer.tree_builder import TreeBuilder
from loom.trees import erasing, feature_parts, images
from loom.trees.commands import public_links
from loom.trees.models import Tree

LEASE = timedelta(seconds=30)
TRIES = 3
_EVERY_S = 1.0


class Stopped(Exception):
    """Somebody asked to stop the import."""


class Waiting(Exception):
    """The file is kept until somebody has chosen what to import."""


class LeaseLost(Exception):
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


class ImportProgress:
    """Extends the lease and reports the progress, in bytes of the file: of a single tree reading is
    a quarter, writing the rest; of several trees the place in the file. Raises Stopped or
    LeaseLost."""

    def __init__(self, row: Import) -> None:
        self._row = row
        # The last two ends of the lease: the newer may have been rolled back with a transaction.
        self._until = [row.leased_until]
        self._next = 0.0
        self._done = 0
        self.has_several = False

    def read(self, at: int) -> None:
        """Records how much of the file was read; reports it once a second."""
        self._done = max(self._done, at if self.has_several else at // 4)
        if time.monotonic() >= self._next:
            self.keep()

    def written(self, nodes: int, of: int) -> None:
        """Records how many nodes are written, or will be when the current transaction commits."""
        if not self.has_several:
            quarter = self._row.total // 4
            self._done = quarter + (self._row.total - quarter) * nodes // max(of, 1)
        self.keep()

    def keep(self) -> None:
        """Extends the lease if this worker still has it, which it recognizes by the end of the
        lease."""
        until = timezone.now() + LEASE
        if not self._own().update(leased_until=until, done=min(self._done, self._row.total)):
            raise LeaseLost
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


log = logging.getLogger("heddle.transfer")
BATCH = 1000
CHARACTERS = 4_000_000
FORGOTTEN = timedelta(seconds=15)
UNDECIDED = timedelta(days=7)  # how long a file waits for a choice
MAX_PARTS = 50_000
STOPPED = CommandError("REJECTED", "The import was stopped.", hint="nothing was added")
BROKEN = CommandError(
    "UNAVAILABLE", "The import failed because of an internal error.", hint="see the log"
)
GIVEN_UP = CommandError(
    "UNAVAILABLE",
    f"The import was interrupted {TRIES} times.",
    hint="check the worker",
)
UNCHOSEN = CommandError("REJECTED", "Nobody chose what to import.", hint="send the file again")


def folder() -> Path:
    """The folder of files that wait to be read."""
    path: Path = settings.DATA_DIR / "imports"
    path.mkdir(parents=True, exist_ok=True)
    return path


def run(uid: str) -> None:
    """Runs an import to its end; does nothing if another worker has it or it has ended."""
    row = take(uid)
    if row is None:
        return
    report, progress = Report(format=row.format), ImportProgress(row)
    try:
        _begin(row, progress)
        _bring(row, report, progress)
    except (LeaseLost, Waiting):
        return
    except Stopped:
        _fail(row, report, progress, STOPPED)
    except CommandError as why:
        _fail(row, report, progress, why)
    except NOT_REACHED:
        raise  # the database is down: the lease expires, and the sweeper queues it again
    except Exception:
        log.exception("import %s broke", uid)
        _fail(row, report, progress, BROKEN)
    Path(row.file).unlink(missing_ok=True)


def _begin(row: Import, progress: ImportProgress) -> None:
    """Removes what an earlier worker left, and counts the attempts."""
    left = row.tree
    tries = int(row.report.get("tries", 0)) + 1
    row.tree = None
    Import.objects.filter(pk=row.pk).update(tree=None, report={"tries": tries})
    if left is not None:
        enqueue("loom.tasks.erase_tree", [left.uid], queue="transfer")
    progress.keep()
    if tries > TRIES:
        raise GIVEN_UP
    demand_role(_actor(row), "writer")


def _actor(row: Import) -> Actor:
    user = row.participant.user
    if user is None:
        raise CommandError(
            "PERMISSION_DENIED",
            "The person who started this import has left.",
            hint="send it again",
        )
    return get_actor(user, row.grove)


def _bring(row: Import, report: Report, progress: ImportProgress) -> None:
    path = Path(row.file)
    if not path.is_file():
        raise unreadable("The file is no longer available.", "send it again")
    options = {name: str(value) for name, value in row.options.items()}
    with uploads.Upload(path, row.name, options, progress.read) as upload:
        row.total = upload.size
        Import.objects.filter(pk=row.pk).update(total=row.total)
        chosen = set(row.parts.filter(status="chosen").values_list("number", flat=True))
        if chosen or row.parts.exists():
            _bring_several(row, upload, chosen, report, progress)
            return
        every = upload.parts()
        first, second = next(every, None), next(every, None)
        if first is None:
            raise unreadable("The file contains no nodes.")
        if second is not None or first[1].asks:
            _wait(row, chain([first, *([second] if second else [])], every), upload, progress)
            return
        _demand_format(row, first[0])
        report.format = first[0].name
        upload.mended(report)
        _import_part(row, first[1], report, progress, _ended(row, report, upload))


def _demand_format(row: Import, import_format: ImportFormat) -> None:
    allowed = {
        "",
        import_format.name,
        *(("pyloom",) if import_format.name.startswith("pyloom") else ()),
    }
    if row.format not in allowed:
        raise unreadable(
            f"The file is not {row.format} but {import_format.name}.",
            "leave the format out, or name it",
        )


def _ended(row: Import, report: Report, upload: uploads.Upload) -> Callable[[], None]:
    """Records that the only tree of a file is complete, with the images that came with it."""

    def record() -> None:
        tree = Import.objects.select_related("tree__grove").get(pk=row.pk).tree
        if upload.images and tree is not None:
            message_images.keep_all(upload.images, _actor(row), tree, report)
        Import.objects.filter(pk=row.pk).update(
            status="done", done=row.total, report=report.body(), error=None, leased_until=None
        )

    return record


def _wait(
    row: Import,
    every: Iterator[tuple[ImportFormat, TreeInFile]],
    upload: uploads.Upload,
    progress: ImportProgress,
) -> None:
    """Lists the trees of a file, and waits until somebody has chosen. With the option `choose=all`
    they are all imported, and texts are split as their own structure suggests."""
    progress.has_several = True
    asks: set[str] = set()
    titles: Counter[str] = Counter()
    notes = list(upload.left_out[:20])
    waiting: list[ImportPart] = []
    is_all = row.options.get("choose") == "all"
    try:
        for number, (import_format, part) in enumerate(every):
            if number >= MAX_PARTS:
                raise unreadable(f"The file has more than {MAX_PARTS:,} trees.", "split it")
            _demand_format(row, import_format)
            asks |= set(part.asks)
            titles[import_format.title] += 1
            status = "chosen" if is_all else "listed"
            at = datetime.fromisoformat(part.at) if part.at else None
            waiting.append(
                ImportPart(
                    of=row,
                    number=number,
                    title=part.title.replace("\0", " "),
                    at=at,
                    count=part.count,
                    status=status,
                )
            )
    except CommandError as why:
        if not waiting or sum(titles.values()) < 2:
            raise
        notes.append(f"After {len(waiting):,} trees the file cannot be read. {why.message}")
    with transaction.atomic():
        progress.keep()
        ImportPart.objects.bulk_create(waiting, batch_size=1000)
        asked = [way for way in documents.SPLITS if way in asks]
        report = {"formats": dict(titles), "asks": asked, "notes": notes}
        status = "queued" if is_all else "waiting"
        Import.objects.filter(pk=row.pk).update(
            status=status, done=row.total, report=report, leased_until=None
        )
    if status == "queued":
        enqueue("loom.tasks.run_import", [row.uid], queue="transfer")
    raise Waiting


def _bring_several(
    row: Import, upload: uploads.Upload, chosen: set[int], report: Report, progress: ImportProgress
) -> None:
    """Imports the chosen trees, each all or nothing; those that are done already stay."""
    progress.has_several = True
    upload.mended(report)
    try:
        for number, (import_format, part) in enumerate(upload.parts()):
            if number in chosen:
                chosen.discard(number)
                own = Report(format=import_format.name)
                own_images = upload.images_of(import_format)
                if _import_one(row, number, part, own, own_images=own_images, progress=progress):
                    report.add(own)
                else:
                    report.warnings += own.warnings[-1:]
            if not chosen:
                break
    except CommandError as why:
        report.warn(f"After {row.parts.count():,} trees the file cannot be read. {why.message}")
    done = row.parts.filter(status="done").count()
    failed = row.parts.filter(status="failed")
    if not done and (first := failed.first()) is not None:
        raise CommandError(
            "INVALID_SYNTAX", str((first.error or {}).get("message")), hint="see the other trees"
        )
    tree = row.parts.filter(status="done").first() if done == 1 else None
    report.trees = done
    Import.objects.filter(pk=row.pk).update(
        status="done",
        done=row.total,
        report=report.body(),
        error=None,
        leased_until=None,
        tree=tree.tree_id if tree else None,
    )


def _import_one(
    row: Import,
    number: int,
    part: TreeInFile,
    own: Report,
    *,
    own_images: dict[str, Path],
    progress: ImportProgress,
) -> bool:
    """Imports one tree of several; whether it could be read. If not, the last warning says why."""
    rows = row.parts.filter(number=number)

    def record() -> None:
        tree = Import.objects.select_related("tree__grove").get(pk=row.pk).tree
        if own_images and tree is not None:
            message_images.keep_all(own_images, _actor(row), tree, own)
        rows.update(status="done", tree=tree)
        Import.objects.filter(pk=row.pk).update(tree=None)

    try:
        _import_part(row, part, own, progress, record)
    except CommandError as why:
        error = {name: value for name, value in why.body.items() if name != "ok"}
        rows.update(status="failed", error=error)
        own.warnings.append(f"{part.title[:80]!r} was left out. {why.message}")
        _erase(row)
        return False
    return True


def _import_part(
    row: Import,
    part: TreeInFile,
    report: Report,
    progress: ImportProgress,
    done: Callable[[], None],
) -> None:
    with RecordFile(Path(row.file).with_suffix(".records")) as stored:
        head = part.read(stored.put, report)
        if not stored.count:
            raise unreadable("The file contains no nodes.")
        head.title = head.title or ("" if head.is_own else part.title)
        progress.keep()
        _write(row, head, stored, report, progress=progress, done=done, archive=part.archive_images)


def _write(
    row: Import,
    head: Head,
    stored: RecordFile,
    report: Report,
    *,
    progress: ImportProgress,
    done: Callable[[], None],
    archive: message_images.ArchiveImages | None,
) -> None:
    tree, actor = _hidden_tree(row, head, progress), _actor(row)
    builder = TreeBuilder(tree, actor, report, now=timezone.now())
    builder.kinds = head.kinds
    marks: list[MarkRecord] = []
    written = 0
    if head.is_own and archive and archive.documents:  # before the nodes, whose sources they may be
        heddle_reader.add_documents(builder, archive.documents, actor)
        progress.keep()
    for records in stored.batches(count=BATCH, characters=CHARACTERS, plan=head.plan):
        for record in records:
            head.settle(record)
            if record.images:
                message_images.put_into(record, actor, tree, archive, report)
            if head.current != "" and head.current in (record.source, record.number):
                builder.current = record.number
            marks += tree_builder.marks_of(record)
            _tell(record, report)
        if records[0].number == 0 and not head.is_own:
            _root(builder, head, records[0], progress)
        written += len(records)
        builder.add(records, lambda: progress.written(written, stored.count))  # noqa: B023 (called at once)
    tree_builder.add_marks(builder, [*head.marks, *marks], progress.keep)
    lore = heddle_reader.add_document_records(builder, head.documents, actor)
    tree_builder.add_links(builder, [*head.links, *lore], progress.keep)
    heddle_reader.add_calls(builder, stored.calls(), progress.keep)
    if head.is_own:
        stored_parts = feature_parts.store(tree, head.parts, row.participant)
        report.kept.update(stored_parts.kept)
        report.left_out += stored_parts.left_out
    tree_builder.show(builder, row, progress.keep, done)


def _root(builder: TreeBuilder, head: Head, first: NodeRecord, progress: ImportProgress) -> None:
    """An empty foreign root becomes the root of the tree, whoever wrote it; one with text, or one
    of several, becomes its child."""
    is_alone = head.is_rooted and (head.plan is None or head.plan.roots == 1)
    if first.text or not is_alone:
        builder.begin(progress.keep)
    else:
        first.author, first.author_kind, first.flags = "", "human", []


def _tell(record: NodeRecord, report: Report) -> None:
    report.kept["texts of models"] += record.author_kind == "model"
    report.kept["times"] += bool(record.at)


def _hidden_tree(row: Import, head: Head, progress: ImportProgress) -> Tree:
    with transaction.atomic():
        progress.keep()
        tree = Tree.objects.create(
            grove=row.grove,
            mode=head.mode,
            **{name: getattr(head, name) for name in public_links.FIELDS},
            imported=head.imported or None,
            maker=row.participant,
            erasing_at=timezone.now(),
        )
        streams.open_stream(tree)
        Import.objects.filter(pk=row.pk).update(tree=tree)
    return tree


def _fail(row: Import, report: Report, progress: ImportProgress, why: CommandError) -> None:
    """Ends an import, and removes what exists of a tree that nobody has seen."""
    if not progress.let_go():
        return
    error = {name: value for name, value in why.body.items() if name != "ok"}
    if done := row.parts.filter(status="done").count():
        error["hint"] = f"{done:,} trees were complete before and stay"
    rows = Import.objects.filter(pk=row.pk)
    rows.update(status="failed", error=error, report=report.body())
    _erase(row)


def _erase(row: Import) -> None:
    """Removes what exists of a tree that nobody has seen."""
    rows = Import.objects.filter(pk=row.pk)
    tree = rows.values_list("tree__uid", flat=True)[0]
    rows.update(tree=None)
    if tree is not None:
        images.remove_files(tree)
        erasing.erase_rows(tree)
        erasing.empty_log_soon()


@sweeps
def sweep() -> int:
    """Queues imports again that a broker lost or whose worker died; returns how many."""
    now = timezone.now()
    _forget_undecided(now)
    late = Q(status="queued", created_at__lt=now - FORGOTTEN)
    late &= Q(leased_until=None) | Q(leased_until__lt=now)
    dead = Q(status="running", leased_until__lt=now)
    uids = list(Import.objects.filter(late | dead).values_list("uid", flat=True))
    for uid in uids:
        # A queued one is not queued again until this time: a long queue does not grow.
        Import.objects.filter(uid=uid, status="queued").update(leased_until=now + 2 * LEASE)
        enqueue("loom.tasks.run_import", [uid], queue="transfer")
    return len(uids)


def _forget_undecided(now: datetime) -> None:
    """Ends imports for which nobody has chosen what to import, and removes their files."""
    error = {name: value for name, value in UNCHOSEN.body.items() if name != "ok"}
    late = Import.objects.filter(status="waiting", created_at__lt=now - UNDECIDED)
    for pk, path in late.values_list("pk", "file"):
        if Import.objects.filter(pk=pk, status="waiting").update(status="failed", error=error):
            Path(path).unlink(missing_ok=True)


def searched(row: Import, words: str) -> "QuerySet[ImportPart]":
    """The parts of a file whose titles have all these words."""
    parts = row.parts.all()
    for word in words.split():
        parts = parts.filter(title__icontains=word)
    return parts


def choose(row: Import, numbers: list[int] | None, split: str) -> None:
    """Chooses the parts with these numbers (None: all of them) and how to split texts, and
    continues the import. REJECTED if it is not waiting, INVALID_SYNTAX if nothing was chosen."""
    with transaction.atomic():
        held = Import.objects.select_for_update().get(pk=row.pk)
        if held.status != "waiting":
            raise CommandError("REJECTED", "This import does not wait for a choice.", hint="look")
        # An earlier build let an import with `choose=all` wait with all of its trees chosen.
        held.parts.filter(status="chosen").update(status="listed")
        parts = held.parts.filter(status="listed")
        if numbers is not None:
            parts = parts.filter(number__in=numbers)
        if not parts.update(status="chosen"):
            raise CommandError(
                "INVALID_SYNTAX", "No tree of this file was chosen.", hint="name its numbers"
            )
        held.options = {**held.options, **({"split": split} if split else {})}
        held.status, held.done, held.report = "queued", 0, {}
        held.save(update_fields=["options", "status", "done", "report"])
        enqueue("loom.tasks.run_import", [held.uid], queue="transfer")


def ask_stop(row: Import) -> None:
    """Asks an import to stop; one that has not started ends at once. REJECTED if it has ended."""
    rows = Import.objects.filter(pk=row.pk)
    error = {name: value for name, value in STOPPED.body.items() if name != "ok"}
    free = rows.filter(status__in=("queued", "waiting"))
    if free.update(status="failed", stop_asked=True, error=error):
        Path(row.file).unlink(missing_ok=True)
    elif not rows.filter(status="running").update(stop_asked=True):
        raise CommandError(
            "REJECTED", "This import has ended.", hint="archive its tree and erase it instead"
        )
