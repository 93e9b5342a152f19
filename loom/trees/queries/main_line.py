"""The main line of a tree: the path that End, the public page, exports and the manuscript follow
(docs/model.md §2.1). It leads to the text that somebody marked and on from there, else to the text
that was written on last.
"""

from collections.abc import Callable
from dataclasses import dataclass

from loom.language.ids import ids_in
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.trees.queries.lookup import fetch, is_at_or_above, selected_version
from loom.trees.queries.places import hidden_among, hides, only_way, place_of_author

RECENT = 200  # texts, the newest first, among which the one that was written on last is sought
MOST_TRIED = 20  # of those, how many are compared with the marked text
MOST_STEPS = 200  # texts that follow by themselves, the only one below the text above them

# What was written on, newest first, as (slot, its depth, its author): texts of people, and those
# below which a model wrote where nothing was. Halves of a text that was split are left out: what
# follows is still below the whole.
_RECENT = f"""SELECT w.id, w.depth, w.author_id FROM (
        SELECT id, slot_id, parent_slot_id, author_id, kind, edited_from_id, pruned, sandbox
        FROM trees_node WHERE id BETWEEN %s AND %s ORDER BY id DESC LIMIT {RECENT}
    ) n JOIN people_participant a ON a.id = n.author_id
    JOIN trees_node w ON w.id = CASE a.kind WHEN 'human' THEN n.id ELSE n.parent_slot_id END
    WHERE n.kind = 'text' AND n.slot_id >= n.id AND n.edited_from_id IS NULL
        AND n.parent_slot_id IS NOT NULL AND NOT n.pruned AND NOT n.sandbox
        AND (a.kind = 'human' OR NOT EXISTS (SELECT 1 FROM trees_node x
            WHERE x.parent_slot_id = n.parent_slot_id AND x.kind = 'text' AND x.id < n.id))
    ORDER BY n.id DESC"""


@dataclass(frozen=True)
class MarkedText:
    """A text that somebody marked the main line to lead through."""

    node: Node
    by: Participant


Marked = Callable[[Tree], MarkedText | None]
_readers: list[Marked] = []


@dataclass(frozen=True)
class MainLine:
    """The end of the main line, in the version that everybody reads; `marked` is the text that
    somebody marked, and `by` who did; None if nobody did."""

    end: Node
    marked: Node | None
    by: Participant | None = None


def marks_main_line(read: Marked) -> Marked:
    """Registers what returns the text that was marked in a tree."""
    _readers.append(read)
    return read


def main_line_of(tree: Tree) -> MainLine:
    """The main line of a tree. What it reads does not grow with the tree; where its end is another
    one than that of the last text, it reads the ids of the path to it."""
    marks = (read(tree) for read in _readers)
    mark = next((mark for mark in marks if mark is not None), None)
    marked = mark.node if mark is not None else None
    if marked is not None and (lookup.hidden_by(marked) is not None or hides(marked)):
        marked = None  # somebody pruned it: the mark counts again once it is restored
    written = _written_on(tree, below=marked)
    if written is not None:
        slot = _onward(tree, written)
    else:
        top = lookup.root_of(tree).slot_id if marked is None else marked.slot_id
        slot = only_way(top, most=MOST_STEPS, sandboxes=False)
    end = selected_version(slot, None) or lookup.by_id(slot)
    return MainLine(end, marked, mark.by if mark is not None and marked is not None else None)


def _written_on(tree: Tree, *, below: Node | None) -> Node | None:
    """The slot that was written on last, with its depth and author; only at or below `below`. None
    if there is none."""
    rows = {row[0]: row for row in fetch(_RECENT, list(ids_in(tree.pk)))}
    hidden = hidden_among(rows)
    seen = [_slot(tree, *row) for slot, row in rows.items() if slot not in hidden]
    if below is None:
        return seen[0] if seen else None
    top = _slot(tree, below.slot_id, below.depth, below.author_id)
    deeper = (node for node in seen[:MOST_TRIED] if node.depth >= below.depth)
    return next((node for node in deeper if is_at_or_above(top, node)), None)


def _slot(tree: Tree, slot: int, depth: int, author: int) -> Node:
    """What the queries here need of a slot, as a node that is not read."""
    return Node(pk=slot, slot_id=slot, tree=tree, depth=depth, author_id=author)


def _onward(tree: Tree, node: Node) -> int:
    """The slot that the line leads to from a text by itself: where the writer of the text is, if
    that is below it; else as long as there is only one text to read."""
    place = place_of_author(tree, node.author_id)
    if place is not None and _is_below(node, place):
        return place.slot_id
    return only_way(node.slot_id, most=MOST_STEPS, sandboxes=False)


def _is_below(node: Node, position: Node) -> bool:
    is_deeper = position.tree_id == node.tree_id and position.depth > node.depth
    if not is_deeper or not is_at_or_above(node, position):
        return False
    return lookup.hidden_by(position) is None and not hides(position)
