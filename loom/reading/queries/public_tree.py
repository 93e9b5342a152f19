"""One tree for a reader who is not a member of its grove: only its texts. Annotations, marks,
links, summaries, and what is pruned or in a sandbox are left out."""

from dataclasses import dataclass

from loom.access import Actor
from loom.errors import not_found
from loom.language.ids import ORDINAL_BITS
from loom.reading.queries.margins import Margin, margins_of
from loom.text.images import hashes_in
from loom.trees.models import Image, Node, Tree
from loom.trees.queries import lookup
from loom.trees.queries.around import Spot
from loom.trees.queries.lookup import (
    NodeRow,
    rows_of,
    selected_version,
    selected_versions,
)
from loom.trees.queries.main_line import main_line_of
from loom.trees.queries.outline import outline
from loom.trees.queries.places import hides, path_ids

PAGE = 60
MOST_BELOW = 50
MOST_LINES = 400
DEEP = 60


@dataclass(frozen=True)
class PathStretch:
    """A part of a path: `rows` (without the root) with their margins, and what is below;
    `onward` is the local id with which the main line is read on, "" at its end and beside it."""

    node: NodeRow
    rows: list[NodeRow]
    margins: dict[int, Margin]
    has_above: bool
    below: list[NodeRow]
    has_more: bool
    onward: str


def public_path(actor: Actor, tree: Tree, local_id: str) -> PathStretch:
    """The path to a selected text that is not hidden; "" means the beginning of the main line.

    NOT_FOUND for everything else, whether it exists or not.
    """
    line = _main_line(actor, tree)
    node = _text_node(tree, local_id) if local_id else _beginning(tree, line)
    if local_id and hides(node):
        raise not_found(f"[{local_id}]", "Open the link without it.")
    place = next((at for at, (slot, _) in enumerate(line) if slot == node.slot_id), None)
    if place is None:
        path = path_ids(actor, tree, None, node, most=PAGE + 1)
    else:
        path = line[max(0, place - PAGE) : place + 1]
    ids = [key for _, key in path]
    onward = [] if place is None else [key for _, key in line[place + 1 :][:PAGE][-1:]]
    slots = [slot.pk for slot in lookup.slots_below(node.slot_id)[: MOST_BELOW + 1]]
    standing = selected_versions([node.slot_id, *slots], None)
    below = [standing[slot][0] for slot in slots[:MOST_BELOW]]
    rows = {row.id: row for row in rows_of([*dict.fromkeys([*ids, *onward, *below])])}
    shown = [rows[key] for key in ids if rows[key].depth][-PAGE:]
    return PathStretch(
        node=rows[ids[-1]],
        rows=shown,
        margins=margins_of(tree, [Spot(row.id, row.slot_id) for row in shown]),
        has_above=node.depth > len(shown),
        below=[rows[key] for key in below if not rows[key].sandbox],
        has_more=len(slots) > MOST_BELOW,
        onward=rows[onward[0]].local_id if onward else "",
    )


MOST_LINE = 2_000  # texts of a main line that is read from its beginning; a longer one from its end


def _main_line(actor: Actor, tree: Tree) -> list[tuple[int, int]]:
    """The main line as (slot id, row id), root first; only its last texts, if it is very long."""
    return path_ids(actor, tree, None, main_line_of(tree).end, most=MOST_LINE)


def _beginning(tree: Tree, line: list[tuple[int, int]]) -> Node:
    """The text up to which the first page of the main line is shown; its end, if it is too long
    to be read from the root."""
    is_whole = line[0][0] == (tree.pk << ORDINAL_BITS) + 1
    return lookup.by_id(line[min(PAGE, len(line) - 1)][1] if is_whole else line[-1][1])


def _text_node(tree: Tree, local_id: str) -> Node:
    node = lookup.find_node(tree, local_id)
    if node is None or node.kind != "text":
        raise not_found(f"[{local_id}]", "Open the link without it.")
    return selected_version(node.slot_id, None) or node


def public_image(actor: Actor, tree: Tree, local_id: str, sha256: str) -> Image:
    """The image, if the text with that id can be read here and names it; NOT_FOUND otherwise."""
    refused = not_found("This image")
    node = lookup.find_node(tree, local_id)
    if node is None or node.kind != "text" or hides(node) or sha256 not in hashes_in(node.text):
        raise refused
    if selected_version(node.slot_id, None) != node:
        raise refused
    row = Image.objects.filter(tree=tree, sha256=sha256).first()
    if row is None:
        raise refused
    return row


def public_lines(actor: Actor, tree: Tree) -> tuple[list[tuple[int, NodeRow]], bool]:
    """The outline as (level, row), at most 400 lines, and whether there are more."""
    listing = outline(actor, tree, None, lookup.root_of(tree), depth=DEEP, limit=MOST_LINES)
    lines: list[tuple[int, NodeRow]] = []
    hidden_below: int | None = None
    for line in listing.lines[1:]:
        if hidden_below is not None and line.level > hidden_below:
            continue
        hidden_below = line.level if line.row.sandbox else None
        if not line.row.sandbox:
            lines.append((line.level, line.row))
    return lines, listing.is_cut
