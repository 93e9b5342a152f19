"""Effects: what a line does in addition to the rows and events of the stream that it writes.

A feature declares each of them as a frozen dataclass in its `effects.py` and registers how those of
a line are stored. A command adds them (`context.add(WindowOpened(window))`); the engine stores them
together with the step, in the same transaction, and knows none of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from loom.engine.storing import Storing


class Effect:
    """Something that a line does. Subclasses are frozen dataclasses."""


E = TypeVar("E", bound=Effect)


@dataclass(frozen=True)
class ItemsRead(Effect):
    """The line read items of other trees (their ids): its step names them, so that what it quotes
    can be withheld from those who may no longer see it, and cleared when it is erased. Those of a
    refused line are stored too."""

    items: tuple[int, ...]


@dataclass
class Effects:
    """What a line has done so far, in order."""

    _all: list[Effect] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._all)

    def newest(self) -> Iterator[Effect]:
        """All of them, the last first."""
        return reversed(self._all)

    def add(self, effect: Effect) -> None:
        """Adds the next effect."""
        self._all.append(effect)

    def of(self, kind: type[E]) -> list[E]:
        """Those of a class and of its subclasses, in order."""
        return [effect for effect in self._all if isinstance(effect, kind)]

    def last(self, kind: type[E]) -> E | None:
        """The last one of a class; None if there is none."""
        return next((effect for effect in reversed(self._all) if isinstance(effect, kind)), None)

    def rewind(self, count: int) -> None:
        """Drops all but the first `count`: what came after them was rolled back."""
        del self._all[count:]

    @property
    def items_read(self) -> tuple[int, ...]:
        """The items of other trees that the line has read, each once."""
        return tuple(
            dict.fromkeys(item for reading in self.of(ItemsRead) for item in reading.items)
        )


Store = Callable[["Storing", list[E]], None]
Hook = Callable[["Storing"], None]

_stores: dict[type[Effect], Store[Any]] = {}
_hooks: list[Hook] = []


def stores(kind: type[E]) -> Callable[[Store[E]], Store[E]]:
    """Registers how the effects of a class and of its subclasses are stored: all those of a line
    together, in order."""

    def register(store: Store[E]) -> Store[E]:
        if kind in _stores:
            raise ValueError(f"{kind.__name__} is already stored by {_stores[kind].__module__}")
        _stores[kind] = store
        return store

    return register


def after_each_line(hook: Hook) -> Hook:
    """Registers what is stored with the step of every line that ran."""
    _hooks.append(hook)
    return hook


def store_all(storing: "Storing") -> None:
    """Stores the effects of a line, class by class in the order in which they first came. Those
    without a store, such as `ItemsRead`, are only looked at."""
    for hook in _hooks:
        hook(storing)
    effects = storing.context.effects
    for kind in dict.fromkeys(_stored_as(type(effect)) for effect in effects.of(Effect)):
        if kind is not None:
            _stores[kind](storing, effects.of(kind))


def _stored_as(kind: type[Effect]) -> type[Effect] | None:
    return next((parent for parent in kind.__mro__ if parent in _stores), None)
