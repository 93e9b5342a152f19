"""Files that features add to the ZIP of a tree."""

from collections.abc import Callable, Iterator

from loom.access import Actor
from loom.trees.models import Tree

Files = Callable[[Actor, Tree], Iterator[tuple[str, str]]]

_added: list[Files] = []


def adds_files(files: Files) -> Files:
    """Registers a function that returns (name, text) of each file that a feature adds to the ZIP of
    a tree, as far as the actor may see what it says."""
    _added.append(files)
    return files


def added_files(actor: Actor, tree: Tree) -> Iterator[tuple[str, str]]:
    """The files of all features."""
    for files in _added:
        yield from files(actor, tree)
