"""What is around nodes: siblings, versions, annotations, and what each was made from."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet

from loom.access import Actor, trees_for
from loom.language import ids
from loom.permissions import CROSS_TREE
from loom.trees.models import Node, NodeSource
from loom.trees.queries import lookup
from loom.trees.queries.lookup import fetch, listed


class NearbyVersion(NamedTuple):
    """One version near a node. `is_pruned` and `is_resolved` are its slot's."""

    id: int
    local_id: str
    slot_id: int
    parent_slot_id: int | None
    kind: str
    hash: str
    parent_hash: str
    version_pruned: bool
    is_pruned: bool
    is_resolved: bool
    place: int  # of its slot among its siblings
    source: str  # of a note on words: the item of their version and the place, `12:10-24`


class AnnotationThread(NamedTuple):
    """An annotation in its newest wording, with the newest wordings of its replies; `source` as in
    its first version."""

    wording: NearbyVersion
    replies: tuple[NearbyVersion, ...]
    source: str = ""


class Spot(NamedTuple):
    """A version on a path, by its row id, with its slot."""

    id: int
    slot_id: int


_SHOWN = "('text', 'annotation')"
# All versions of the slots, of those above and below them that are not pruned, and of the replies
# to their notes.
# Each branch walks one index; kinds are named so that SQLite takes that of what is below.
# `own(slot, above)` are the slots.
NEAR = f"""near(slot) AS (
        SELECT slot FROM own
        UNION SELECT above FROM own WHERE above IS NOT NULL
        UNION SELECT b.id FROM trees_node b WHERE b.slot_id = b.id AND b.kind IN {_SHOWN}
            AND NOT b.pruned
            AND b.parent_slot_id IN (SELECT slot FROM own UNION SELECT above FROM own)
        UNION SELECT r.id FROM trees_node b JOIN trees_node r ON r.parent_slot_id = b.id
            AND r.slot_id = r.id AND r.kind = 'annotation' AND NOT r.pruned
            WHERE b.slot_id = b.id AND b.kind = 'annotation' AND NOT b.pruned
            AND b.parent_slot_id IN (SELECT slot FROM own)
    )
    SELECT v.id, v.local_id, v.slot_id, v.parent_slot_id, v.kind, v.hash,
        v.parent_hash, v.version_pruned, s.pruned, s.resolved_at IS NOT NULL, s.place,
        CASE WHEN v.kind = 'annotation' AND v.slot_id = v.id THEN (
            SELECT MIN(CAST(o.item_id AS VARCHAR(20)) || ':' || o.version_seen)
            FROM trees_nodesource o WHERE o.node_id = v.id AND o.role = 'primary'
        ) END{{more}}
    FROM near JOIN trees_node v ON v.slot_id = near.slot JOIN trees_node s ON s.id = near.slot
"""
_AROUND = """
    WITH own(slot, above) AS (
        SELECT id, parent_slot_id FROM trees_node WHERE id IN ({slots})
    ), {near} ORDER BY v.id
"""


class Around:
    """The versions around some slots, by slot and by the slot above."""

    def __init__(self, slots: Iterable[int], rows: Iterable[Sequence[Any]] | None = None) -> None:
        """Reads them with one query, unless `rows` are given (by id)."""
        self.versions: dict[int, list[NearbyVersion]] = defaultdict(list)
        self.below: dict[int, list[NearbyVersion]] = defaultdict(list)  # first versions
        self.by_id: dict[int, NearbyVersion] = {}
        if rows is None:
            rows = fetch(_AROUND.format(slots=listed(slots), near=NEAR.format(more="")))
        for row in rows:
            place = ids.place_of(row[2], row[10])
            near = NearbyVersion._make((*row[:7], *map(bool, row[7:10]), place, row[11] or ""))
            self.by_id[near.id] = near
            self.versions[near.slot_id].append(near)
            if near.id == near.slot_id and near.parent_slot_id is not None:
                self.below[near.parent_slot_id].append(near)
        for beside in self.below.values():
            beside.sort(key=attrgetter("place", "id"))

    @property
    def places(self) -> dict[int, int]:
        """The places of the slots among their siblings."""
        return {slot: versions[0].place for slot, versions in self.versions.items()}

    def newest(self, slot: int) -> NearbyVersion:
        """The newest version that is not pruned, else the newest."""
        all_of = self.versions[slot]
        return next(
            (version for version in reversed(all_of) if not version.version_pruned), all_of[-1]
        )

    def selected(self, slot: int, chosen: int | None) -> NearbyVersion:
        """The version with that row id if it exists and is not pruned, else the newest."""
        chosen_versions = (version for version in self.versions[slot] if version.id == chosen)
        version = next(chosen_versions, None)
        return self.newest(slot) if version is None or version.version_pruned else version

    def texts(self, above: int | None, *, own: int = 0) -> list[int]:
        """The text slots below one that are not pruned, in order; `own` is never left out."""
        slots = self.below[above] if above is not None else []
        return [
            version.slot_id
            for version in slots
            if version.kind == "text" and (not version.is_pruned or version.slot_id == own)
        ]

    def threads(self, slot: int) -> list[AnnotationThread]:
        """The visible annotations on a slot with their replies, oldest first."""
        return [
            AnnotationThread(
                note, tuple(self.notes(note.slot_id)), self.versions[note.slot_id][0].source
            )
            for note in self.notes(slot)
        ]

    def notes(self, slot: int) -> list[NearbyVersion]:
        """The visible annotations on a slot in their newest wording, oldest first."""
        seen = []
        for version in self.below[slot]:
            wording = self.newest(version.slot_id)
            if (
                version.kind == "annotation"
                and not version.is_pruned
                and not wording.version_pruned
            ):
                seen.append(wording)
        return seen


def annotations_of(node: Node) -> QuerySet[Node]:
    """The visible annotations directly on a node, oldest first, each in its newest wording."""
    newer = Node.objects.filter(slot=OuterRef("slot"), id__gt=OuterRef("id"), version_pruned=False)
    # The slots first, from the index of what is seen below one: it has no pruned ones.
    seen = Node.objects.filter(
        parent_slot=node.slot_id, kind="annotation", pruned=False, slot=F("id")
    )
    notes = lookup.rows().filter(slot__in=seen.order_by().values("pk"))
    return notes.filter(~Exists(newer), version_pruned=False).order_by("slot_id")


def sources_of(actor: Actor, node: Node) -> QuerySet[Node]:
    """The nodes that a node was made from (`respond … from:`), in trees the actor may see. None
    for a note, whose source is the text with the words that it is about."""
    if node.kind == "annotation":
        return lookup.rows().none()
    items = NodeSource.objects.filter(node=node).values_list("item", flat=True)
    keys = [key for item in items if (key := ids.node_id(item)) is not None]
    return _seen_nodes(actor, node, keys)


def merges_of(actor: Actor, node: Node) -> QuerySet[Node]:
    """The nodes that were made from a node, in trees the actor may see. Notes on words of it name
    it as well; they are not made from it."""
    sources = NodeSource.objects.filter(item=ids.of_node(node.pk))
    sources = sources.exclude(node__kind="annotation")
    return _seen_nodes(actor, node, list(sources.values_list("node_id", flat=True)))


def _seen_nodes(actor: Actor, node: Node, keys: list[int]) -> QuerySet[Node]:
    every = trees_for(actor)
    trees = every if CROSS_TREE in actor.permissions else every.filter(pk=node.tree_id)
    return lookup.rows().filter(pk__in=keys, tree__in=trees) if keys else lookup.rows().none()
