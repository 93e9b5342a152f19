"""What belongs to the nodes of a path: siblings, versions, annotations, links, marks, counts."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from loom.access import Actor, trees_for
from loom.models import Node, NodeSource, Tree, Workspace
from loom.queries import lookup
from loom.queries.links import Seen
from loom.queries.lookup import selected_versions
from loom.queries.node_rows import fetch, listed
from loom.rules import identity
from loom.rules.permissions import CROSS_TREE


@dataclass(frozen=True)
class Counts:
    """How much belongs to a node: visible continuations, annotations, links, versions, the
    `sources` it was made from, and the nodes it is a source of (`merges`)."""

    continuations: int
    annotations: int
    links: int
    versions: int
    sources: int = 0
    merges: int = 0


def counts_of(actor: Actor, node: Node, links: Iterable[Seen]) -> Counts:
    """The counts of one node with these `links`; six queries at most."""
    return Counts(
        continuations=lookup.slots_below(node.slot_id).count(),
        annotations=annotations_of(node).count(),
        links=sum(not one.is_broken for one in links),
        versions=Node.objects.filter(slot=node.slot_id).count(),
        sources=sources_of(actor, node).count(),
        merges=merges_of(actor, node).count(),
    )


def sources_of(actor: Actor, node: Node) -> QuerySet[Node]:
    """The nodes that a node was made from (`respond … from:`), in trees the actor may see."""
    items = NodeSource.objects.filter(node=node).values_list("item", flat=True)
    keys = [key for item in items if (key := identity.node_id(item)) is not None]
    return _seen_nodes(actor, node, keys)


def merges_of(actor: Actor, node: Node) -> QuerySet[Node]:
    """The nodes that were made from a node, in trees the actor may see."""
    made = NodeSource.objects.filter(item=identity.of_node(node.pk))
    return _seen_nodes(actor, node, list(made.values_list("node_id", flat=True)))


def _seen_nodes(actor: Actor, node: Node, keys: list[int]) -> QuerySet[Node]:
    every = trees_for(actor)
    trees = every if CROSS_TREE in actor.permissions else every.filter(pk=node.tree_id)
    return lookup.rows().filter(pk__in=keys, tree__in=trees) if keys else lookup.rows().none()


MOST_NOTES = 20  # annotations on annotations that are followed up to a text


def places_of(ids: Sequence[int], workspace: Workspace | None) -> dict[int, list[str]]:
    """Where each of the nodes is, in words, by row id: `below x2a3 → r2v9`, the notes it answers
    up to the first text above; and `pruned`, `version pruned` or `below pruned [a7x2]`.

    One query, three for each step up, and two for each node in a tree where something is
    pruned.
    """
    nodes = list(Node.objects.filter(pk__in=ids).defer("text"))
    above: dict[int, tuple[str, int | None]] = {}
    asked = {one.parent_slot_id for one in nodes if one.parent_slot_id is not None}
    names: dict[int, str] = {}
    for _ in range(MOST_NOTES):
        if not asked:
            break
        rows = Node.objects.filter(pk__in=asked).values_list("pk", "kind", "parent_slot_id")
        found = {key: (kind, parent) for key, kind, parent in rows}
        above |= found
        names |= {slot: name for slot, (_, name) in selected_versions(found, workspace).items()}
        asked = {
            parent
            for kind, parent in found.values()
            if kind != "text" and parent is not None and parent not in above
        }
    return {one.pk: [*_chain_of(one, above, names), *_hiding(one)] for one in nodes}


def _chain_of(
    node: Node, above: dict[int, tuple[str, int | None]], names: dict[int, str]
) -> list[str]:
    chain: list[str] = []
    slot = node.parent_slot_id
    while slot is not None and slot in names and len(chain) < MOST_NOTES:
        chain.append(names[slot])
        kind, parent = above[slot]
        slot = None if kind == "text" else parent
    return [f"below {' → '.join(chain)}"] if chain else []


def _hiding(node: Node) -> list[str]:
    found = ["version pruned"] if node.version_pruned else []
    hiding = lookup.hidden_by(node)
    if hiding is not None:
        own = hiding.pk == node.slot_id
        found.append("pruned" if own else f"below pruned [{hiding.local_id}]")
    return found


def annotations_of(node: Node) -> QuerySet[Node]:
    """The annotations directly on a node that are not pruned, oldest first; of each its
    newest wording."""
    newer = Node.objects.filter(slot=OuterRef("slot"), id__gt=OuterRef("id"), version_pruned=False)
    notes = lookup.rows().filter(parent_slot=node.slot_id, kind="annotation", slot__pruned=False)
    return notes.filter(~Exists(newer), version_pruned=False).order_by("slot_id")


def versions_of(node: Node) -> QuerySet[Node]:
    """All versions of the node's slot, oldest first."""
    return lookup.rows().filter(slot=node.slot_id)


