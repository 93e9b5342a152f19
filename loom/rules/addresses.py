"""How stored links, marks and sources name an item, and the stored link types (§8)."""


def of_node(node_id: int) -> str:
    """The address of a node."""
    return f"n{node_id}"


def of_tree(tree_id: int) -> str:
    """The address of a tree."""
    return f"t{tree_id}"


def node_id(address: str) -> int | None:
    """The node's row id, or None where the address names something else."""
    return int(address[1:]) if address.startswith("n") else None


def tree_id(address: str) -> int | None:
    """The tree's row id, or None where the address names something else."""
    return int(address[1:]) if address.startswith("t") else None


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
