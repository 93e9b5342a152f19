"""What belongs to the nodes of a path: siblings, versions, annotations, links and the documents
that embed them, marks, counts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from loom.access import Actor, documents_for, trees_for
from loom.documents import rules as documents
from loom.documents.models import DocumentEmbed, Revision
from loom.documents.queries import embedded
from loom.language import ids
from loom.language.ids import home_of
from loom.links.models import Link
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.permissions import CROSS_TREE
from loom.text.shortening import plain
from loom.trees.models import Node, NodeSource, Tree
from loom.trees.queries import lookup
from loom.trees.queries.lookup import fetch, listed
from loom.workspace.models import Workspace

ERASED = "erased"  # the name of an item whose tree is gone: shown as broken

MOST_EMBEDDING = 20  # documents that embed one node


@dataclass(frozen=True)
class Seen:
    """A link from one item's side: its type as read from there, and the other end."""

    type: str
    node: Node | None
    tree_title: str
    note: str
    tree_uid: str = ""
    document_uid: str = ""  # if the other end is a document; `tree_title` is its title then
    revisions: tuple[int, int] = (0, 0)  # of that document: when it was linked, and now

    @property
    def is_broken(self) -> bool:
        """Whether the other end was erased."""
        return not self.tree_uid and not self.document_uid

    @property
    def whole(self) -> tuple[str, str]:
        """The other end, if it is a tree or a document: as lines name it by id, and by title."""
        kind = "doc" if self.document_uid else "tree"
        return f"{kind}:{self.document_uid or self.tree_uid}", f'{kind}:"{self.tree_title}"'

    @property
    def shown(self) -> str:
        """The type in words."""
        return self.type.replace("_", " ")

    @property
    def has_changed(self) -> bool:
        """Whether the document at the other end has a newer revision than the one linked."""
        return 0 < self.revisions[0] < self.revisions[1]


def documents_seen(actor: Actor, tree: Tree | None, items: Iterable[int]) -> set[int]:
    """Those of the items that are documents and that the actor may read in the tree; one query,
    none if no item is a document."""
    asked = [key for one in items if (key := ids.document_id(one)) is not None]
    if not asked:
        return set()
    rows = documents_for(actor, tree).filter(pk__in=asked)
    return set(map(ids.of_document, rows.values_list("pk", flat=True)))


def links_of(actor: Actor, item: Node | Tree) -> list[Seen]:
    """The links of a node or tree from its side, oldest first; ends the actor may not see
    left out. At most five queries."""
    here = item if isinstance(item, Tree) else item.tree
    own = ids.of_tree(here.pk) if item is here else ids.of_node(item.pk)
    rows = Link.objects.filter(Q(source=own) | Q(target=own), removed_at__isnull=True)
    found = list(rows.filter(tree__in=trees_for(actor)).order_by("id"))
    far = {one.target_id if one.source_id == own else one.source_id for one in found}
    keys = [key for one in far if (key := ids.node_id(one)) is not None]
    asked_trees = {home_of(one) for one in far} | {link.tree_id for link in found}
    rows_of_trees = trees_for(actor).filter(pk__in=asked_trees - {0}).select_related("grove")
    trees = {one.pk: one for one in rows_of_trees}
    nodes = lookup.rows().filter(tree__in=trees).in_bulk(keys) if keys else {}
    for node in nodes.values():
        node.tree = trees[node.tree_id]
    asked = [key for one in far if (key := ids.document_id(one)) is not None]
    linked = documents_for(actor, here).in_bulk(asked) if asked else {}
    gone = {home_of(one) for one in far if one > 0} - set(trees)
    erased = erased_among(gone) if gone else set()
    seen = []
    archetype = archetype_of(actor)
    for link in found:
        outward = link.source_id == own
        types = vocabulary_of(trees[link.tree_id].grove)
        if link.type not in types.keys_seen(archetype):
            continue
        kind = types.read(link.type, outward=outward)
        end = link.target_id if outward else link.source_id
        document, tree = linked.get(ids.document_id(end) or 0), trees.get(home_of(end))
        if document is not None:
            version = link.target_version if outward else link.source_version
            revisions = (int(version or 0), document.revision)
            seen.append(
                Seen(kind, None, document.title, link.note, "", document.uid, revisions=revisions)
            )
        elif end in nodes:
            seen.append(Seen(kind, nodes[end], "", link.note, nodes[end].tree.uid))
        elif tree is not None and ids.tree_id(end) is not None:
            seen.append(Seen(kind, None, tree.title, link.note, tree.uid))
        elif home_of(end) in erased:
            seen.append(Seen(kind, None, ERASED, link.note))
    return seen


