"""The ids of items, and the stored types of links (docs/model.md §8).

A node's id is its tree's id and its ordinal in one number, and ordinals begin at 1: see
`loom.models.trees`. The item of a node has the node's own id; that of a tree has the ordinal 0.
So what an item is and which tree it lies in is known without a query, also after the tree was
erased.
"""

ORDINAL_BITS = 32
_ORDINAL = (1 << ORDINAL_BITS) - 1


def of_node(node_id: int) -> int:
    """The id of a node's item."""
    return node_id


def of_tree(tree_id: int) -> int:
    """The id of a tree's item."""
    return tree_id << ORDINAL_BITS


def node_id(item: int) -> int | None:
    """The node's row id, or None where the item is something else."""
    return item if item & _ORDINAL else None


def tree_id(item: int) -> int | None:
    """The tree's row id, or None where the item is something else."""
    return None if item & _ORDINAL else item >> ORDINAL_BITS


def home_of(item: int) -> int:
    """The row id of the tree that an item is or lies in."""
    return item >> ORDINAL_BITS


# The stored link types and their reverses (docs/model.md §8). Reverses are computed, never
# stored.

PAIRS = {
    "contains": "contained_in",
    "imports": "imported_by",
    "calls": "called_by",
    "tests": "tested_by",
    "covers": "covered_by",
    "implements": "implemented_by",
    "specified_by": "specifies",
    "derives_from": "derived_by",
    "evidence": "evidences",
    "supports": "supported_by",
    "refutes": "refuted_by",
    "extends": "extended_by",
    "uses": "used_by",
    "evolved_from": "evolved_to",
    "supersedes": "superseded_by",
    "requires": "required_by",
    "quotes": "quoted_by",
}
SYMMETRIC = ("related", "similar", "contrasts")
STORED = (*PAIRS, *SYMMETRIC)


def reverse_of(name: str) -> str:
    """How a stored type reads from its target's side."""
    return PAIRS.get(name, name)


def arrow(name: str) -> str:
    """How a link is drawn between two ids in a reply: `↔` for the untyped one."""
    return "↔" if name == "related" else f"──[{name}]──→"
