"""The lists of a node that `list` knows by name; features register what theirs answer."""

from collections.abc import Callable

from loom.engine.context import Context, Reply
from loom.trees.models import Node

LISTS = (
    "continuations",
    "annotations",
    "links",
    "versions",
    "siblings",
    "sources",
    "merges",
    "claims",
)

Lister = Callable[[Context, Node], Reply]
_LISTERS: dict[tuple[str, str], Lister] = {}


def lists(name: str, *, kind: str = "") -> Callable[[Lister], Lister]:
    """Registers what `list REF name` answers; with `kind` only for nodes of that kind."""

    def register(lister: Lister) -> Lister:
        _LISTERS[name, kind] = lister
        return lister

    return register


def lister_of(name: str, node: Node) -> Lister | None:
    """What answers `list REF name` for a node; None for the lists that every node has."""
    return _LISTERS.get((name, node.kind)) or _LISTERS.get((name, ""))