def mentioning(actor: Actor, node: Node) -> list[Seen]:
    """The documents that embed a version of a node and that the actor may read, as links that are
    not stored. Three queries, and four for each candidate document, at most 20."""
    among = documents_for(actor, node.tree).order_by()
    names = lookup.rows().filter(slot=node.slot_id).values_list("pk", "local_id")
    versions = dict(names)
    named = DocumentEmbed.objects.filter(name__in=versions.values(), document__in=among)
    embedding = named.order_by("document").values_list("document", flat=True).distinct()
    rows = Revision.objects.filter(number=F("document__revision"))
    rows = rows.filter(document__in=list(embedding[:MOST_EMBEDDING]))
    found = list(rows.select_related("document__grove", "content").order_by())
    seen = []
    for row in sorted(found, key=attrgetter("document_id")):
        written = documents.embeds_of(row.text)
        ends = embedded(actor, row.document, written).values()
        if any(isinstance(one, int) and one in versions for one in ends):
            document = row.document
            seen.append(Seen("mentioned_by", None, document.title, "", "", document.uid))
    return seen


@dataclass(frozen=True)
class Counts:
    """What belongs to a node: visible continuations, annotations, links, versions, the `sources`
    that it was made from, and the nodes that it is a source of (`merges`)."""

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
    keys = [key for item in items if (key := ids.node_id(item)) is not None]
    return _seen_nodes(actor, node, keys)


def merges_of(actor: Actor, node: Node) -> QuerySet[Node]:
    """The nodes that were made from a node, in trees the actor may see."""
    made = NodeSource.objects.filter(item=ids.of_node(node.pk))
    return _seen_nodes(actor, node, list(made.values_list("node_id", flat=True)))


def _seen_nodes(actor: Actor, node: Node, keys: list[int]) -> QuerySet[Node]:
    every = trees_for(actor)
    trees = every if CROSS_TREE in actor.permissions else every.filter(pk=node.tree_id)
    return lookup.rows().filter(pk__in=keys, tree__in=trees) if keys else lookup.rows().none()


def annotations_of(node: Node) -> QuerySet[Node]:
    """The visible annotations directly on a node, oldest first, each in its newest wording."""
    newer = Node.objects.filter(slot=OuterRef("slot"), id__gt=OuterRef("id"), version_pruned=False)
    # The slots first, from the index of what is seen below one: it has no pruned ones.
    seen = Node.objects.filter(
        parent_slot=node.slot_id, kind="annotation", pruned=False, slot=F("id")
    )
    notes = lookup.rows().filter(slot__in=seen.order_by().values("pk"))
    return notes.filter(~Exists(newer), version_pruned=False).order_by("slot_id")


_SHOWN_MARKS = """
    SELECT n.slot_id, n.id, n.local_id, m.kind, m.label FROM trees_node n
    JOIN notes_mark m ON m.item_id = n.id
    WHERE {slots} AND m.kind IN ('bookmark', 'tag') AND m.removed_at IS NULL ORDER BY m.id
"""


def marks_shown(nodes: Mapping[int, int]) -> dict[int, str]:
    """The bookmarks and tags of versions (row id: slot) in words, by row id: `bookmarked "key
    point" · #tone on [a7x2]`. A mark of any wording counts for all; where it was put on another,
    that is named. One query; versions without a mark are left out."""
    if not nodes:
        return {}
    sql, given = lookup.within("n.slot_id", set(nodes.values()))
    put: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for slot, key, local_id, kind, name in fetch(_SHOWN_MARKS.format(slots=sql), [given]):
        label = " ".join(plain(name).split())
        said = f"#{label}" if kind == "tag" else f'bookmarked "{label}"' if label else "bookmarked"
        put[slot].append((key, local_id, said))
    found: dict[int, str] = {}
    for node, slot in nodes.items():
        own = [said for key, _, said in put[slot] if key == node]
        others = [f"{said} on [{name}]" for key, name, said in put[slot] if said not in own]
        if own or others:
            found[node] = " · ".join(dict.fromkeys([*own, *others]))
    return found


# What is around nodes: siblings, versions, notes, marks and links.


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
        v.parent_hash, v.version_pruned, s.pruned, s.resolved_at IS NOT NULL, s.place{{more}}
    FROM near JOIN trees_node v ON v.slot_id = near.slot JOIN trees_node s ON s.id = near.slot
"""
_AROUND = """
    WITH own(slot, above) AS (
        SELECT id, parent_slot_id FROM trees_node WHERE id IN ({slots})
    ), {near} ORDER BY v.id
