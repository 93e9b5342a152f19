"""What belongs to the nodes of a path: siblings, versions, annotations, links and the documents
that embed them, marks, counts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet

from loom.access import Actor, trees_for
from loom.language import ids
from loom.language.ids import home_of
from loom.links.foot import JOINED, OTHER_END, CountRow, count_of
from loom.links.models import Link
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.permissions import CROSS_TREE
from loom.text.shortening import plain
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, NodeSource, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import fetch, listed

PRUNED = "pruned"  # what is said of an item that was pruned
ERASED = "erased"  # the name of an item whose tree is gone: shown as broken


@dataclass(frozen=True)
class LinkSide:
    """A link from one item's side: its type as read from there, and the other end."""

    type: str
    node: Node | None
    tree_title: str
    note: str
    tree_uid: str = ""
    document_uid: str = ""  # if the other end is a document; `tree_title` is its title then
    revisions: tuple[int, int] = (0, 0)  # of that document: when it was linked, and now
    link: str = ""  # its id
    confidence: float | None = None
    outward: bool = True
    wording: str = ""  # the wording of this item that it was made on, if that has changed
    words: str = ""  # of the source that it stands on
    later: str = ""  # the current version of the other end, if that is another
    item: int = 0  # the other end
    stored: str = ""  # the type as read from its source

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
    def state(self) -> str:
        """What became of the other end, in the words used everywhere: `erased`, `pruned`, or ""."""
        if self.is_broken:
            return ERASED
        node = self.node
        return PRUNED if node is not None and (node.slot.pruned or node.version_pruned) else ""

    @property
    def changes(self) -> str:
        """`on [a7x2], since changed · now [k2m9]`: what was reworded since the link was made."""
        own = f"on [{self.wording}], since changed" if self.wording else ""
        far = f"now [{self.later}]" if self.later else ""
        return " · ".join(words for words in (own, far) if words)

    @property
    def has_changed(self) -> bool:
        """Whether the document at the other end has a newer revision than the one linked."""
        return 0 < self.revisions[0] < self.revisions[1]


def links_of(
    actor: Actor, item: Node | Tree, *, kind: str = "", most: int | None = None
) -> list[LinkSide]:
    """The links of a node or tree from its side, oldest first, with those that were made on other
    wordings of it; ends the actor may not see, and types that they are not shown, left out. With
    `kind` (a name or reverse) only these, and at most `most`. At most seven queries for every
    hundred."""
    here = item if isinstance(item, Tree) else item.tree
    slot = ids.of_tree(here.pk) if isinstance(item, Tree) else item.slot_id
    sides: list[LinkSide] = []
    last = 0
    while True:
        links = _links_after(actor, here, slot, last, kind=kind, most=most)
        sides += _seen_ends(actor, here, item, links)
        if most is None or len(links) < _page(most) or len(sides) >= most:
            break
        last = links[-1].pk
    return sides if most is None else sides[:most]


def _page(most: int) -> int:
    return max(most * 2, 100)


def _links_after(
    actor: Actor, here: Tree, slot: int, last: int, *, kind: str, most: int | None
) -> list[Link]:
    """The links of a place after one of them. Each direction walks its own index, so that only
    as many rows are read as are shown."""
    types = vocabulary_of(here.grove)
    links: list[Link] = []
    for end, outward in (("source_slot", True), ("target_slot", False)):
        rows = Link.objects.filter(**{end: slot}, removed_at__isnull=True)
        if kind:
            known = types.by_word.get(kind)
            if known is None or (known[1] != outward and not known[0].symmetric):
                continue
            rows = rows.filter(type=known[0].key)
        if last:
            rows = rows.filter(pk__gt=last)
        links += rows.order_by("id") if most is None else rows.order_by("id")[: _page(most)]
    links.sort(key=attrgetter("pk"))
    return links if most is None else links[: _page(most)]


