"""One tree for a reader who is not a member of its grove: only its texts.

Annotations, marks, links, summaries, and what is pruned or in a sandbox are left out.
"""

from dataclasses import dataclass

from loom.access import Actor
from loom.models import Image, Node, Tree
from loom.queries import lookup
from loom.queries.lookup import hides, path_ids, selected_versions
from loom.queries.node_context import Margin, Spot, margins_of
from loom.queries.node_rows import NodeRow, rows_of
from loom.queries.outline import outline
from loom.rules.errors import not_found
from loom.rules.node_text import hashes_in

PAGE = 60
MOST_BELOW = 50
MOST_LINES = 400
DEEP = 60


@dataclass(frozen=True)
class Reading:
    """The end of a path: `rows` (without the root) with their margins, and what is below."""

    node: NodeRow
    rows: list[NodeRow]
    margins: dict[int, Margin]
    has_above: bool
    below: list[NodeRow]
    has_more: bool


def reading(actor: Actor, tree: Tree, local_id: str) -> Reading:
    """The path to a selected text that is not hidden; "" means the first fork.

    NOT_FOUND for everything else, whether it exists or not.
    """
    node = _found(tree, local_id) if local_id else _first_fork(tree)
    if hides(node):
        raise not_found(f"[{local_id}]", "Open the link without it.")
    ids = [key for _, key in path_ids(actor, tree, None, node, most=PAGE + 1)]
    slots = [one.pk for one in lookup.slots_below(node.slot_id)[: MOST_BELOW + 1]]
    standing = selected_versions(slots, None)
    rows = rows_of([*ids, *(standing[slot][0] for slot in slots[:MOST_BELOW])])
    rows, below = rows[: len(ids)], rows[len(ids) :]
    shown = [row for row in rows if row.depth][-PAGE:]
    return Reading(
        node=rows[-1],
        rows=shown,
        margins=margins_of(tree, [Spot(row.id, row.slot_id) for row in shown]),
        has_above=node.depth > len(shown),
        below=[row for row in below if not row.sandbox],
        has_more=len(slots) > MOST_BELOW,
    )


def _found(tree: Tree, local_id: str) -> Node:
    node = lookup.find_node(tree, local_id)
    if node is None or node.kind != "text":
        raise not_found(f"[{local_id}]", "Open the link without it.")
    return lookup.selected_version(node.slot_id, None) or node


def image_of(actor: Actor, tree: Tree, local_id: str, sha256: str) -> Image:
    """The image, if the text with that id can be read here and names it; NOT_FOUND otherwise."""
    refused = not_found("This image")
    node = lookup.find_node(tree, local_id)
    if node is None or node.kind != "text" or hides(node) or sha256 not in hashes_in(node.text):
        raise refused
    if lookup.selected_version(node.slot_id, None) != node:
        raise refused
    row = Image.objects.filter(tree=tree, sha256=sha256).first()
    if row is None:
        raise refused
    return row


def _first_fork(tree: Tree) -> Node:
    """As far down as there is only one way to go."""
    node = lookup.first_fork(lookup.root_of(tree), most=DEEP, sandboxes=False)
    return lookup.selected_version(node.slot_id, None) or node


def lines_of(actor: Actor, tree: Tree) -> tuple[list[tuple[int, NodeRow]], bool]:
    """The outline as (level, row), at most 400 lines, and whether there are more."""
    made = outline(actor, tree, None, lookup.root_of(tree), depth=DEEP, limit=MOST_LINES)
    lines: list[tuple[int, NodeRow]] = []
    hidden_below: int | None = None
    for line in made.lines[1:]:
        if hidden_below is not None and line.level > hidden_below:
            continue
        hidden_below = line.level if line.row.sandbox else None
        if not line.row.sandbox:
            lines.append((line.level, line.row))
    return lines, made.is_cut
