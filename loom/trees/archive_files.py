"""What features add to an export of a tree: files of its ZIP, and marks in its texts."""

from collections.abc import Callable, Iterator, Mapping

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


Marks = Callable[[Mapping[int, str]], Mapping[int, str]]

_marks: list[Marks] = []


def marks_texts(marks: Marks) -> Marks:
    """Registers a function that returns those of the texts of nodes, by their row ids, that a
    feature writes differently in an export for people to read, as the boxes of tasks."""
    _marks.append(marks)
    return marks


def marked_texts(texts: Mapping[int, str]) -> dict[int, str]:
    """The texts of nodes, by their row ids, as they are written in an export for people to read."""
    shown = dict(texts)
    for marks in _marks:
        shown.update(marks(shown))
    return shown