def _seen_ends(
    actor: Actor, here: Tree, item: Node | Tree, links: Sequence[Link]
) -> list[LinkSide]:
    """The other ends of links of an item, as far as the actor may see them."""
    slot = ids.of_tree(here.pk) if isinstance(item, Tree) else item.slot_id
    far = {
        shown_link.target_id if shown_link.source_slot == slot else shown_link.source_id
        for shown_link in links
    }
    keys = [key for one in far if (key := ids.node_id(one)) is not None]
    asked_trees = {home_of(one) for one in far} | {link.tree_id for link in links}
    rows_of_trees = trees_for(actor).filter(pk__in=asked_trees - {0}).select_related("grove")
    trees = {rows_of_tree.pk: rows_of_tree for rows_of_tree in rows_of_trees}
    nodes = lookup.rows().filter(tree__in=trees).in_bulk(keys) if keys else {}
    for node in nodes.values():
        node.tree = trees[node.tree_id]
    linked = grove_texts().seen(actor, here, far)
    gone = {home_of(one) for one in far if one > 0} - set(trees)
    erased = erased_among(gone) if gone else set()
    own = _own_wordings(item, links)
    newer = lookup.selected_versions({row.slot_id for row in nodes.values()}, None)
    archetype = archetype_of(actor)
    seen = []
    for link in links:
        outward = link.source_slot == slot
        if link.tree_id not in trees:
            continue
        types = vocabulary_of(trees[link.tree_id].grove)
        if link.type not in types.keys_seen(archetype):
            continue
        kind = types.read(link.type, outward=outward)
        end = link.target_id if outward else link.source_id
        document, tree = linked.get(end), trees.get(home_of(end))
        words = own.get(link.source_id if outward else link.target_id, "")
        more: dict[str, Any] = {
            "link": link.uid,
            "confidence": link.confidence,
            "wording": "" if outward and _still_there(link, item) else words,
            "words": link.words,
            "outward": outward,
            "item": end,
            "stored": types.read(link.type, outward=True),
        }
        if document is not None:
            version = link.target_version if outward else link.source_version
            revisions = (int(version or 0), document.revision)
            of = (kind, None, document.title, link.note, "", document.uid)
            seen.append(LinkSide(*of, revisions=revisions, **more))
        elif end in nodes:
            node = nodes[end]
            now = newer.get(node.slot_id, (node.pk, ""))
            later = "" if now[0] == node.pk or node.version_pruned else now[1]
            seen.append(LinkSide(kind, node, "", link.note, node.tree.uid, later=later, **more))
        elif tree is not None and ids.tree_id(end) is not None:
            seen.append(LinkSide(kind, None, tree.title, link.note, tree.uid, **more))
        elif home_of(end) in erased:
            seen.append(LinkSide(kind, None, ERASED, link.note, **more))
    return seen


def _own_wordings(item: Node | Tree, links: Sequence[Link]) -> dict[int, str]:
    """The local ids of the wordings that links were made on, other than the item itself."""
    if isinstance(item, Tree):
        return {}
    ends = {
        link.source_id if link.source_slot == item.slot_id else link.target_id for link in links
    }
    ends.discard(item.pk)
    return dict(Node.objects.filter(pk__in=ends).values_list("pk", "local_id")) if ends else {}


def _still_there(link: Link, item: Node | Tree) -> bool:
    """Whether the words that a link stands on are in this wording of its source."""
    return bool(link.words) and isinstance(item, Node) and link.words in item.text


def mentioning(actor: Actor, node: Node) -> list[LinkSide]:
    """The documents that embed a version of a node and that the actor may read, as links that are
    not stored."""
    return [
        LinkSide("mentioned_by", None, document.title, "", "", document.uid, item=document.item_id)
        for document in grove_texts().mentioning(actor, node)
    ]


@dataclass(frozen=True)
class NodeCounts:
    """What belongs to a node: visible continuations, annotations, links, versions, the `sources`
    that it was made from, and the nodes that it is a source of (`merges`)."""

    continuations: int
    annotations: int
    links: int
    versions: int
    sources: int = 0
    merges: int = 0


def counts_of(actor: Actor, node: Node) -> NodeCounts:
    """The counts of one node; eleven queries at most."""
    return NodeCounts(
        continuations=lookup.slots_below(node.slot_id).count(),
        annotations=annotations_of(node).count(),
        links=count_of(actor, {node.pk: node.slot_id})[node.pk],
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
    sources = NodeSource.objects.filter(item=ids.of_node(node.pk))
    return _seen_nodes(actor, node, list(sources.values_list("node_id", flat=True)))


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
        words = f"#{label}" if kind == "tag" else f'bookmarked "{label}"' if label else "bookmarked"
        put[slot].append((key, local_id, words))
    shown: dict[int, str] = {}
    for node, slot in nodes.items():
        own = [words for key, _, words in put[slot] if key == node]
        others = [f"{words} on [{name}]" for key, name, words in put[slot] if words not in own]
        if own or others:
            shown[node] = " · ".join(dict.fromkeys([*own, *others]))
    return shown


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
# Marks of nodes, and how many links they have by type, direction and the tree at the other end.
_KEPT = f"""
    SELECT m.kind, m.item_id, m.label, p.uid, 0, 0, m.id, 0, 0, 0, 0 FROM notes_mark m
    JOIN people_participant p ON p.id = m.participant_id
    WHERE m.tree_id + 0 = %s AND m.item_id IN ({{items}}) AND m.removed_at IS NULL
    UNION ALL SELECT 'link', n.id, c.type, {OTHER_END},
        CASE WHEN c.outward THEN 1 ELSE 0 END, c.count, c.last, c.home, c.grove_id, c.slot,
        h.grove_id
    FROM trees_node n JOIN links_linkcount c ON c.slot = n.slot_id AND c.count > 0 {JOINED}
    WHERE n.id IN ({{items}})
"""
# The reader's own data: the versions they chose, and their drafts at one slot.
_OWN = """
    UNION ALL SELECT 'choice', c.slot_id, s.local_id, v.local_id, 0, c.node_id, c.id, 0, 0, 0, 0
        FROM trees_versionchoice c JOIN trees_node s ON s.id = c.slot_id
        JOIN trees_node v ON v.id = c.node_id WHERE c.workspace_id = %s
    UNION ALL SELECT 'draft', d.slot_id, d.kind, d.text, 0, 0, d.id, 0, 0, 0, 0
        FROM trees_draft d WHERE d.workspace_id = %s AND d.slot_id = %s
"""


@dataclass
class NodeMarks:
    """Marks and links by the row id of the node, oldest first; and for a reader the versions they
    chose, by slot, as row ids and as local ids, and their drafts at one slot, by kind."""

    marks: dict[int, list[tuple[str, str, str]]]  # kind, label, participant
    links: dict[int, list[CountRow]]
    chosen: dict[int, int] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)


