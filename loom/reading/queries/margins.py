"""What is shown beside the nodes of a path: siblings, versions, annotations, marks, links, and how
many there are of each."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loom.access import Actor
from loom.links.foot import JOINED, OTHER_END, THERE, CountRow, count_of
from loom.text.counts import MOST_COUNTED, at_most
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import places
from loom.trees.queries.around import (
    AnnotationThread,
    Around,
    Spot,
    annotations_of,
    merges_of,
    sources_of,
)
from loom.trees.queries.lookup import fetch, listed


@dataclass(frozen=True)
class NodeCounts:
    """What belongs to a node: visible continuations (more than MOST_COUNTED are one more),
    annotations, links, versions, the `sources` that it was made from, and the nodes that it is a
    source of (`merges`)."""

    continuations: int
    annotations: int
    links: int
    versions: int
    sources: int = 0
    merges: int = 0


def counts_of(actor: Actor, node: Node) -> NodeCounts:
    """The counts of one node; eleven queries at most."""
    return NodeCounts(
        continuations=places.count_directly_below(node.slot_id),
        annotations=annotations_of(node).count(),
        links=count_of(actor, {node.pk: node.slot_id})[node.pk],
        versions=Node.objects.filter(slot=node.slot_id).count(),
        sources=sources_of(actor, node).count(),
        merges=merges_of(actor, node).count(),
    )


# Marks of nodes, and how many links they have by type, direction and the tree at the other end.
_KEPT = f"""
    SELECT m.kind, m.item_id, m.label, p.uid, 0, 0, m.id, 0, 0, 0, 0, 0, 0
    FROM notes_mark m
    JOIN people_participant p ON p.id = m.participant_id
    WHERE m.tree_id + 0 = %s AND m.item_id IN ({{marked}}) AND m.removed_at IS NULL
    UNION ALL SELECT 'decision', d.node_id, d.decision, '', 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM notes_decision d WHERE d.node_id IN ({{notes}})
    UNION ALL SELECT 'link', n.id, c.type, {OTHER_END},
        CASE WHEN c.outward THEN 1 ELSE 0 END, c.count, c.last, c.home, c.grove_id, c.slot,
        {THERE}, c.pruned, c.targets
    FROM trees_node n JOIN links_linkcount c ON c.slot = n.slot_id AND c.count > 0 {JOINED}
    WHERE n.id IN ({{items}})
"""
# The reader's own data: the versions they chose, and their drafts at one slot. No joins: where
# PostgreSQL last counted nodes while there were none, it joined all nodes with all (for minutes).
_OWN = """
    UNION ALL SELECT 'choice', c.slot_id, (SELECT local_id FROM trees_node WHERE id = c.slot_id),
        (SELECT local_id FROM trees_node WHERE id = c.node_id), 0, c.node_id, c.id, 0, 0, 0, 0, 0, 0
        FROM trees_versionchoice c WHERE c.workspace_id = %s
    UNION ALL SELECT 'draft', d.slot_id, d.kind, d.text, 0, 0, d.id, 0, 0, 0, 0, 0, 0
        FROM trees_draft d WHERE d.workspace_id = %s AND d.slot_id = %s
"""


@dataclass
class NodeMarks:
    """Marks and links by the row id of the node, oldest first; how suggestions were decided, by
    their slots; and for a reader the versions they
    chose, by slot, as row ids and as local ids, and their drafts at one slot, by kind."""

    marks: dict[int, list[tuple[str, str, str]]]  # kind, label, participant
    links: dict[int, list[CountRow]]
    decisions: dict[int, str] = field(default_factory=dict)
    chosen: dict[int, int] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    drafts: dict[str, str] = field(default_factory=dict)


def kept_of(
    tree: Tree,
    nodes: Iterable[int],
    *,
    around: Around | None = None,
    spots: Iterable[Spot] = (),
    workspace: Workspace | None = None,
    slot: int = 0,
) -> NodeMarks:
    """The marks and links of the nodes (row ids); of the `spots`, which are in `around`, also the
    marks of other versions and how the suggestions were decided; and with a `workspace` its
    reader's versions and drafts in the tree and at a slot. One query."""
    items = list(nodes)
    versions: set[int] = set()
    notes: set[int] = set()
    if around is not None:
        slots = {spot.slot_id for spot in spots}
        versions = {version.id for slot in slots for version in around.versions[slot]}
        notes = {thread.wording.slot_id for slot in slots for thread in around.threads(slot)}
    sql = _KEPT.format(items=listed(items), marked=listed({*items, *versions}), notes=listed(notes))
    params = [tree.pk]
    if workspace is not None:
        sql, params = sql + _OWN, [*params, workspace.pk, workspace.pk, slot]
    kept = NodeMarks(defaultdict(list), defaultdict(list))
    rows = sorted(fetch(sql, params), key=_in_order)
    for kind, own, name, other, outward, far, last, home, grove, at, there, pruned, targets in rows:
        if kind == "link":
            ends = (home, far, last, other, there, pruned, targets)
            row = CountRow(at, name, bool(outward), grove, *ends)
            kept.links[own].append(row)
        elif kind == "decision":
            kept.decisions[own] = name
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


