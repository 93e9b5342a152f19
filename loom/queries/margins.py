"""What stands in the margin of the nodes of a path: siblings, versions, notes and marks.

For a page that shows some nodes at once: a fixed number of queries for all of them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import F

from loom.models import Mark, Node, Tree, Workspace
from loom.queries.rows import NodeRow, rows_of
from loom.queries.standing import standing_of
from loom.rules import addresses


@dataclass
class Margin:
    """Beside one node; all ids are local.

    `place` of `of` siblings (text slots, pruned ones left out but for its own), `before`
    and `after` the versions that stand beside; `versions` oldest first, pruned ones left
    out; `notes` annotations oldest first, each with its replies; `is_older`: it was written
    after another wording than the one that stands above it, and nobody accepted that yet.
    """

    place: int = 1
    of: int = 1
    before: str = ""
    after: str = ""
    versions: list[str] = field(default_factory=list)
    notes: list[tuple[NodeRow, list[NodeRow]]] = field(default_factory=list)
    bookmarks: list[tuple[str, str]] = field(default_factory=list)  # label, participant
    tags: list[str] = field(default_factory=list)
    children: int = 0
    is_older: bool = False


Margins = dict[int, Margin]


def margins_of(tree: Tree, rows: Sequence[NodeRow], workspace: Workspace | None) -> Margins:
    """The margin of each row, by row id. Twelve queries, whatever the number of rows."""
    margins: Margins = {row.id: Margin() for row in rows}
    _siblings(rows, margins, workspace)
    _versions(rows, margins)
    _below(rows, margins)
    _marks(tree, rows, margins)
    _wordings(rows, margins, workspace)
    return margins


def _wordings(rows: Sequence[NodeRow], margins: Margins, workspace: Workspace | None) -> None:
    """Which texts go on from a wording that does not stand above them now."""
    hanging = [row for row in rows if row.parent_hash and row.parent_slot_id is not None]
    standing = standing_of((row.parent_slot_id or 0 for row in hanging), workspace)
    hashes = dict(
        Node.objects.filter(pk__in=[one for one, _ in standing.values()]).values_list("id", "hash")
    )
    above = {row.id: hashes[standing[row.parent_slot_id or 0][0]] for row in hanging}
    other = {
        addresses.of_node(row.id): row.id for row in hanging if row.parent_hash != above[row.id]
    }
    read = Mark.objects.filter(item__in=other, kind="read", removed_at__isnull=True)
    accepted = {
        item for item, label in read.values_list("item", "label") if label == above[other[item]]
    }
    for item, row_id in other.items():
        margins[row_id].is_older = item not in accepted


def _siblings(rows: Sequence[NodeRow], margins: Margins, workspace: Workspace | None) -> None:
    above = {row.parent_slot_id for row in rows if row.parent_slot_id is not None}
    beside: dict[int | None, list[tuple[int, bool]]] = defaultdict(list)
    found = Node.objects.filter(parent_slot__in=above, kind="text", slot_id=F("id")).order_by("id")
    for slot, pruned, parent in found.values_list("id", "pruned", "parent_slot_id"):
        beside[parent].append((slot, pruned))
    neighbours: dict[int, tuple[int | None, int | None]] = {}
    for row in rows:
        slots = [
            slot for slot, pruned in beside[row.parent_slot_id] if not pruned or slot == row.slot_id
        ]
        if row.slot_id not in slots:
            continue
        at = slots.index(row.slot_id)
        margins[row.id].place, margins[row.id].of = at + 1, len(slots)
        neighbours[row.id] = (
            slots[at - 1] if at else None,
            slots[at + 1] if at + 1 < len(slots) else None,
        )
    standing = standing_of(
        (slot for pair in neighbours.values() for slot in pair if slot is not None), workspace
    )
    for row_id, (before, after) in neighbours.items():
        margins[row_id].before = standing[before][1] if before is not None else ""
        margins[row_id].after = standing[after][1] if after is not None else ""


def _versions(rows: Sequence[NodeRow], margins: Margins) -> None:
    of_slot: dict[int, list[str]] = defaultdict(list)
    found = Node.objects.filter(slot__in={row.slot_id for row in rows}).order_by("id")
    for slot, local_id, gone in found.values_list("slot_id", "local_id", "version_pruned"):
        if not gone:
            of_slot[slot].append(local_id)
    for row in rows:
        margins[row.id].versions = of_slot[row.slot_id]


def _below(rows: Sequence[NodeRow], margins: Margins) -> None:
    """Annotations with their replies, and the number of continuations."""
    children: dict[int, int] = defaultdict(int)
    slots = {row.slot_id for row in rows}
    texts = Node.objects.filter(parent_slot__in=slots, slot_id=F("id"), kind="text", pruned=False)
    for parent in texts.values_list("parent_slot_id", flat=True):
        children[parent] += 1
    notes = _annotations(slots)
    replies = _annotations({note.slot_id for many in notes.values() for note in many})
    for row in rows:
        margins[row.id].children = children[row.slot_id]
        margins[row.id].notes = [
            (note, replies.get(note.slot_id, [])) for note in notes.get(row.slot_id, [])
        ]


def _annotations(slots: set[int]) -> dict[int | None, list[NodeRow]]:
    """The annotations on each slot, oldest first, pruned ones left out, newest wording."""
    found = Node.objects.filter(
        parent_slot__in=slots, kind="annotation", slot__pruned=False, version_pruned=False
    )
    newest = dict(found.order_by("id").values_list("slot_id", "id"))
    of_slot: dict[int | None, list[NodeRow]] = defaultdict(list)
    for note in rows_of(list(newest.values())):
        of_slot[note.parent_slot_id].append(note)
    return of_slot


def _marks(tree: Tree, rows: Sequence[NodeRow], margins: Margins) -> None:
    by_address = {addresses.of_node(row.id): row.id for row in rows}
    found = Mark.objects.filter(tree=tree, item__in=by_address, removed_at__isnull=True)
    for kind, label, item, by in found.order_by("id").values_list(
        "kind", "label", "item", "participant__uid"
    ):
        margin = margins[by_address[item]]
        if kind == "bookmark":
            margin.bookmarks.append((label, by))
        elif kind == "tag" and label not in margin.tags:
            margin.tags.append(label)