def kept_of(
    tree: Tree, nodes: Iterable[int], *, workspace: Workspace | None = None, slot: int = 0
) -> NodeMarks:
    """The marks and links of the nodes (row ids), and with a `workspace` its reader's versions and
    drafts in the tree and at a slot. One query."""
    sql, params = _KEPT.format(items=listed(nodes)), [tree.pk]
    if workspace is not None:
        sql, params = sql + _OWN, [*params, workspace.pk, workspace.pk, slot]
    kept = NodeMarks(defaultdict(list), defaultdict(list))
    rows = sorted(fetch(sql, params), key=_in_order)
    for kind, own, name, other, outward, far, last, home, grove, at, there in rows:
        if kind == "link":
            row = CountRow(at, name, bool(outward), grove, home, far, last, other, there)
            kept.links[own].append(row)
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


class AnnotationThread(NamedTuple):
    """An annotation in its newest wording, with the newest wordings of its replies."""

    wording: NearbyVersion
    replies: tuple[NearbyVersion, ...]


@dataclass
class Margin:
    """What is shown beside one node; all ids are local.

    `place` of `of` siblings (text slots; pruned ones are left out, except its own), `before` and
    `after` the newest versions of its neighbours; `versions` oldest first, without pruned ones;
    `notes` oldest first. `wordings` are the versions above that the node was written after or
    accepted below; None: all of them. Below any other it is marked as written after an older
    version. `links` are counts for nobody in particular: a node that has some is rendered with a
    place for those that its reader may see.
    """

    place: int = 1
    of: int = 1
    before: str = ""
    after: str = ""
    versions: list[str] = field(default_factory=list)
    notes: list[AnnotationThread] = field(default_factory=list)
    bookmarks: list[tuple[str, str]] = field(default_factory=list)  # label, participant
    tags: list[str] = field(default_factory=list)
    children: int = 0
    wordings: tuple[str, ...] | None = None
    links: tuple[CountRow, ...] = ()


Margins = dict[int, Margin]


class Spot(NamedTuple):
    """A version on a path, by its row id, with its slot."""

    id: int
    slot_id: int


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
            near = NearbyVersion._make((*row[:7], *map(bool, row[7:10]), place))
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
        one = next(chosen_versions, None)
        return self.newest(slot) if one is None or one.version_pruned else one

    def texts(self, above: int | None, *, own: int = 0) -> list[int]:
        """The text slots below one that are not pruned, in order; `own` is never left out."""
        slots = self.below[above] if above is not None else []
        return [
            version.slot_id
            for version in slots
            if version.kind == "text" and (not version.is_pruned or version.slot_id == own)
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


def margins_of(
    tree: Tree, spots: Sequence[Spot], around: Around | None = None, kept: NodeMarks | None = None
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
        margin.links = tuple(kept.links[spot.id])
    return margins


def _margin(around: Around, spot: Spot) -> Margin:
    versions = around.versions[spot.slot_id]
    margin = Margin(
        versions=[version.local_id for version in versions if not version.version_pruned],
        children=len(around.texts(spot.slot_id)),
        notes=[
            AnnotationThread(note, tuple(around.notes(note.slot_id)))
            for note in around.notes(spot.slot_id)
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
    own = next(version for version in around.versions[spot.slot_id] if version.id == spot.id)
    if own.parent_slot_id is None or not own.parent_hash:
        return None
    hashes = accepted | {own.parent_hash}
    above = around.versions[own.parent_slot_id]
    fits = tuple(version.local_id for version in above if version.hash in hashes)
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


def erased_among(trees: Iterable[int]) -> set[int]:
    """Which of those trees were erased; one query."""
    every = set(trees)
    here = Tree.objects.filter(pk__in=every, erasing_at__isnull=True)
    return every - set(here.values_list("pk", flat=True))