def siblings_of(node: Node) -> QuerySet[Node]:
    """First versions of the text slots beside the node's own."""
    if node.parent_slot_id is None:
        return lookup.rows().none()
    return lookup.slots_below(node.parent_slot_id).exclude(pk=node.slot_id)


# What is around nodes: siblings, versions, notes, marks and links.


_SHOWN = "('text', 'annotation')"

# All versions of the slots, of those above and below them, and of the replies to their notes.
# Each branch walks one index; kinds are named so that SQLite takes that of what is below.
# `own(slot, above)` are the slots.
NEAR = f"""near(slot) AS (
        SELECT slot FROM own
        UNION SELECT above FROM own WHERE above IS NOT NULL
        UNION SELECT b.id FROM loom_node b WHERE b.slot_id = b.id AND b.kind IN {_SHOWN}
            AND b.parent_slot_id IN (SELECT slot FROM own UNION SELECT above FROM own)
        UNION SELECT r.id FROM loom_node b JOIN loom_node r ON r.parent_slot_id = b.id
            AND r.slot_id = r.id AND r.kind = 'annotation'
            WHERE b.slot_id = b.id AND b.kind = 'annotation'
            AND b.parent_slot_id IN (SELECT slot FROM own)
    )
    SELECT v.id, v.local_id, v.slot_id, v.parent_slot_id, v.kind, v.hash,
        v.parent_hash, v.version_pruned, s.pruned, s.resolved_at IS NOT NULL, s.place{{more}}
    FROM near JOIN loom_node v ON v.slot_id = near.slot JOIN loom_node s ON s.id = near.slot
"""
_AROUND = """
    WITH own(slot, above) AS (
        SELECT id, parent_slot_id FROM loom_node WHERE id IN ({slots})
    ), {near} ORDER BY v.id
"""
# What is kept of nodes: marks, and links with their other end: the node it is, and the grove of
# the tree that it is or lies in.
_KEPT = """
    SELECT m.kind, m.item_id, m.label, p.uid, 0, 0, m.id FROM loom_mark m
    JOIN loom_participant p ON p.id = m.participant_id
    WHERE m.tree_id = %s AND m.item_id IN ({items}) AND m.removed_at IS NULL
    UNION ALL SELECT 'link', l.own, l.type, f.local_id, l.outward, t.grove_id, l.id FROM (
        SELECT id, type, source_id AS own, target_id AS far, 1 AS outward FROM loom_link
        WHERE source_id IN ({items}) AND removed_at IS NULL
        UNION ALL SELECT id, type, target_id, source_id, 0 FROM loom_link
        WHERE target_id IN ({items}) AND removed_at IS NULL
    ) l
    JOIN loom_item i ON i.id = l.far
    LEFT JOIN loom_node f ON f.id = i.node_id
    LEFT JOIN loom_tree t ON t.erasing_at IS NULL AND t.id = i.tree_id
"""
# What the reader keeps: the versions they chose, and what they typed at one slot.
_OWN = """
    UNION ALL SELECT 'choice', c.slot_id, s.local_id, v.local_id, 0, c.node_id, c.id
        FROM loom_versionchoice c JOIN loom_node s ON s.id = c.slot_id
        JOIN loom_node v ON v.id = c.node_id WHERE c.workspace_id = %s
    UNION ALL SELECT 'draft', d.slot_id, d.kind, d.text, 0, 0, d.id
        FROM loom_draft d WHERE d.workspace_id = %s AND d.slot_id = %s
"""


