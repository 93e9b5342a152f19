"""What comes after the nodes: marks and links, and the moment in which a tree is seen."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from loom.commands.links import link_body
from loom.commands.marks import mark_body
from loom.log import streams
from loom.log.streams import Writer
from loom.models import Link, Mark, Node, Participant, Tree
from loom.rules import addresses, link_types
from loom.transfer.records import Record
from loom.transfer.writing import Growing

BATCH = 1000


def foreign_marks(growing: Growing, record: Record) -> list[dict[str, Any]]:
    """The marks a foreign record brings, in the form our own files have them."""
    marks = []
    label = record.bookmark
    chapter = record.kept.get("chapter")
    if chapter:
        label = label or growing.head.chapters.get(chapter) or "chapter"
    if label is not None:
        marks.append({"kind": "bookmark", "label": label, "number": record.number})
    marks += [{"kind": "tag", "label": tag, "number": record.number} for tag in record.tags]
    return marks


def write_marks(growing: Growing, marks: list[dict[str, Any]]) -> None:
    """Writes marks in batches, with their events."""
    for start in range(0, len(marks), BATCH):
        with transaction.atomic():
            writer = streams.lock(growing.tree, actor=growing.person.uid)
            for mark in marks[start : start + BATCH]:
                _mark(growing, writer, mark)
            writer.flush()


def _mark(growing: Growing, writer: Writer, mark: dict[str, Any]) -> None:
    node = _node(growing, mark)
    if node is None or mark.get("kind") not in ("bookmark", "tag"):
        growing.report.warnings.append(f"A mark on {str(mark.get('item'))[:40]} was left out.")
        return
    row = Mark.objects.create(
        tree=growing.tree,
        kind=mark["kind"],
        label=str(mark.get("label", ""))[:200],
        item=addresses.of_node(node.pk),
        participant=_by(growing, mark),
        at=timezone.now(),
    )
    writer.append("mark.added", {"mark": mark_body(row, node.local_id)})


def _node(growing: Growing, mark: dict[str, Any]) -> Node | None:
    if "number" in mark:
        placed = growing.placed.get(mark["number"])
        return Node.objects.get(pk=placed.node_id) if placed else None
    return Node.objects.filter(tree=growing.tree, local_id=str(mark.get("item"))).first()


def _by(growing: Growing, mark: dict[str, Any]) -> Participant:
    name = str(mark.get("by", ""))
    found = Participant.objects.filter(grove=growing.tree.grove, name__iexact=name).first()
    return found or growing.person


def write_links(growing: Growing, links: list[dict[str, Any]]) -> None:
    """Writes the links of our own files between nodes of the same tree."""
    with transaction.atomic():
        writer = streams.lock(growing.tree, actor=growing.person.uid)
        for link in links:
            _link(growing, writer, link)
        writer.flush()


def _link(growing: Growing, writer: Writer, link: dict[str, Any]) -> None:
    ends = [
        Node.objects.filter(tree=growing.tree, local_id=str(link.get(end))).first()
        for end in ("source", "target")
    ]
    source, target = ends
    if source is None or target is None or link.get("type") not in link_types.STORED:
        growing.report.warnings.append("A link to something outside the tree was left out.")
        return
    row = Link.objects.create(
        tree=growing.tree,
        type=link["type"],
        source=addresses.of_node(source.pk),
        target=addresses.of_node(target.pk),
        note=str(link.get("note", ""))[:2000],
        confidence=link.get("confidence"),
        by=_by(growing, link),
        at=timezone.now(),
    )
    writer.append("link.added", {"link": link_body(row, source.local_id, target.local_id)})


def show(growing: Growing) -> None:
    """Lets everybody see the tree, with the event `import.finished`."""
    with transaction.atomic():
        writer = streams.lock(growing.tree, actor=growing.person.uid)
        writer.append("import.finished", {"tree": growing.tree.uid, **growing.report.body()})
        now = timezone.now()
        Tree.objects.filter(pk=growing.tree.pk).update(erasing_at=None, touched_at=now)
        writer.flush()
