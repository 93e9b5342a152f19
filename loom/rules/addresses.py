"""Addresses: how a stored link, mark or source names an item, whatever its kind.

`n123` is the node with row id 123, `t9` a tree. No foreign key: an erased item leaves
its links behind, and they are shown as broken.
"""


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
