"""What comes after the nodes: marks and links, and the moment in which a tree is seen."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.db import transaction
from django.utils import timezone

from loom.commands.links import link_body
from loom.commands.marks import mark_body
from loom.log import streams
from loom.models import Import, Link, Mark, Tree
from loom.queries.counts import measured
from loom.transfer import records
from loom.transfer.growing import Beat, Growing

BATCH = 1000


def marks_of(record: records.Record) -> Iterator[records.Mark]:
    """The marks a record brings."""
    if record.bookmark is not None:
        yield records.Mark("bookmark", record.bookmark, record.number)
    for tag in record.tags:
        yield records.Mark("tag", tag, record.number)


def add_marks(growing: Growing, given: list[records.Mark], beat: Beat) -> None:
    """Writes marks in batches, with their events."""
    growing.authors.meet((one.by, kind_of(growing, one.by)) for one in given)
    names = growing.ledger.labels
    waiting = iter(given)
    while batch := list(islice(waiting, BATCH)):
        with transaction.atomic():
            beat()
            writer = streams.lock(growing.tree, actor=growing.authors.person.uid)
            for one in batch:
                name = "tree" if one.number < 0 else names[one.number + growing.shift]
                row = Mark(
                    tree=growing.tree,
                    kind=one.kind,
                    label=one.label,
                    item=growing.addressing.of(name) or "",
                    participant=growing.authors.of(one.by, kind_of(growing, one.by)),
                    at=_at(one.at, growing),
                )
                row.save(force_insert=True)
                shown = growing.addressing.shown(name)
                writer.append("mark.added", {"mark": mark_body(row, shown)})
                growing.report.kept[f"{one.kind}s"] += 1
            writer.flush()


def add_links(growing: Growing, given: list[records.Link], beat: Beat) -> None:
    """Writes links in batches, with their events; those to nowhere are left out."""
    growing.authors.meet((one.by, kind_of(growing, one.by)) for one in given)
    addressing = growing.addressing
    waiting = iter(given)
    while batch := list(islice(waiting, BATCH)):
        with transaction.atomic():
            beat()
            writer = streams.lock(growing.tree, actor=growing.authors.person.uid)
            for one in batch:
                source, target = addressing.of(one.source), addressing.of(one.target)
                if source is None or target is None:
                    growing.report.dropped["links to elsewhere"] += 1
                    continue
                row = Link(
                    tree=growing.tree,
                    type=one.type,
                    source=source,
                    target=target,
                    note=one.note,
                    confidence=one.confidence,
                    by=growing.authors.of(one.by, kind_of(growing, one.by)),
                    at=_at(one.at, growing),
                )
                row.save(force_insert=True)
                ends = addressing.shown(one.source), addressing.shown(one.target)
                writer.append("link.added", {"link": link_body(row, *ends)})
                growing.report.kept["links"] += 1
            writer.flush()


def kind_of(growing: Growing, name: str) -> str:
    """Human or model: what the file says of somebody of that name."""
    return growing.kinds.get(name, "human")


def _at(given: str, growing: Growing) -> datetime:
    return datetime.fromisoformat(given) if given else growing.now


def show(growing: Growing, row: Import, beat: Beat) -> None:
    """Lets everybody see the tree, with the event `import.finished`; the import is done."""
    report = growing.report.body()
    tree = growing.tree
    with transaction.atomic():
        beat()
        writer = streams.lock(tree, actor=growing.authors.person.uid)
        told = {"import": row.uid, "tree": tree.uid, "report": report}
        writer.append("import.finished", told)
        writer.sized(measured(tree.pk))
        writer.flush()
        Tree.objects.filter(pk=tree.pk).update(erasing_at=None, touched_at=timezone.now())
        Import.objects.filter(pk=row.pk).update(
            status="done", done=row.total, report=report, error=None, leased_until=None
        )
