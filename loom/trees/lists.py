"""The lists of a node, or of a text of the grove, that `list` knows by name; features register what
theirs answer."""

from collections.abc import Callable

from loom.engine.context import Context, Reply
from loom.trees.models import GroveText, Node

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


# Of a text of the grove, such as a document.

TextLister = Callable[[Context, GroveText], Reply]
_TEXT_LISTERS: dict[str, TextLister] = {}


def lists_text(name: str) -> Callable[[TextLister], TextLister]:
    """Registers what `list doc:"name" …` answers, besides its links and annotations."""

    def register(lister: TextLister) -> TextLister:
        _TEXT_LISTERS[name] = lister
        return lister

    return register


def text_listers() -> dict[str, TextLister]:
    """What answers the lists of a text, by their names."""
    return dict(_TEXT_LISTERS)