@dataclass
class Kept:
    """Marks and links by the row id of the node, oldest first; and of a reader the versions they
    chose, by slot, as row ids and as local ids, and their drafts at one slot, by kind."""

    marks: dict[int, list[tuple[str, str, str]]]  # kind, label, participant
    links: dict[int, list[tuple[str, bool, str, int | None]]]  # type, outward, local id, grove
    chosen: dict[int, int] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)


def kept_of(
    tree: Tree, nodes: Iterable[int], *, workspace: Workspace | None = None, slot: int = 0
) -> Kept:
    """What is kept of the nodes (row ids), and with a `workspace` what its reader keeps in the
    tree and at a slot. One query."""
    sql, params = _KEPT.format(items=listed(nodes)), [tree.pk]
    if workspace is not None:
        sql, params = sql + _OWN, [*params, workspace.pk, workspace.pk, slot]
    kept = Kept(defaultdict(list), defaultdict(list))
    for kind, own, name, other, outward, far, _ in sorted(fetch(sql, params), key=_in_order):
        if kind == "link":
            kept.links[own].append((name, bool(outward), other or "", far))
        elif kind == "choice":
            kept.chosen[own] = far
            kept.choices[name] = other
        elif kind == "draft":
            kept.drafts[name] = other
        else:
            kept.marks[own].append((kind, name, other))
    return kept


def _in_order(row: Sequence[Any]) -> tuple[int, int]:
    """Links from a node before those to it, then the oldest first."""
    return -row[4], row[6]


class Near(NamedTuple):
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


class Note(NamedTuple):
    """An annotation in its newest wording, with the newest wordings of its replies."""

    wording: Near
    replies: tuple[Near, ...]


class LinksOf(NamedTuple):
    """So many links of one type; `only` is the local id of the other end where there is just
    one and it is a node."""

    type: str
    many: int
    only: str = ""

    @property
    def shown(self) -> str:
        """The type in words."""
        return self.type.replace("_", " ")


@dataclass
class Margin:
    """Beside one node; all ids are local.

    `place` of `of` siblings (text slots, pruned ones left out but for its own), `before` and
    `after` the newest versions beside; `versions` oldest first, pruned ones left out; `notes`
    oldest first. `wordings` are the versions above that the node goes on from, or was accepted
    below; None: all of them. Below any other it is marked as written after an older version.
    `links` lead to items of the same grove, which everybody who reads the tree may read;
    `is_linked_out` says that others lead to other groves.
    """

    place: int = 1
    of: int = 1
    before: str = ""
    after: str = ""
    versions: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    bookmarks: list[tuple[str, str]] = field(default_factory=list)  # label, participant
    tags: list[str] = field(default_factory=list)
    children: int = 0
    wordings: tuple[str, ...] | None = None
    links: tuple[LinksOf, ...] = ()
    is_linked_out: bool = False


Margins = dict[int, Margin]


class Spot(NamedTuple):
    """A version on a path, by its row id, with its slot."""

    id: int
    slot_id: int