"""
# Marks of nodes, and links with their other end: the node, and the grove of its tree (or of the
# tree itself).
_KEPT = """
    SELECT m.kind, m.item_id, m.label, p.uid, 0, 0, m.id FROM notes_mark m
    JOIN people_participant p ON p.id = m.participant_id
    WHERE m.tree_id + 0 = %s AND m.item_id IN ({items}) AND m.removed_at IS NULL
    UNION ALL SELECT 'link', l.own, l.type, f.local_id, l.outward, t.grove_id, l.id FROM (
        SELECT id, type, source_id AS own, target_id AS far, 1 AS outward FROM links_link
        WHERE source_id IN ({items}) AND removed_at IS NULL
        UNION ALL SELECT id, type, target_id, source_id, 0 FROM links_link
        WHERE target_id IN ({items}) AND removed_at IS NULL
    ) l
    JOIN trees_item i ON i.id = l.far
    LEFT JOIN trees_node f ON f.id = i.node_id
    LEFT JOIN trees_tree t ON t.erasing_at IS NULL AND t.id = i.tree_id
"""
# The reader's own data: the versions they chose, and their drafts at one slot.
_OWN = """
    UNION ALL SELECT 'choice', c.slot_id, s.local_id, v.local_id, 0, c.node_id, c.id
        FROM workspace_versionchoice c JOIN trees_node s ON s.id = c.slot_id
        JOIN trees_node v ON v.id = c.node_id WHERE c.workspace_id = %s
    UNION ALL SELECT 'draft', d.slot_id, d.kind, d.text, 0, 0, d.id
        FROM workspace_draft d WHERE d.workspace_id = %s AND d.slot_id = %s
"""


@dataclass
class Kept:
    """Marks and links by the row id of the node, oldest first; and for a reader the versions they
    chose, by slot, as row ids and as local ids, and their drafts at one slot, by kind."""

    marks: dict[int, list[tuple[str, str, str]]]  # kind, label, participant
    links: dict[int, list[tuple[str, bool, str, int | None]]]  # type, outward, local id, grove
    chosen: dict[int, int] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)


def kept_of(
    tree: Tree, nodes: Iterable[int], *, workspace: Workspace | None = None, slot: int = 0
) -> Kept:
    """The marks and links of the nodes (row ids), and with a `workspace` its reader's versions and
    drafts in the tree and at a slot. One query."""
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
    """Links from a node before links to it, then oldest first."""
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
    """The number of links of one type; `only` is the local id of the other end if there is exactly
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
    """What is shown beside one node; all ids are local.

    `place` of `of` siblings (text slots; pruned ones are left out, except its own), `before` and
    `after` the newest versions of its neighbours; `versions` oldest first, without pruned ones;
    `notes` oldest first. `wordings` are the versions above that the node was written after or
    accepted below; None: all of them. Below any other it is marked as written after an older
    version. `links` lead to items of the same grove, which everybody who can read the tree can
    read; `is_linked_out` says that there are links to other groves.
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
    """The versions around some slots, by slot and by the slot above."""

    def __init__(self, slots: Iterable[int], rows: Iterable[Sequence[Any]] | None = None) -> None:
        """Reads them with one query, unless `rows` are given (by id)."""
        self.versions: dict[int, list[Near]] = defaultdict(list)
        self.below: dict[int, list[Near]] = defaultdict(list)  # first versions
        self.by_id: dict[int, Near] = {}
        if rows is None:
            rows = fetch(_AROUND.format(slots=listed(slots), near=NEAR.format(more="")))
        for found in rows:
            place = ids.place_of(found[2], found[10])
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
        """The version with that row id if it exists and is not pruned, else the newest."""
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
        """The visible annotations on a slot in their newest wording, oldest first."""
        seen = []
        for one in self.below[slot]:
            wording = self.newest(one.slot_id)
            if one.kind == "annotation" and not one.is_pruned and not wording.version_pruned:
                seen.append(wording)
        return seen


def margins_of(
    tree: Tree, spots: Sequence[Spot], around: Around | None = None, kept: Kept | None = None
) -> Margins:
    """The margin of each version, by row id. Two queries; fewer if `around` (which contains the
    slots of the spots) or `kept` was already read; none without spots."""
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
    """The versions above that this one was written after, or accepted below; None: all."""
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
    types = vocabulary_of(tree.grove)
    for kind, outward, local_id, grove in links:
        if grove == tree.grove_id:
            ends[types.read(kind, outward=outward)].append(local_id)
        elif grove is not None:
            margin.is_linked_out = True
    margin.links = tuple(
        LinksOf(shown, len(names), "" if names[1:] else names[0]) for shown, names in ends.items()
    )


def erased_among(trees: Iterable[int]) -> set[int]:
    """Which of those trees were erased; one query."""
    every = set(trees)
    here = Tree.objects.filter(pk__in=every, erasing_at__isnull=True)
    return every - set(here.values_list("pk", flat=True))
