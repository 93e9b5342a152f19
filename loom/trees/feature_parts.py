"""What a feature keeps for a whole tree, in the files of Heddle's own format: each
under a name of its own beside the nodes. A program without the feature leaves it out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Tree


@dataclass(frozen=True)
class FeaturePart:
    """How one is written and read: `write` returns a JSON value of what the actor may see, None if
    there is none; `read` stores one for a new tree by whoever imports it, and returns whether it
    fitted. Nodes have the ids in the tree that they have in the file."""

    write: Callable[[Actor, Tree], Any]
    read: Callable[[Tree, Any, Participant], bool]


_parts: dict[str, FeaturePart] = {}


def add_part(name: str, part: FeaturePart) -> None:
    """Registers a part under its name in the file."""
    _parts[name] = part


def names() -> frozenset[str]:
    """The names of the parts that are known here."""
    return frozenset(_parts)


def written(actor: Actor, tree: Tree) -> dict[str, Any]:
    """The parts of a tree that the actor may see, by name."""
    values = {name: part.write(actor, tree) for name, part in _parts.items()}
    return {name: value for name, value in values.items() if value is not None}


def store(tree: Tree, values: dict[str, Any], by: Participant) -> list[str]:
    """Stores the parts of a file for a new tree; the names of those that were stored."""
    return [name for name, value in values.items() if _parts[name].read(tree, value, by)]