@dataclass
class Margin:
    """What is shown beside one node; all ids are local.

    `place` of `of` siblings (text slots; pruned ones are left out, except its own); they are
    counted up to MOST_COUNTED: with more, `of` is one more, and so may the place be. `before` and
    `after` are the newest versions of its neighbours; `versions` oldest first, without pruned ones;
    `notes` oldest first. `wordings` are the versions above that the node was written after or
    accepted below; None: all of them. Below any other it is marked as written after an older
    version. `made_on`: the version that a note (row id) was written on, where that is another one.
    `decisions`: how suggestions were decided, by their slots.
    `bookmarks` and `tags` are those of all versions: a mark on any wording counts for the text.
    `links` are counts for nobody in particular: a node that has some is rendered with a
    place for those that its reader may see.
    """

    place: int = 1
    of: int = 1
    before: str = ""
    after: str = ""
    versions: list[str] = field(default_factory=list)
    notes: list[AnnotationThread] = field(default_factory=list)
    made_on: dict[int, int] = field(default_factory=dict)
    decisions: dict[int, str] = field(default_factory=dict)
    bookmarks: list[tuple[str, str]] = field(default_factory=list)  # label, participant
    tags: list[str] = field(default_factory=list)
    children: int = 0
    wordings: tuple[str, ...] | None = None
    links: tuple[CountRow, ...] = ()

    @property
    def standing(self) -> str:
        """`3 / 12`: its place among its siblings; `3 / 1000+` and `1000+` where there are many."""
        of = at_most(self.of)
        return of if self.place > MOST_COUNTED else f"{self.place} / {of}"

    @property
    def more_children(self) -> int:
        """So many that it has more continuations than that; 0: they are counted."""
        return MOST_COUNTED if self.children > MOST_COUNTED else 0


Margins = dict[int, Margin]


def margins_of(
    tree: Tree, spots: Sequence[Spot], around: Around | None = None, kept: NodeMarks | None = None
) -> Margins:
    """The margin of each version, by row id. Two queries; fewer if `around` (which contains the
    slots of the spots) or `kept` was already read; none without spots."""
    if not spots:
        return {}
    around = around or Around({spot.slot_id for spot in spots})
    if kept is None:
        kept = kept_of(tree, [spot.id for spot in spots], around=around, spots=spots)
    margins = {spot.id: _margin(around, spot) for spot in spots}
    for spot in spots:
        margin = margins[spot.id]
        others = [version.id for version in around.versions[spot.slot_id] if version.id != spot.id]
        accepted = _put_marks(margin, kept.marks[spot.id])
        _put_marks(margin, [mark for other in others for mark in kept.marks.get(other, ())])
        margin.wordings = _wordings(around, spot, accepted)
        margin.links = tuple(kept.links[spot.id])
        margin.decisions = {
            slot: kept.decisions[slot]
            for note in margin.notes
            if (slot := note.wording.slot_id) in kept.decisions
        }
    return margins


def _margin(around: Around, spot: Spot) -> Margin:
    versions = around.versions[spot.slot_id]
    margin = Margin(
        versions=[version.local_id for version in versions if not version.version_pruned],
        children=around.children[spot.slot_id],
        notes=around.threads(spot.slot_id),
    )
    by_hash = {version.hash: version.id for version in versions}
    made_on = {note.wording.id: by_hash.get(note.wording.parent_hash) for note in margin.notes}
    margin.made_on = {
        note: version for note, version in made_on.items() if version not in (None, spot.id)
    }
    beside = around.texts(versions[0].parent_slot_id, own=spot.slot_id)
    if spot.slot_id in beside:
        at = beside.index(spot.slot_id)
        counts, own = around.counts[spot.slot_id], int(versions[0].is_pruned)
        margin.place = counts.before + 1
        margin.of = min(counts.beside + own, MOST_COUNTED + 1)
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
    """Adds bookmarks and tags, each once; returns the hashes above that somebody accepted."""
    accepted = set()
    for kind, label, by in marks:
        if kind == "bookmark" and (label, by) not in margin.bookmarks:
            margin.bookmarks.append((label, by))
        elif kind == "tag" and label not in margin.tags:
            margin.tags.append(label)
        elif kind == "read":
            accepted.add(label)
    return accepted
