"""Derived link types (docs/model.md §8): never stored, answered from columns. What `list` shows of
them can be expanded, too."""

import re
from collections.abc import Sequence

from loom.access import Actor
from loom.language.ids import looks_like_id
from loom.links.link_types import MENTIONED_BY, OF_NODES, SAME
from loom.text.counts import MOST_COUNTED
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, NodeSource, Tree, Workspace
from loom.trees.queries import around, lookup, places

MOST_NAMED = 40  # refs of a text that `mentions` follows
_NAMED = re.compile(r"\[([a-z0-9]{4,8})\]", re.IGNORECASE)


def derived_type(word: str) -> str:
    """The derived type that a word names; "" if it names none."""
    kind = SAME.get(word.lower(), word.lower())
    return kind if kind in (*OF_NODES, MENTIONED_BY) else ""


def nodes_of(
    actor: Actor, node: Node, kind: str, workspace: Workspace, *, after: int = 0, most: int
) -> tuple[list[Node], int]:
    """The nodes of a derived type of a node: at most `most` after the first ones, and how many
    there are; more than MOST_COUNTED are one more. Continuations and siblings come in the reader's
    selected wording. A note on a text outside of trees annotates that (`text_annotated`)."""
    if kind == "annotates" and item_annotated(node):
        return [], 0
    if kind in ("continued_by", "annotates"):
        above = places.version_above(node, workspace)
        fits = above is not None and (kind == "annotates") == (node.kind == "annotation")
        return _part([above] if above is not None and fits else [], after, most)
    if kind == "version_of":
        first = node.slot
        return _part([lookup.by_id(first.pk)] if first.pk != node.pk else [], after, most)
    if kind == "mentions":
        return _part(_named_in(node), after, most)
    rows = {
        "continuations": lambda: lookup.slots_below(node.slot_id),
        "annotations": lambda: around.annotations_of(node),
        "versions": lambda: places.versions_of(node),
        "siblings": lambda: places.siblings_of(node),
        "sources": lambda: around.sources_of(actor, node),
        "merges": lambda: around.merges_of(actor, node),
    }[kind]()
    nodes = list(rows[after : after + most])
    if kind in ("continuations", "siblings"):
        nodes = [lookup.selected_version(shown.slot_id, workspace) or shown for shown in nodes]
    return nodes, max(after + len(nodes), rows.order_by()[: MOST_COUNTED + 1].count())


def item_annotated(node: Node) -> int:
    """The text outside of trees that a note is about (its item), below the root of a tree as it may
    be; 0 for a note on a node. One query for a note."""
    if node.kind != "annotation":
        return 0
    rows = NodeSource.objects.filter(node=node.slot_id, role="primary", item__kind="document")
    return rows.values_list("item", flat=True).first() or 0


def text_annotated(actor: Actor, node: Node, here: Tree) -> GroveText | None:
    """The text outside of trees that a note is about, if the actor may read it in this tree."""
    item = item_annotated(node)
    return grove_texts().seen(actor, here, [item]).get(item) if item else None


def _part(nodes: Sequence[Node], after: int, most: int) -> tuple[list[Node], int]:
    return list(nodes[after : after + most]), len(nodes)


def _named_in(node: Node) -> list[Node]:
    """The nodes of its tree that a text names as `[a7x2]`, in order."""
    words = (word.lower() for word in _NAMED.findall(node.text))
    wanted = list(dict.fromkeys(word for word in words if looks_like_id(word)))[:MOST_NAMED]
    rows = lookup.rows().filter(tree=node.tree_id, local_id__in=wanted) if wanted else ()
    known = {row.local_id: row for row in rows}
    return [
        known[local_id] for local_id in wanted if local_id in known and local_id != node.local_id
    ]
