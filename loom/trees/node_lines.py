"""Lines that features add below a node that `view` shows."""

from collections.abc import Callable

from loom.trees.models import Node

LinesBelow = Callable[[Node], list[str]]

_added: list[LinesBelow] = []


def adds_lines(lines: LinesBelow) -> LinesBelow:
    """Registers a function that returns the lines that a feature adds below a node whose text the
    reader may see, mostly none: it queries only if the text says that there may be some."""
    _added.append(lines)
    return lines


def lines_below(node: Node) -> list[str]:
    """The lines of all features."""
    return [line for lines in _added for line in lines(node)]