class Around:
    """What is around some slots, by slot and by the slot above."""

    def __init__(self, slots: Iterable[int], rows: Iterable[Sequence[Any]] | None = None) -> None:
        """Reads what is around them with one query, where its `rows` are not given, by id."""
        self.versions: dict[int, list[Near]] = defaultdict(list)
        self.below: dict[int, list[Near]] = defaultdict(list)  # first versions
        self.by_id: dict[int, Near] = {}
        if rows is None:
            rows = fetch(_AROUND.format(slots=listed(slots), near=NEAR.format(more="")))
        for found in rows:
            place = identity.place_of(found[2], found[10])
            near = Near._make((*found[:7], *map(bool, found[7:10]), place))
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

    def newest(self, slot: int) -> Near:
        """The newest version that is not pruned, else the newest."""
        all_of = self.versions[slot]
        return next((one for one in reversed(all_of) if not one.version_pruned), all_of[-1])

    def selected(self, slot: int, chosen: int | None) -> Near:
        """The version of that row id where it is there and not pruned, else the newest."""
        found = (one for one in self.versions[slot] if one.id == chosen)
        one = next(found, None)
        return self.newest(slot) if one is None or one.version_pruned else one

    def texts(self, above: int | None, *, own: int = 0) -> list[int]:
        """The text slots below one that are not pruned, in order; `own` is never left out."""
        found = self.below[above] if above is not None else []
        return [
            one.slot_id
            for one in found
            if one.kind == "text" and (not one.is_pruned or one.slot_id == own)
        ]

    def notes(self, slot: int) -> list[Near]:
        """The annotations on a slot in their newest wording, oldest first, pruned ones left out."""
        seen = []
        for one in self.below[slot]:
            wording = self.newest(one.slot_id)
            if one.kind == "annotation" and not one.is_pruned and not wording.version_pruned:
                seen.append(wording)
        return seen


def margins_of(
    tree: Tree, spots: Sequence[Spot], around: Around | None = None, kept: Kept | None = None
) -> Margins:
    """The margin of each version, by row id. Two queries, less where `around`, which holds the
    slots of the spots, or what is `kept` of them was read already; none without spots."""
    if not spots:
        return {}
    around = around or Around({spot.slot_id for spot in spots})
    kept = kept or kept_of(tree, [spot.id for spot in spots])
    margins = {spot.id: _margin(around, spot) for spot in spots}
    for spot in spots:
        margin = margins[spot.id]
        accepted = _put_marks(margin, kept.marks[spot.id])
        margin.wordings = _wordings(around, spot, accepted)
        _put_links(tree, margin, kept.links[spot.id])
    return margins


def _margin(around: Around, spot: Spot) -> Margin:
    versions = around.versions[spot.slot_id]
    margin = Margin(
        versions=[one.local_id for one in versions if not one.version_pruned],
        children=len(around.texts(spot.slot_id)),
        notes=[
            Note(note, tuple(around.notes(note.slot_id))) for note in around.notes(spot.slot_id)
        ],
    )
    beside = around.texts(versions[0].parent_slot_id, own=spot.slot_id)
    if spot.slot_id in beside:
        at = beside.index(spot.slot_id)
        margin.place, margin.of = at + 1, len(beside)
        margin.before = around.newest(beside[at - 1]).local_id if at else ""
        margin.after = around.newest(beside[at + 1]).local_id if at + 1 < len(beside) else ""
    return margin


def _wordings(around: Around, spot: Spot, accepted: set[str]) -> tuple[str, ...] | None:
    """The versions above that the one here goes on from, or was accepted below; None: all."""
    own = next(one for one in around.versions[spot.slot_id] if one.id == spot.id)
    if own.parent_slot_id is None or not own.parent_hash:
        return None
    hashes = accepted | {own.parent_hash}
    above = around.versions[own.parent_slot_id]
    fits = tuple(one.local_id for one in above if one.hash in hashes)
    return None if len(fits) == len(above) else fits


def _put_marks(margin: Margin, marks: Iterable[tuple[str, str, str]]) -> set[str]:
    """Bookmarks and tags; returns the hashes above that somebody accepted."""
    accepted = set()
    for kind, label, by in marks:
        if kind == "bookmark":
            margin.bookmarks.append((label, by))
        elif kind == "tag" and label not in margin.tags:
            margin.tags.append(label)
        elif kind == "read":
            accepted.add(label)
    return accepted


def _put_links(
    tree: Tree, margin: Margin, links: Iterable[tuple[str, bool, str, int | None]]
) -> None:
    """The links by type, those from the node first; broken ones are left out."""
    ends: dict[str, list[str]] = defaultdict(list)
    for kind, outward, local_id, grove in links:
        if grove == tree.grove_id:
            ends[kind if outward else identity.reverse_of(kind)].append(local_id)
        elif grove is not None:
            margin.is_linked_out = True
    margin.links = tuple(
        LinksOf(shown, len(names), "" if names[1:] else names[0]) for shown, names in ends.items()
    )
