"""What is around nodes: siblings, versions, annotations, and what each was made from."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet

from loom.access import Actor, trees_for
from loom.language import ids
from loom.trees.models import Node, NodeSource
from loom.trees.queries import lookup
from loom.trees.queries.lookup import counted_sql, fetch, listed, order_sql, seen_below


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


def first_below(above: str, most: int) -> str:
    """SQL for the first visible texts below a slot, in the order of siblings."""
    below, order = seen_below(above), order_sql("n")
    return f"""SELECT * FROM (SELECT n.id FROM trees_node n WHERE {below}
        ORDER BY {order}, n.id LIMIT {most}) firsts"""


def _is_beside(than: str) -> str:
    order = order_sql("n")
    return f"AND {order} {than}= own.place AND ({order} {than} own.place OR n.id {than} own.slot)"


def _next_to(than: str, way: str) -> str:
    below, order = seen_below("own.above"), order_sql("n")
    return f"""(SELECT n.id FROM trees_node n WHERE {below} {_is_beside(than)}
        ORDER BY {order} {way}, n.id {way} LIMIT 1)"""


# All versions of the slots, of those above them and of the texts next to them, of the slots in
# `firsts`, and of the notes on the slots with their replies. Then for each slot how many texts are
# below it, beside it and before it, and how many below those in `firsts`. However many texts there
# are, few are read.
# Each branch walks one index; kinds are named so that SQLite takes that of what is below.
# `own(slot, above, place)` are the slots.
_NEAR = f"""firsts(slot) AS ({{firsts}}), near(slot) AS (
        SELECT slot FROM own
        UNION SELECT above FROM own WHERE above IS NOT NULL
        UNION SELECT slot FROM firsts
        UNION SELECT {_next_to("<", "DESC")} FROM own
        UNION SELECT {_next_to(">", "ASC")} FROM own
        UNION SELECT b.id FROM trees_node b WHERE b.slot_id >= b.id AND b.kind = 'annotation'
            AND NOT b.pruned AND b.parent_slot_id IN (SELECT slot FROM own)
        UNION SELECT r.id FROM trees_node b JOIN trees_node r ON r.parent_slot_id = b.id
            AND r.slot_id >= r.id AND r.kind = 'annotation' AND NOT r.pruned
            WHERE b.slot_id >= b.id AND b.kind = 'annotation' AND NOT b.pruned
            AND b.parent_slot_id IN (SELECT slot FROM own)
    )
    SELECT v.id, v.local_id, v.slot_id, v.parent_slot_id, v.kind, v.hash,
        v.parent_hash, v.version_pruned, s.pruned, s.resolved_at IS NOT NULL, s.place,
        CASE WHEN v.kind = 'annotation' AND v.slot_id = v.id THEN (
            SELECT MIN(CAST(o.item_id AS VARCHAR(20)) || ':' || o.version_seen)
            FROM trees_nodesource o WHERE o.node_id = v.id AND o.role = 'primary'
        ) END, '', 0
    FROM near JOIN trees_node v ON v.slot_id = near.slot JOIN trees_node s ON s.id = near.slot
    UNION ALL SELECT slot, '', {counted_sql("own.slot")}, {counted_sql("own.above")},
            '', '', '', FALSE, FALSE, FALSE, {counted_sql("own.above", _is_beside("<"))}, NULL,
            'counts', 0
        FROM own
    UNION ALL SELECT slot, '', {counted_sql("firsts.slot")}, 0, '', '', '', FALSE, FALSE, FALSE,
            0, NULL, 'below', 0
        FROM firsts
"""
_AROUND = f"""
    WITH own(slot, above, place) AS (
        SELECT s.id, s.parent_slot_id, {order_sql("s")} FROM trees_node s WHERE s.id IN ({{slots}})
    ), {{near}}
"""


def near_sql(firsts: str = "") -> str:
    """SQL that reads what is around `own(slot, above, place)`, for a query that begins with it;
    `firsts` selects more slots."""
    return _NEAR.format(firsts=firsts or "SELECT slot FROM own WHERE slot IS NULL")


class Counts(NamedTuple):
    """How many texts are directly below a slot, below the slot above it, and before it there; more
    than MOST_COUNTED are MOST_COUNTED + 1."""

    below: int
    beside: int
    before: int


class Around:
    """The versions around some slots, by slot and by the slot above."""

    def __init__(
        self,
        slots: Iterable[int],
        rows: Iterable[Sequence[Any]] | None = None,
        *,
        points: Iterable[int] = (),
        most: int = 0,
    ) -> None:
        """Reads them with one query, and the first `most` texts below the `points`; unless `rows`
        of `near_sql` are given."""
        self.versions: dict[int, list[NearbyVersion]] = defaultdict(list)
        self.below: dict[int, list[NearbyVersion]] = defaultdict(list)  # first versions
        self.by_id: dict[int, NearbyVersion] = {}
        self.counts: dict[int, Counts] = {}
        self.children: dict[int, int] = {}  # texts below the slots, counted as in Counts
        if rows is None:
            firsts = " UNION ALL ".join(first_below(str(int(slot)), most) for slot in points)
            rows = fetch(_AROUND.format(slots=listed(slots), near=near_sql(firsts)))
        for row in sorted(rows, key=itemgetter(12, 0)):
            if row[12] == "counts":
                self.counts[row[0]] = Counts(row[2], row[3], row[10])
            if row[12]:
                self.children[row[0]] = row[2]
                continue
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
        """Those of the text slots below one that were read and are not pruned, in order; `own` is
        never left out."""
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
        parent_slot=node.slot_id, kind="annotation", pruned=False, slot__gte=F("id")
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
    trees = trees_for(actor)
    return lookup.rows().filter(pk__in=keys, tree__in=trees) if keys else lookup.rows().none()
