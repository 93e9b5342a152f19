"""What features do when a tree is archived, and when it is opened again; each in the transaction of
the command that does it, whose stream is locked."""

from collections.abc import Callable

from loom.engine.streams import Writer
from loom.trees.models import Tree

Stopping = Callable[[Tree, str], int]
_stopping: list[Stopping] = []
Opening = Callable[[Tree], None]
_opening: list[Opening] = []


def stops_when_archived(stopping: Stopping) -> Stopping:
    """Registers how a feature ends what is going on in a tree that is about to be archived: given
    the tree, and the turn in which it is archived ("": in none), which goes on. Returns how much
    it has ended."""
    _stopping.append(stopping)
    return stopping


def end_work(tree: Tree, writer: Writer, *, turn: str = "") -> int:
    """Ends what is going on in a tree, with what it has written so far; returns how much that was.
    `writer` has locked its stream and has appended nothing yet."""
    ended = sum(stopping(tree, turn) for stopping in _stopping)
    if ended:
        writer.reread()
    return ended


def when_opened(opening: Opening) -> Opening:
    """Registers what a feature does with a tree that somebody takes out of the archive."""
    _opening.append(opening)
    return opening


def opened(tree: Tree) -> None:
    """Says that a tree was taken out of the archive."""
    for opening in _opening:
        opening(tree)
