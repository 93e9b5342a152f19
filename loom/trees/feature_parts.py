"""What a feature keeps for a whole tree, in the files of Heddle's own format: each
under a name of its own beside the nodes. A program without the feature leaves it out."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Tree


@dataclass(frozen=True)
class PartLoss:
    """What the file does not keep of a feature: its kind, the number, and a phrase that has it."""

    what: str
    count: int
    says: str


@dataclass(frozen=True)
class StoredPart:
    """How much of a part of a file was stored, and phrases about what was not."""

    kept: int = 0
    left_out: tuple[str, ...] = ()


def _complete(tree: Tree, value: Any, by: Participant) -> list[str]:
    return []


def _losses(actor: Actor, tree: Tree) -> list[PartLoss]:
    return []


@dataclass(frozen=True)
class FeaturePart:
    """How one is written and read: `write` returns a JSON value of what the actor may see, None if
    there is none; `read` stores one for a new tree by whoever imports it, and names what of it
    cannot be stored. Nodes have the ids in the tree that they have in the file. `complete`
    runs for every new tree afterwards, with the value or None: it may add what the tree needs
    without it, and returns phrases about what was left out. `losses` are what `write` leaves
    out."""

    write: Callable[[Actor, Tree], Any]
    read: Callable[[Tree, Any, Participant], StoredPart]
    complete: Callable[[Tree, Any, Participant], list[str]] = _complete
    losses: Callable[[Actor, Tree], list[PartLoss]] = _losses


def fitting(parts: Iterable[dict[str, Any]], most: int) -> list[dict[str, Any]] | None:
    """The first of the values of a part that have `most` characters together; None if there are
    none."""
    kept, size = [], 0
    for part in parts:
        size += len(json.dumps(part))
        if size > most:
            break
        kept.append(part)
    return kept or None


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


def losses(actor: Actor, tree: Tree) -> list[PartLoss]:
    """What the parts of a tree leave out."""
    return [loss for part in _parts.values() for loss in part.losses(actor, tree)]


@dataclass(frozen=True)
class StoredParts:
    """How much of each part of a file was stored, by name, and phrases about what was not."""

    kept: dict[str, int]
    left_out: list[str]


def store(tree: Tree, values: dict[str, Any], by: Participant) -> StoredParts:
    """Stores the parts of a file of Heddle's own format for a new tree."""
    stored = {
        name: _parts[name].read(tree, value, by)
        for name, value in values.items()
        if value is not None
    }
    phrases = [list(part.left_out) for part in stored.values()]
    phrases += [part.complete(tree, values.get(name), by) for name, part in _parts.items()]
    return StoredParts(
        {name: part.kept for name, part in stored.items() if part.kept},
        [phrase for every in phrases for phrase in every],
    )
